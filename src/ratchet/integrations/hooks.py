"""Puts Ratchet's hooks into a coding agent's settings, touching nothing else, and takes them out again.

The hook's command must be harmless when Python, its environment or this package is gone: a shell answers 127 for a
missing program, Python 2 for a missing script, and 2 blocks every tool. Hence `-c` (a missing package exits with 1),
nothing on stderr, and `|| true`. `-I -S` keeps the person's environment out and halves the start.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import cast

from ratchet.errors import Refused, UsageError
from ratchet.improving.targets import json_text
from ratchet.integrations.settings_file import Installed, InstallScope, KeptOriginal, diff, read, replace
from ratchet.records import Json, Row

AGENTS = ("claude-code",)
_MARK = "ratchet.hookpath"  # what every command of ours, of any version, holds
_CODE = "import sys;sys.path.insert(0,{source});from ratchet.hookpath import run;run()"
_TIMEOUT_S = 5  # the host's limit; the hook's own is 2 s
_TOOL_EVENTS = frozenset(("PostToolUseFailure", "PreToolUse"))


def install(
    agent: str,
    *,
    scope: InstallScope = "user",
    home: Path,
    project: Path,
    prevent: bool = False,
    dry_run: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Installed:
    """Merge the hooks into the agent's settings. Again with other options: only our own entries change. An empty file,
    as some editors leave it, holds no settings.

    Raises UsageError for an unknown agent, Refused when the file does not parse or its hooks have an unexpected shape
    (it is left untouched), BackendError when it cannot be read or written, Conflict when it changed meanwhile.
    """
    path = settings_path(agent, scope=scope, project=project, environ=environ)
    before = read(path)
    wanted = {event: _group(event, home, environ) for event in _events(prevent=prevent)}
    if before is not None and sorted(_ours(_parsed(path, before)), key=_event) == sorted(wanted.items(), key=_event):
        return Installed(path=str(path), changed=False, diff="", backup="")
    kept = KeptOriginal.of(home, path)
    if before is None or _is_blank(before):
        original, base = before, "{\n}\n"
    else:
        base = _without_ours(path, before, _own_events(path, kept.original))
        original = kept.original if kept.is_as_left(before) else base
    after = _with_hooks(path, base, wanted)
    if not dry_run:
        kept.remember(original, after)
        replace(path, before, after)
    return Installed(path=str(path), changed=True, diff=diff(path, before, after), backup=kept.backup_if_any())


def uninstall(
    agent: str,
    *,
    scope: InstallScope = "user",
    home: Path,
    project: Path,
    dry_run: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Installed:
    """Take our hooks out: byte for byte what was there before when nobody else changed the file since, else only our
    entries, keeping the person's later edits. Raises as `install`."""
    path = settings_path(agent, scope=scope, project=project, environ=environ)
    before = read(path)
    kept = KeptOriginal.of(home, path)
    if before is None or not _ours(_parsed(path, before)):
        return Installed(path=str(path), changed=False, diff="", backup="")
    after: str | None
    if kept.is_as_left(before):
        after = kept.original
    else:
        after = _without_ours(path, before, _own_events(path, kept.original))
        if kept.is_known and (kept.original is None or _is_blank(kept.original)) and not _parsed(path, after):
            after = kept.original  # it was not there or empty before us, and nothing but us was ever in it
    if not dry_run:
        replace(path, before, after)
        kept.forget()
    return Installed(path=str(path), changed=True, diff=diff(path, before, after), backup=kept.backup_if_any())


