"""Names Ratchet's MCP server in a coding agent's settings, touching nothing else, and takes it out again.

Where each agent looks: Claude Code in `~/.claude.json`, or `.mcp.json` of a project; Cursor in `mcp.json` of its
folder; Codex in `config.toml` of its folder. What is written is read back before it is kept.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from ratchet.errors import Refused, UsageError
from ratchet.improving.targets import json_text
from ratchet.integrations.settings_file import Installed, InstallScope, KeptOriginal, diff, read, replace
from ratchet.records import Json, Row

AGENTS = ("claude-code", "cursor", "codex")
NAME = "ratchet"
"""What the server is called in the agent's settings."""
_MODULE = ["-m", "ratchet"]
_HEAD = f"[mcp_servers.{NAME}]"


def register(
    agent: str,
    *,
    scope: InstallScope,
    home: Path,
    project: Path,
    dry_run: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Installed:
    """Have the agent start `ratchet mcp` with each session. Again: nothing changes, or only our own entry.

    Raises UsageError for an unknown agent or a scope that it does not have, Refused for a file that does not parse or
    names another server so (it is left as it is), BackendError when it cannot be read or written, Conflict when it
    changed meanwhile.
    """
    path = server_path(agent, scope=scope, project=project, environ=environ)
    before = read(path)
    wanted = _entry(agent, home, environ)
    if _held(path, before or "") == wanted:
        return Installed(path=str(path), changed=False, diff="")
    kept = KeptOriginal.of(home, path)
    base = _without(path, before or "")
    original = kept.original if before is not None and kept.is_as_left(before) else base if before else before
    after = _checked(path, _with(path, base, wanted), wanted)
    if not dry_run:
        kept.remember(original, after)
        replace(path, before, after)
    return Installed(path=str(path), changed=True, diff=diff(path, before, after), backup=kept.backup_if_any())


def unregister(
    agent: str,
    *,
    scope: InstallScope,
    home: Path,
    project: Path,
    dry_run: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Installed:
    """Take it out: byte for byte what was there before when nobody else changed the file since, else only our entry.
    Raises as `register`."""
    path = server_path(agent, scope=scope, project=project, environ=environ)
    before = read(path)
    if before is None or _held(path, before) is None:
        return Installed(path=str(path), changed=False, diff="")
    kept = KeptOriginal.of(home, path)
    after = kept.original if kept.is_as_left(before) else _checked(path, _without(path, before), None)
    if not dry_run:
        replace(path, before, after)
        kept.forget()
    return Installed(path=str(path), changed=True, diff=diff(path, before, after), backup=kept.backup_if_any())


def server_path(agent: str, *, scope: InstallScope, project: Path, environ: Mapping[str, str] | None = None) -> Path:
    """The file in which the agent looks for servers (CLAUDE_CONFIG_DIR and CODEX_HOME are honoured)."""
    if agent not in AGENTS:
        raise UsageError(f"cannot register with {agent!r}; known: {', '.join(AGENTS)}")
    environ = os.environ if environ is None else environ
    user = Path(environ.get("HOME") or Path.home()).absolute()
    if agent == "codex":
        if scope == "project":
            raise UsageError("Codex reads its servers from the user's config.toml only: leave --project out")
        return _folder(environ.get("CODEX_HOME"), user / ".codex") / "config.toml"
    if agent == "cursor":
        return (project.absolute() if scope == "project" else user) / ".cursor" / "mcp.json"
    if scope == "project":
        return project.absolute() / ".mcp.json"
    return _folder(environ.get("CLAUDE_CONFIG_DIR"), user) / ".claude.json"


def _folder(named: str | None, otherwise: Path) -> Path:
    return Path(named).expanduser().absolute() if named else otherwise


def _entry(agent: str, home: Path, environ: Mapping[str, str] | None) -> Row:
    """Entry that starts the server. `-I`: a project's own `ratchet.py` must not be run in its place."""
    environ = os.environ if environ is None else environ
    args: list[Json] = ["-I", *_MODULE]
    if home.absolute() != Path(environ.get("HOME") or Path.home()).absolute() / ".ratchet":
        args += ["--home", str(home.absolute())]
    entry: Row = {"type": "stdio"} if agent == "claude-code" else {}
    return {**entry, "command": sys.executable, "args": [*args, "mcp"]}


def _held(path: Path, text: str) -> Row | None:
    """Our entry; None where there is none. Raises Refused for one that is somebody else's, or an odd shape."""
    settings = _parsed(path, text)
    servers = settings.get(_key(path), {})
    if not isinstance(servers, dict):
        raise Refused(
            f'{path}: "{_key(path)}" is not an object; the file is left as it is: mend it, then install again'
        )
    entry = servers.get(NAME)
    if entry is None:
        return None
    args = entry.get("args") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(args, list) or _MODULE[1] not in args or args[-1:] != ["mcp"]:
        raise Refused(f"{path} names another server {NAME!r}; it is left as it is: rename that one, then install again")
    return entry


def _parsed(path: Path, text: str) -> Row:
    try:
        return tomllib.loads(text.removeprefix("\ufeff")) if _is_toml(path) else json_text.parsed(text)
    except Refused as error:
        raise Refused(f"{path}: {error}, then install again") from error
    except (ValueError, RecursionError) as error:
        raise Refused(
            f"{path} is not valid TOML ({error}); it is left as it is: mend it, then install again"
        ) from error


def _is_toml(path: Path) -> bool:
    return path.suffix == ".toml"


def _key(path: Path) -> str:
    return "mcp_servers" if _is_toml(path) else "mcpServers"


def _with(path: Path, text: str, entry: Row) -> str:
    """The text with our entry as the last of the servers."""
    if _is_toml(path):
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        lines = [_HEAD, *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.items())]
        return f"{text}{gap}{chr(10).join(lines)}\n"
    text = text if text.removeprefix("\ufeff").strip() else "{\n}\n"
    start = json_text.root(text)
    servers = json_text.member(text, start, _key(path))
    if servers is None:
        return json_text.with_item(text, start, {NAME: entry}, key=_key(path))
    return json_text.with_item(text, servers.value_start, entry, key=NAME)


def _without(path: Path, text: str) -> str:
    """The text without our entry, and without what it leaves empty."""
    if _held(path, text) is None:
        return text
    if _is_toml(path):
        return _without_table(text)
    start = json_text.root(text)
    servers = json_text.member(text, start, _key(path))
    assert servers is not None
    names = [item.key for item in json_text.items(text, servers.value_start)]
    if len(names) > 1:
        return json_text.without_item(text, servers.value_start, names.index(NAME))
    keys = [item.key for item in json_text.items(text, start)]
    return json_text.without_item(text, start, keys.index(_key(path)))


def _without_table(text: str) -> str:
    """The text without our table's lines, and the blank one ahead of them."""
    lines = text.splitlines(keepends=True)
    starts = [n for n, line in enumerate(lines) if line.strip().replace(" ", "") == _HEAD]
    if not starts:
        return text  # spelled another way: the check of the result says so
    start = starts[0]
    end = next((n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines))
    if start and not lines[start - 1].strip():
        start -= 1
    return "".join(lines[:start] + lines[end:])


def _checked(path: Path, text: str, entry: Row | None) -> str:
    """The text, once it is seen to hold what it shall. Raises Refused: then nothing is written."""
    try:
        fits = _held(path, text) == entry
    except Refused:
        fits = False
    if not fits:
        raise Refused(
            f"{path} writes its servers in a way that cannot be edited safely; it is left as it is: "
            f"edit {_key(path)}.{NAME} by hand"
        )
    return text
