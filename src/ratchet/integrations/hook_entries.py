"""Our hooks in a coding agent's settings, in Claude Code's shape, which most take, or as a plain list for each event.

The hook's command must be harmless when Python, its environment or this package is gone: a shell answers 127 for a
missing program, Python 2 for a missing script, and 2 blocks every tool. Hence `-c` (a missing package exits with 1),
nothing on stderr, and `|| true`. `-I -S` keeps the person's environment out and halves the start.
"""

from __future__ import annotations

import inspect
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ratchet.errors import Refused
from ratchet.improving.targets import json_text
from ratchet.integrations.clients.claude_code import ClaudeCodeClient
from ratchet.integrations.clients.client import Client
from ratchet.lessons.ahead import making
from ratchet.records import Json, Row

_MARK = "ratchet.hookpath"  # what every command of ours, of any version, holds
_CODE = "import sys;sys.path[:0]={source};from ratchet.hookpath import run;run()"


@dataclass(frozen=True, slots=True)
class HookForm:
    """Groups of hooks under "hooks", by event; a group may be a plain handler. The entry is a list of [event, group].
    A file that is not there begins as `fresh`."""

    fresh: str = "{\n}\n"

    def held(self, path: Path, text: str) -> Json:
        """Our groups in order of their events."""
        found = [] if _is_blank(text) else _ours(_parsed(path, text))
        return _as_entry(found) if found else None

    def with_ours(self, path: Path, text: str, wanted: Json) -> str:  # noqa: ARG002
        """The text with one more group for each event, each at the end of its list."""
        text = self.fresh if _is_blank(text) else text
        for event, group in cast("list[tuple[str, Row]]", wanted):
            text = json_text.with_element(text, ("hooks", str(event)), group)
        return text

    def without_ours(self, path: Path, text: str, original: str | None) -> str:
        """The text without our handlers, and without what it began with where it was ours to begin."""
        if _is_blank(text) or not _ours(_parsed(path, text)):
            return text
        left = _without_ours(path, text, _own_events(path, original))
        if _is_blank(original or "") and "hooks" not in _parsed(path, left):
            for key in _parsed(path, self.fresh).keys() & _parsed(path, left).keys():
                start = json_text.root(left)
                left = json_text.without_item(left, start, _position(left, start, key))
        return left


HANDLERS = HookForm('{\n  "version": 1\n}\n')
"""The form of a client whose hooks are a list of handlers for each event."""


def entry(
    client: Client,
    *,
    home: Path,
    prevent: bool = False,
    environ: Mapping[str, str] | None = None,
    grouped: bool = True,
) -> Json:
    """The hooks of a client as a `HookForm` keeps them. With `prevent` the one before a step, too, of the tools of
    which a proven lesson is known; where none is, it would have nothing to say."""
    tools = "|".join(making.tools(making.everywhere(home), client.shell)) if prevent else ""
    events = [event for event in client.events if tools or event not in client.prevents]
    found: list[tuple[str, Row]] = []
    for event in events:
        handler = client.handler(command(event, home=home, environ=environ, client=client))
        matched = {"matcher": tools if event in client.prevents else client.matches_all}
        about: Row = {**matched} if event in client.matched else {}
        found.append((event, {**about, "hooks": [handler]} if grouped else {**handler, **about}))
    return _as_entry(found)


def commands(client: Client, *, home: Path, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The shell commands of all events, for a script that calls them."""
    return {event: command(event, home=home, environ=environ, client=client) for event in client.events}


def events_in(held: Json) -> list[str]:
    """The events of an entry."""
    return [str(event) for event, _ in cast("list[tuple[str, Row]]", held or [])]


def tools_before(held: Json, client: Client) -> list[str]:
    """The tools of which the hooks of an entry tell something before a step."""
    groups = [group for event, group in cast("list[tuple[str, Row]]", held or []) if event in client.prevents]
    return [tool for group in groups for tool in str(group.get("matcher") or "").split("|")]


def command(event: str, *, home: Path, environ: Mapping[str, str] | None = None, client: Client | None = None) -> str:
    """The shell command of one event. Whatever is broken, it exits with 0 and prints nothing."""
    environ = os.environ if environ is None else environ
    client = client or ClaudeCodeClient()
    words = [sys.executable, "-I", "-S", "-c", _CODE.format(source=_sources(client)), event]
    if home.absolute() != Path(environ.get("HOME") or Path.home()).absolute() / ".ratchet":
        words += ["--home", str(home.absolute())]
    if not isinstance(client, ClaudeCodeClient):
        words += ["--client", f"{type(client).__module__}:{type(client).__qualname__}"]
    return f"{shlex.join(words)} 2>/dev/null || true"


def _sources(client: Client) -> str:
    """The folders from which we and the client are imported: without `site` no others are known."""
    folders = [str(Path(__file__).resolve().parent.parent.parent)]
    depth = type(client).__module__.count(".") + 1
    own = str(Path(inspect.getfile(type(client))).resolve().parents[depth - 1])
    if own not in folders:
        folders.append(own)
    return json.dumps(folders, ensure_ascii=False, separators=(",", ":"))


def _as_entry(found: list[tuple[str, Row]]) -> Json:
    return [[event, group] for event, group in sorted(found, key=_event)]


# --- the settings as JSON ------------------------------------------------------------------------------------------


def _parsed(path: Path, text: str) -> Row:
    """The settings, with hooks of the shape that Claude Code documents."""
    try:
        found = json_text.parsed(text, comments=False)
    except Refused as error:
        raise Refused(f"{path}: {error}, then run this again") from error
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
    return Refused(f"{path}: {what} is not {wanted}; the file is left as it is: mend it, then run this again")


def _ours(settings: Row) -> list[tuple[str, Row]]:
    """(event, group) of every group that holds a command of ours, in order."""
    hooks = settings.get("hooks")
    groups = hooks.items() if isinstance(hooks, dict) else ()
    return [
        (event, group)
        for event, several in groups
        if isinstance(several, list)
        for group in several
        if isinstance(group, dict) and (_is_ours(group) or _has_ours(group))
    ]


def _event(found: tuple[str, Row]) -> str:
    return found[0]


def _has_ours(group: Row) -> bool:
    handlers = group.get("hooks")
    return isinstance(handlers, list) and any(map(_is_ours, handlers))


def _is_ours(handler: Json) -> bool:
    return isinstance(handler, dict) and any(_MARK in str(handler.get(name)) for name in ("command", "bash"))


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
            if not ours and not _is_ours(group.value):
                continue
            if handlers is not None and len(several) > 1:
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
