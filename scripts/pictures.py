"""Make the pictures of README and the docs with the real product, into docs/pictures/; `make pictures` runs it.

    python scripts/pictures.py [--into DIR]

terminal.svg is what two commands print of the demo's history (exported by rich); the others are pages of
`ratchet demo --serve`, as headless Chromium sees them. Both homes end with the script.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 118
COMMANDS = (
    "ratchet learn src/ratchet/demo/history",
    "ratchet recall \"ModuleNotFoundError: No module named 'shop'\"",
    'ratchet recall "Segmentation fault (core dumped)"',
)
PAGES = {"page.png": "/", "patterns.png": "/ui/patterns", "cost.png": "/ui/cost?by=model"}
WIDTH, HEIGHT = 1280, 760
MOST_BYTES = 140_000
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--into", type=Path, default=ROOT / "docs" / "pictures", metavar="DIR")
    folder: Path = asked.parse_args().into
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ratchet-pictures-") as scratch:
        environ = {**os.environ, "HOME": scratch, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "LC_ALL": "C.UTF-8"}
        environ.pop("RATCHET_HOME", None)
        (folder / "terminal.svg").write_text(terminal(environ), encoding="utf-8")
        with served(environ) as address:
            for name, page in PAGES.items():
                photograph(address + page, folder / name, Path(scratch) / "browser")
    for picture in ("terminal.svg", *PAGES):
        size_bytes = (folder / picture).stat().st_size
        print(f"{folder / picture}  {size_bytes:,} bytes")
        if size_bytes > MOST_BYTES:
            print(f"larger than {MOST_BYTES:,} bytes: make it smaller", file=sys.stderr)
            return 1
    return 0


def terminal(environ: Mapping[str, str]) -> str:
    """Run the commands; return a terminal with what they print, as SVG that loads nothing from elsewhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        for command in COMMANDS:
            said = ratchet(*shlex.split(command)[1:], environ=environ)
            console.print(Text(f"$ {command}", "bold"))
            console.print(Text.from_ansi(said.rstrip("\n") + "\n"))
        own_fonts = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
        return console.export_svg(title="ratchet", theme=MONOKAI, code_format=own_fonts, unique_id="terminal")


def ratchet(*arguments: str, environ: Mapping[str, str]) -> str:
    command = [sys.executable, "-P", "-m", "ratchet", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True, check=True).stdout


@contextmanager
def served(environ: Mapping[str, str]) -> Iterator[str]:
    """A home with something on every page, served at the address that this yields."""
    command = [sys.executable, "-P", "-u", "-m", "ratchet", "demo", "--serve", "--port", "0"]
    plain = {name: value for name, value in environ.items() if name != "FORCE_COLOR"}
    with subprocess.Popen(command, cwd=ROOT, env=plain, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            told = next((line for line in server.stdout if "http://" in line), "")
            yield told[told.index("http://") :].split()[0]
        finally:
            server.terminate()


def photograph(address: str, picture: Path, profile: Path) -> None:
    """Take a picture of a page. Raises SystemExit without Chromium."""
    chromium = os.environ.get("RATCHET_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("needs Chromium: apt-get install chromium, or name it in RATCHET_TEST_CHROMIUM")
    command = [chromium, *QUIET, f"--user-data-dir={profile}", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"]
    subprocess.run([*command, f"--screenshot={picture}", address], stderr=subprocess.DEVNULL, timeout=180, check=True)


if __name__ == "__main__":
    sys.exit(main())
