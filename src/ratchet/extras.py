"""Names the command that adds an extra (`serve`, `prices`, ...) to this very copy of Ratchet."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "ratchet-ai"


def adding(extra: str) -> str:
    """Return the command that adds an extra, with the installer, the Python and the source of this copy as far as they
    are known; else by the released name."""
    from importlib.metadata import PackageNotFoundError, distribution  # 20 ms, for a hint alone

    try:
        held = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return f"pip install '{DISTRIBUTION}[{extra}]'"
    return command(
        extra,
        origin=held.read_text("direct_url.json") or "",
        installer=(held.read_text("INSTALLER") or "").strip(),
        prefix=Path(sys.prefix),
        python=sys.executable,
        has_pip=find_spec("pip") is not None,
    )


def command(extra: str, *, origin: str, installer: str, prefix: Path, python: str, has_pip: bool = True) -> str:
    """Return the command for a copy in the environment `prefix`, of which its metadata say `installer` and `origin`
    (`direct_url.json`, https://packaging.python.org/en/latest/specifications/direct-url-data-structure/). A tool is
    installed anew, so the extras that it has are named again."""
    for name, tool, receipt in _TOOLS:
        if (place := prefix / name).is_file():
            return f"{tool} {_source(origin, [extra, *_extras_in(place.read_text(encoding='utf-8'), receipt)])}"
    here, what = shlex.quote(python), _source(origin, [extra])
    if installer == "uv":
        return f"uv pip install --python {here} {what}"
    return f"{here} -m pip install {what}" if has_pip else f"python3 -m pip --python {here} install {what}"


_TOOLS = (
    ("uv-receipt.toml", "uv tool install --force", "uv"),
    ("pipx_metadata.json", "pipx install --force", "pipx"),
)
"""What lies in the environment of a tool, what installs it anew, and whose receipt it is."""


def _source(origin: str, extras: list[str]) -> str:
    """Return what to install as one word of a shell: a path that is there, a repository, an archive, or the name."""
    named = ",".join(sorted({*extras}))
    try:
        said = json.loads(origin or "{}")
    except ValueError:
        said = {}
    url, vcs = str(said.get("url", "")), said.get("vcs_info") or {}
    path = unquote(urlsplit(url).path) if url.startswith("file:") else ""
    if path and Path(path).exists():
        is_editable = bool((said.get("dir_info") or {}).get("editable"))
        return f"{'-e ' * is_editable}{shlex.quote(f'{path}[{named}]')}"
    if vcs:
        url = f"{vcs.get('vcs')}+{url}@{vcs.get('requested_revision') or vcs.get('commit_id')}"
    where = f" @ {url}" if url and not path else ""
    return shlex.quote(f"{DISTRIBUTION}[{named}]{where}")


def _extras_in(receipt: str, kind: str) -> list[str]:
    """Return the extras with which a tool was installed; none where its receipt cannot be read."""
    import re
    import tomllib

    try:
        if kind == "pipx":
            named = str(json.loads(receipt)["main_package"]["package_or_url"])
            found = re.search(r"\[([\w,. -]+)\]", named)
            return [each.strip() for each in found[1].split(",")] if found else []
        asked = tomllib.loads(receipt)["tool"]["requirements"]
        return [str(extra) for each in asked if each.get("name") == DISTRIBUTION for extra in each.get("extras", ())]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
