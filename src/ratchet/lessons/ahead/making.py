"""Makes the triggers of a project from its proven lessons: which steps they are about, and what is said before one.

A lesson's row alone says nothing: what a sentence names stands in steps that ran in this project (`sighted`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ratchet import files
from ratchet.failures.intent import intent
from ratchet.failures.missing_names import name_in
from ratchet.lessons import edits, exposure, origins, paths
from ratchet.lessons.ahead import slots
from ratchet.lessons.ahead.sighted import names_what_ran, sightings
from ratchet.lessons.ahead.trigger import BESIDE, CHECK, Trigger, marked, read
from ratchet.lessons.mining.findings import check_of
from ratchet.lessons.mining.fix_texts import named
from ratchet.lessons.rests import folder_of, stale
from ratchet.lessons.standing import PROVEN_SESSIONS
from ratchet.records import Json, Row, text_in, whole_in

if TYPE_CHECKING:
    from ratchet.ports import Store, Where

_LISTED = 60  # triggers of a project: a hook reads them all
_INSTEAD = re.compile(r"use `(--?[\w-]+)` instead")
# Checks come last: of what else is about a step one is said, and surer.
_ORDER = ("flag", "value", "field", "tool", "alone", "path", "bare", "same", "place", "import", CHECK, BESIDE)
_IMPORT = "import "


def triggers(store: Store, project: str) -> list[Trigger]:
    """The triggers of a project, by its name, in the order in which they are tried. Raises StoreError."""
    rows = store.find("lessons", {"project": project, "state": "active"}).rows
    return _made(store, project, [row for row in rows if row.get("rule") == "edit" or is_proven(row)])


def never_worked(store: Store, project: str) -> list[Trigger]:
    """The triggers of what a project's lessons say never works, an option or a tool, of one session too: for who asks
    about a step. Raises StoreError."""
    rows = store.find("lessons", {"project": project, "state": "active"}).rows
    return _made(store, project, [row for row in rows if row.get("rule") in ("flag", "never")])


def _made(store: Store, project: str, rows: Iterable[Row]) -> list[Trigger]:
    told = [row for row in rows if _stands(row)]
    shown = _shown(store, project) if any(row.get("rule") == "edit" for row in told) else {}
    seen = sightings(store, told)
    found = [each for row in told for each in _of(row, shown) if names_what_ran(row, each.text, seen)]
    counts = {str(row["id"]): (whole_in(row, "saved_turns"), whole_in(row, "worked")) for row in told}
    found.sort(key=lambda each: (_ORDER.index(each.kind), *(-n for n in counts[each.lesson]), each.lesson, each.head))
    return found[:_LISTED]


def is_proven(row: Row) -> bool:
    """Tell whether a lesson may be told before a step: it was mined from steps that ran here, it stands, and it held in
    a second session (in one where the files are looked at), or would have saved a turn had it been told in an earlier
    one (`lessons.backtest`)."""
    held = max(whole_in(row, "worked"), whole_in(row, "tried") if row.get("rule") in ("flag", "never") else 0)
    enough = 1 if _imports(row) or row.get("rule") == "place" else PROVEN_SESSIONS
    return (held >= enough or whole_in(row, "saved_turns") > 0) and _stands(row)


def _stands(row: Row) -> bool:
    """Tell whether a lesson was mined from steps that ran here, and nothing speaks against it."""
    if row.get("source") != "session" or row.get("foreign") or row.get("origin") or row.get("rule") == "said":
        return False
    return whole_in(row, "right") >= whole_in(row, "wrong") and not stale(row, folder_of(row))


def _shown(store: Store, project: str) -> dict[str, list[str]]:
    """Finding -> the checks that showed it in most sessions, the usual one first. Of a name that is not known they
    stand with the endings of the files that it was missing in: `go build *.go`."""
    where: Where = {"project": project, "finding": ("!=", "")}
    rows = store.sum_by("facts", ("finding", "head", "file"), ("distinct:session",), where)
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        finding, head = text_in(row, "finding"), text_in(row, "head")
        ending = text_in(row, "file").rpartition("/")[2].rpartition(".")[2] if name_in(finding) else ""
        shown = (finding, f"{head} *.{ending}" if ending else head)
        counts[shown] = counts.get(shown, 0) + whole_in(row, "distinct:session")
    found: dict[str, list[str]] = {}
    for finding, head in sorted(counts, key=lambda each: (-counts[each], each)):
        found.setdefault(finding, []).append(head)
    return found


def _of(row: Row, shown: dict[str, list[str]]) -> Iterator[Trigger]:
    """The triggers of one lesson; none where its slots have not their shape."""
    group = text_in(row, "group")
    if group.startswith("edit "):
        yield from _checks(row, group.removeprefix("edit "), shown)
        return
    if group in (edits.GROUP, origins.GROUP, paths.GROUP):  # what of it is asked for is known once a step failed
        return
    words = group.removeprefix("step ").partition(" \0")[0].split(" ")
    made = _MAKERS.get(words[0], _same)(row, words[1:])
    if made is None and words[0] in ("through", "without", "program"):
        made = _same(row, words[1:])
    if made is not None:
        yield made


def _checks(row: Row, key: str, shown: dict[str, list[str]]) -> Iterator[Trigger]:
    told = [frozenset(map(str, cast("list[Json]", forms))) for forms in cast("list[Json]", row.get("told") or [])]
    if told and name_in(key):
        yield from _missing(row, name_in(key), told[0], shown.get(key, []))
        return
    if not slots.finding(key) or not told or not all(map(slots.fix, told[0])):
        return
    fix, kind = named(told[0]), CHECK if is_proven(row) else BESIDE
    for head in [head for head in shown.get(key, []) if slots.program(head)][:2]:
        text = f"`{key}` (fix: {fix}, in {_sessions(row)})"
        yield _trigger(row, kind, needle=head.split(" ")[-1], head=head, text=text)


def _imports(row: Row) -> bool:
    """Tell whether a lesson says where a name is imported from."""
    told = cast("list[list[Json]]", row.get("told") or [])
    return bool(told and told[0]) and all(str(form).startswith(_IMPORT) for form in told[0])


def _missing(row: Row, name: str, forms: frozenset[str], shown: Sequence[str]) -> Iterator[Trigger]:
    module = next(iter(forms)).removeprefix(_IMPORT)
    if not is_proven(row) or not _imports(row) or len(forms) != 1:
        return
    if not slots.identifier(name) or not slots.name(module):
        return
    checks = [each.partition(" *.") for each in shown if check_of(each.partition(" *.")[0].split())]
    for head, _, ending in checks[:2]:
        if slots.program(head) and slots.identifier(ending):
            said = f"comes from `{module}`" if module != name else "is to be imported"
            text = f"`{name}` {said} ({_sessions(row)})"
            word = f"{name} {module} {ending}"
            yield _trigger(row, "import", needle=head.split(" ")[-1], head=head, word=word, text=text)


def _flag(row: Row, words: Sequence[str]) -> Trigger | None:
    head, option = " ".join(words[:-1]), words[-1]
    if not slots.program(head) or not slots.flag(option):
        return None
    instead = _INSTEAD.search(text_in(row, "text"))
    more = f", it has `{instead[1]}`" if instead is not None and slots.flag(instead[1]) else ""
    return _trigger(row, "flag", needle=option, head=head, word=option, text=f"`{head}` has no `{option}`{more}")


def _value(row: Row, words: Sequence[str]) -> Trigger | None:
    if len(words) != 3 or not all(map(slots.name, (*words, text_in(row, "example")))):
        return None
    tool, field, old = words
    text = f"`{tool}` knows no `{field}` `{old}`; `{text_in(row, 'example')}` worked"
    return _trigger(row, "value", needle=old, tool=tool, head=field, word=old, text=text)


def _field(row: Row, words: Sequence[str]) -> Trigger | None:
    if len(words) != 3 or not all(map(slots.name, words)) or " takes no " not in text_in(row, "text"):
        return None
    tool, field, old = words
    return _trigger(
        row, "field", needle=f'"{old}"', tool=tool, word=old, text=f"`{tool}` takes `{field}`, and no `{old}`"
    )


def _never(row: Row, words: Sequence[str]) -> Trigger | None:
    if len(words) != 1 or not slots.name(words[0]):
        return None
    text = f"`{words[0]}` has not worked here once, in {_sessions(row)}"
    return _trigger(row, "tool", needle=words[0], tool=words[0], text=text)


def _broken(row: Row, words: Sequence[str]) -> Trigger | None:
    command = " ".join(words)
    if not slots.program(command):
        return None
    text = f"`{command}` has not worked here once, in {_sessions(row)}"
    return _trigger(row, "alone", needle=words[0], head=command, text=text)


def _through(row: Row, words: Sequence[str]) -> Trigger | None:
    missing, prefix = words[0], " ".join(words[1:])
    if not slots.program(missing) or not prefix or not slots.command(prefix):
        return None
    text = f"`{missing}` failed here as such; `{prefix} {missing}` worked"
    return _trigger(row, "bare", needle=missing, word=missing, text=text)


def _without(row: Row, words: Sequence[str]) -> Trigger | None:
    if len(words) != 1 or not slots.program(words[0]):
        return None
    return _trigger(
        row, "bare", needle=words[0], word=words[0], text=f"`{words[0]}` is not there; it worked without it"
    )


def _program(row: Row, words: Sequence[str]) -> Trigger | None:
    old, new = words[0], " ".join(words[1:])
    if not slots.program(old) or not slots.program(new):
        return None
    text = f"`{new}` worked here instead of `{old}`, in {_sessions(row)}"
    return _trigger(row, "bare", needle=old, word=old, text=text)


def _make(row: Row, words: Sequence[str]) -> Trigger | None:
    wanted, do = " ".join(words), text_in(row, "example")
    if not slots.path(wanted) or not slots.command(do):
        return None
    head, _ = intent("bash", do)
    return _trigger(
        row, "path", needle=wanted, head=head, word=wanted, text=f"`{wanted}` is not there; `{do}` makes it"
    )


def _place(row: Row, words: Sequence[str]) -> Trigger | None:
    del words
    return _trigger(row, "place", needle="", text=f"relative paths of the root failed so in {_sessions(row)}")


def _same(row: Row, words: Sequence[str]) -> Trigger | None:
    del words
    failed, do = text_in(row, "failed"), text_in(row, "example")
    first = failed.split(" ")[0]
    if row.get("rule") not in _STEPS or not slots.program(first) or not slots.command(do) or do == failed:
        return None
    helped = f"it worked after `{do}`" if row.get("rule") == "first" else f"`{do}` worked"
    return _trigger(row, "same", needle=first, word=marked(failed), text=f"this step failed here; {helped}")


_STEPS = frozenset(("first", "instead", "stand_in", "program", "through"))
_MAKERS = {
    "flag": _flag,
    "value": _value,
    "with": _field,
    "never": _never,
    "broken": _broken,
    "through": _through,
    "without": _without,
    "program": _program,
    "make": _make,
    "place": _place,
}


def _trigger(row: Row, kind: str, *, needle: str, tool: str = "", head: str = "", word: str = "", text: str) -> Trigger:
    return Trigger(
        needle=needle,
        kind=kind,
        tool=tool,
        head=head,
        word=word,
        lesson=text_in(row, "id"),
        pattern=exposure.pattern_of(row),
        text=text,
    )


def _sessions(row: Row) -> str:
    count = whole_in(row, "worked") or whole_in(row, "tried")
    return f"{count} session" + ("" if count == 1 else "s")


def everywhere(home: Path) -> list[Trigger]:
    """All triggers of a home that bring a word of their own, whatever the project. Raises BackendError, Refused."""
    held = (files.text_of(files.read(path)) for path in sorted((home / "hook" / "ahead").glob("*")))
    lines = (line for text in held for line in text.splitlines())
    known = (read(line) for line in dict.fromkeys(lines))  # a project's stand once more for each folder known by it
    return [each for each in known if each is not None and each.kind != BESIDE]


def tools(found: Iterable[Trigger], shell: str) -> list[str]:
    """The tools that these triggers are about, as a client's matcher names them; `shell` is its shell."""
    return sorted({each.tool or shell for each in found})
