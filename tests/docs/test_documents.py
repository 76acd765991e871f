"""Every command and every Python example in README and docs runs, in order, in a fresh home, and says what is shown."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from ratchet.cli.app import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = [
    page for page in PAGES if re.search(r"^```(console|python)$", page.read_text(encoding="utf-8"), re.MULTILINE)
]
FENCE = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Example:
    """One command (or Python block) and the lines that the page shows below it."""

    language: str
    text: str
    shown: list[str]


def examples(page: Path) -> Iterator[Example]:
    for language, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            yield Example("python", body, [])
            continue
        current: Example | None = None
        for line in body.splitlines():
            if line.startswith("$ "):
                if current:
                    yield current
                current = Example("console", line[2:], [])
            elif current and heredoc_is_open(current.text):
                current.text += "\n" + line
            elif current:
                current.shown.append(line)
        if current:
            yield current


def heredoc_is_open(command: str) -> bool:
    """Whether the lines that follow belong to the command (`<<'END'`) and not to what it says."""
    found = re.search(r"<<'(\w+)'", command)
    return found is not None and not command.endswith("\n" + found.group(1))


def run_by_ci(command: str) -> bool:
    """Whether a command sets the project up: `.ci/run` and the Makefile run those, a test inside them cannot."""
    return command.startswith(("make ", "source ", "pip install "))


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_of_a_page_runs_and_says_what_is_shown(page: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "src").symlink_to(ROOT / "src")
    # The reader's own histories: those that ship with Ratchet.
    shutil.copytree(ROOT / "src" / "ratchet" / "demo" / "history", tmp_path / ".claude" / "projects" / "shop")
    with beside(work, tmp_path) as start:
        for example in examples(page):
            if example.language == "console" and run_by_ci(example.text):
                continue
            said = start(example) if example.text.endswith(" &") else run(example, work, tmp_path)
            for line in example.shown:
                assert appears(line, said), f"{page.name}: `{example.text}` does not say {line!r} but:\n{said}"


@contextmanager
def beside(work: Path, home: Path) -> Iterator[Callable[[Example], str]]:
    """Starts what a page leaves running (`... &`), and ends it with the page."""
    started: list[subprocess.Popen[bytes]] = []

    def start(example: Example) -> str:
        log = home / f"beside-{len(started)}.log"
        command = ["bash", "-c", f"exec {example.text.removesuffix(' &')}"]
        with log.open("wb") as out:
            process = subprocess.Popen(command, cwd=work, env=environ_of(home), stdout=out, stderr=out)
        started.append(process)
        give_up = time.monotonic() + 60
        while "stop " not in log.read_text() and process.poll() is None and time.monotonic() < give_up:
            time.sleep(0.1)
        return log.read_text()

    try:
        yield start
    finally:
        for process in started:
            process.terminate()
            process.wait(30)


def run(example: Example, work: Path, home: Path) -> str:
    command = [sys.executable, "-"] if example.language == "python" else ["bash", "-c", example.text]
    stdin = example.text if example.language == "python" else ""
    done = subprocess.run(
        command, cwd=work, env=environ_of(home), input=stdin, capture_output=True, text=True, timeout=600, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, f"`{example.text}` ended with {done.returncode}:\n{said}"
    return said


def environ_of(home: Path) -> dict[str, str]:
    """A reader's environment."""
    return {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "200",
        "LC_ALL": "C.UTF-8",
    }


def tabled(page: Path) -> list[list[str]]:
    """The commands that the cells of a page's tables are, word by word."""
    cells = re.findall(r"\| `(ratchet [^`]+)` (?=\|)", page.read_text(encoding="utf-8"))
    return [shlex.split(cell)[1:] for cell in cells]


@pytest.mark.parametrize("words", tabled(ROOT / "README.md"), ids=" ".join)
def test_every_command_of_readmes_tables_is_whole(words: list[str]) -> None:
    command: click.Command = cli
    context = None
    while isinstance(command, click.Group) and words:
        context = command.make_context(command.name, list(words), parent=context)
        left = [*context._protected_args, *context.args]
        if not left:
            return
        _, found, words = command.resolve_command(context, left)
        assert found is not None
        command = found
    command.make_context(command.name, list(words), parent=context)


INLINE = re.compile(r"(?<!`)`(ratchet(?: [^`]+)?)`(?!`)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_within_a_sentence_is_one_with_options_that_it_has(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for said in dict.fromkeys(" ".join(each.split()) for each in INLINE.findall(text)):
        command: click.Command = cli
        taken = {option for each in cli.params for option in each.opts}
        words = said.split()[1:]
        while isinstance(command, click.Group) and words and not words[0].startswith(("-", "[")):
            found = command.get_command(click.Context(command), words[0])
            assert found is not None, f"{page.name}: `{said}`: no command {words[0]}"
            command, words = found, words[1:]
            taken |= {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
        named = {word.partition("=")[0] for word in words if re.fullmatch(r"--[a-z][a-z-]+(?:=.*)?", word)}
        assert named <= taken | {"--help"}, f"{page.name}: `{said}`: {sorted(named - taken)}"


def test_an_agent_is_bettered_by_the_command_that_readme_names(tmp_path: Path) -> None:
    row = next(words for words in tabled(ROOT / "README.md") if words[0] == "evolve")
    words = ["my-agent" if word == "FOLDER" else word for word in row]
    few = ["--proposals", "1", "--parallel", "2", "--repeats", "1"]
    run(Example("console", "python -m ratchet.demo my-agent", []), tmp_path, tmp_path)
    said = run(Example("console", shlex.join(["ratchet", *words, *few]), []), tmp_path, tmp_path)
    assert "#1 most_calls" in said


def appears(line: str, said: str) -> bool:
    """Whether a shown line occurs; `...` stands for anything within a line, a lone `...` for lines left out."""
    if line.strip() in ("", "..."):
        return True
    pattern = ".*".join(re.escape(part.strip()) for part in line.split("..."))
    return re.search(pattern, said) is not None


def test_make_targets_that_pages_name_exist_and_ci_runs_the_main_ones() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    named = {
        shlex.split(example.text)[1]
        for page in WITH_EXAMPLES
        for example in examples(page)
        if example.text.startswith("make ")
    }
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    assert {"demo", "test", "check"} <= named
    assert all(f"make {target}" in ci for target in ("demo", "test", "check"))


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_the_sites_contents_name_every_page_once() -> None:
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"^ +- (\S+\.md)$", contents, re.MULTILINE)
    pages = (str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))
    assert sorted(named) == sorted(pages)


def test_the_reference_says_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_each_settings_meaning_is_told_to_its_end() -> None:
    table = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8").partition("## Who is told")[0]
    meanings = [line.rsplit(" | ", 1)[1] for line in table.splitlines() if line.startswith("| `")]
    assert len(meanings) > 10
    assert [each for each in meanings if not each.endswith(". |")] == []


def test_nothing_published_names_a_machine_or_a_registry() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    for name in tracked.splitlines():
        path = ROOT / name
        if path.suffix in {".md", ".py", ".toml", ".json", ".yml"} and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            assert "files.pythonhosted" not in text or "test_documents" in name, name