def installed_events(
    agent: str, *, scope: InstallScope, project: Path, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Event -> command of the hooks that are ours now; raises as `install`."""
    path = settings_path(agent, scope=scope, project=project, environ=environ)
    before = read(path)
    found = _ours(_parsed(path, before)) if before is not None else []
    return {event: command for event, group in found for command in _commands(group)}


def settings_path(agent: str, *, scope: InstallScope, project: Path, environ: Mapping[str, str] | None = None) -> Path:
    """The settings file that the agent reads (CLAUDE_CONFIG_DIR is honoured)."""
    if agent not in AGENTS:
        raise UsageError(f"cannot install into {agent!r}; known: {', '.join(AGENTS)}")
    environ = os.environ if environ is None else environ
    if scope == "project":
        return project.absolute() / ".claude" / "settings.json"
    folder = environ.get("CLAUDE_CONFIG_DIR")
    return (Path(folder).expanduser().absolute() if folder else _user_home(environ) / ".claude") / "settings.json"


def command(event: str, *, home: Path, environ: Mapping[str, str] | None = None) -> str:
    """The shell command of one event. Whatever is broken, it exits with 0 and prints nothing."""
    environ = os.environ if environ is None else environ
    source = str(Path(__file__).resolve().parent.parent.parent)
    words = [sys.executable, "-I", "-S", "-c", _CODE.format(source=json.dumps(source, ensure_ascii=False)), event]
    if home.absolute() != _user_home(environ) / ".ratchet":
        words += ["--home", str(home.absolute())]
    return f"{shlex.join(words)} 2>/dev/null || true"


def _user_home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or Path.home()).absolute()


def _events(*, prevent: bool) -> tuple[str, ...]:
    before_step = ("PreToolUse",) if prevent else ()
    return ("SessionStart", *before_step, "PostToolUseFailure", "SessionEnd")


def _group(event: str, home: Path, environ: Mapping[str, str] | None) -> Row:
    hook: Row = {"type": "command", "command": command(event, home=home, environ=environ), "timeout": _TIMEOUT_S}
    return {"matcher": "*", "hooks": [hook]} if event in _TOOL_EVENTS else {"hooks": [hook]}


# --- the settings as JSON ------------------------------------------------------------------------------------------


def _parsed(path: Path, text: str) -> Row:
    """The settings, with hooks of the shape that Claude Code documents."""
    try:
        found = json_text.parsed(text, comments=False)
    except Refused as error:
        raise Refused(f"{path}: {error}, then install again") from error
    hooks = found.get("hooks", {})
    if not isinstance(hooks, dict):
        raise _odd(path, '"hooks"', "an object")
    for event, groups in hooks.items():
        for group in _objects(path, f'"hooks" > "{event}"', groups):
            _objects(path, f'"hooks" > "{event}" > "hooks"', group.get("hooks", []))
    return found


def _objects(path: Path, what: str, value: Json) -> list[Row]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise _odd(path, what, "a list of objects")
    return cast("list[Row]", value)


def _is_blank(text: str) -> bool:
    return not text.removeprefix("\ufeff").strip()


def _odd(path: Path, what: str, wanted: str) -> Refused:
    return Refused(f"{path}: {what} is not {wanted}; the file is left as it is: mend it, then install again")


def _ours(settings: Row) -> list[tuple[str, Row]]:
    """(event, group) of every group that holds a command of ours, in order."""
    hooks = settings.get("hooks")
    groups = hooks.items() if isinstance(hooks, dict) else ()
    return [
        (event, group)
        for event, several in groups
        if isinstance(several, list)
        for group in several
        if isinstance(group, dict) and _commands(group)
    ]


def _event(found: tuple[str, Row]) -> str:
    return found[0]


def _commands(group: Row) -> list[str]:
    """The commands of ours in a group."""
    handlers = group.get("hooks")
    several = handlers if isinstance(handlers, list) else []
    return [str(handler["command"]) for handler in several if isinstance(handler, dict) and _is_ours(handler)]


def _is_ours(handler: Json) -> bool:
    return isinstance(handler, dict) and _MARK in str(handler.get("command"))


def _with_hooks(path: Path, text: str, wanted: Mapping[str, Row]) -> str:
    """The text with one more group for each event, each at the end of its list."""
    settings = _parsed(path, text)
    start = json_text.root(text)
    hooks = json_text.member(text, start, "hooks")
    if hooks is None:
        fresh: dict[str, Json] = {event: [group] for event, group in wanted.items()}
        return json_text.with_item(text, start, fresh, key="hooks")
    held = settings.get("hooks")
    assert isinstance(held, dict)
    for event, group in wanted.items():
        hooks = json_text.member(text, start, "hooks")
        assert hooks is not None
        groups = json_text.member(text, hooks.value_start, event)
        if groups is None:
            text = json_text.with_item(text, hooks.value_start, [group], key=event)
        else:
            text = json_text.with_item(text, groups.value_start, group)
    return text


def _without_ours(path: Path, text: str, own: Collection[str] | None) -> str:
    """The text without our handlers, and without what they leave empty, but for the person's `own`: the events under
    their "hooks" from before us; None where they had no "hooks"."""
    while _ours(_parsed(path, text)):
        text = _without_one(text, own)
    return text


def _without_one(text: str, own: Collection[str] | None) -> str:
    """The text without the first handler of ours; the innermost of what holds nothing else goes with it."""
    start = json_text.root(text)
    hooks = json_text.member(text, start, "hooks")
    assert hooks is not None
    for event in json_text.items(text, hooks.value_start):
        for position, group in enumerate(json_text.items(text, event.value_start)):
            handlers = json_text.member(text, group.value_start, "hooks")
            several = list(json_text.items(text, handlers.value_start)) if handlers else []
            ours = [i for i, handler in enumerate(several) if _is_ours(handler.value)]
            if not ours or handlers is None:
                continue
            if len(several) > 1:
                return json_text.without_item(text, handlers.value_start, ours[0])
            if _count(text, event.value_start) > 1 or event.key in (own or ()):
                return json_text.without_item(text, event.value_start, position)
            if _count(text, hooks.value_start) > 1 or own is not None:
                return json_text.without_item(text, hooks.value_start, _position(text, hooks.value_start, event.key))
            return json_text.without_item(text, start, _position(text, start, "hooks"))
    raise AssertionError("called only where a handler of ours is left")


def _count(text: str, start: int) -> int:
    return sum(1 for _ in json_text.items(text, start))


def _position(text: str, start: int, key: str) -> int:
    return max(i for i, item in enumerate(json_text.items(text, start)) if item.key == key)


def _own_events(path: Path, original: str | None) -> Collection[str] | None:
    """The events under the person's own "hooks", empty ones too; None where they had none, as far as is known."""
    hooks = None if original is None else _parsed(path, original).get("hooks")
    return list(hooks) if isinstance(hooks, dict) else None


def run_hook(event: str, payload: str, *, home: Path) -> str:
    """Run the installed hook's command on an event; return what it says to the agent ("" for nothing)."""
    # The command is our own; the payload goes to its standard input.
    done = subprocess.run(  # noqa: S602
        command(event, home=home), shell=True, input=payload, capture_output=True, text=True, check=False
    )
    return done.stdout
