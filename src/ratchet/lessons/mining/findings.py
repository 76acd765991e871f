"""Follows each finding of a failing check through a session: what ended it, and which edit did."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ratchet.failures.diagnostics import Diagnostic
from ratchet.failures.missing_names import name_in
from ratchet.lessons.mining.calls import Piece, ToolCall
from ratchet.lessons.mining.hunks import SHORTER, Hunk, defined, features, hunks_of, imports, points, words_of
from ratchet.lessons.mining.selections import ANYTHING, CLASSES, checks_in, shows

WINDOW_CALLS = 40  # later is another matter: in the real histories the farthest true one came 35 calls on
TEST_FIRST_CALLS = 3  # a test that was written this shortly before it fails is to fail

_CUT = re.compile(r"\|\s*(?P<by>tail|head|grep|rg|sed|awk)\b(?:\s+(?:-n\s*|-)(?P<lines>\d+))?")
_EXCERPT_CHARS = 3_500  # of a failure's text: a longer one may have been cut when it was kept


@dataclass(frozen=True, slots=True)
class Ended:
    """A finding and its end: `hunk` is what ended it, None where no edit can be held to have; `fixed` is False of an
    edit in vain, after which it stood there still. `end` is the run that showed so."""

    found: Diagnostic
    failed: ToolCall
    end: ToolCall
    hunk: Hunk | None
    forms: frozenset[str]
    fixed: bool
    tries: int  # failing runs that showed it


@dataclass(slots=True)
class _OpenFinding:
    found: Diagnostic
    failed: ToolCall
    first: int
    last: int  # where it was seen last
    words: frozenset[str]
    tries: int = 1
    tried: list[Hunk] = field(default_factory=list)


def classes(call: ToolCall) -> frozenset[str]:
    """List the kinds of check that a shell call runs: lint, test, build."""
    return frozenset(check for piece in call.pieces if not piece.noise for check in checks_in(piece.words[:6]))


def _shown_kinds(shown: Sequence[Diagnostic]) -> frozenset[str]:
    """List the kinds of check that an output shows: a commit runs hooks, a script of the project whatever it likes."""
    kinds = {"c": "build", "t": "test"}
    return frozenset(kinds.get(each.key[:1] if each.key[1:2] == ":" else "", "lint") for each in shown if each.path)


def check_of(words: Sequence[str]) -> str:
    """Name the kind of check that a command is, the narrowest one; "" for none, or where it may run anything."""
    found = checks_in([word for word in words if word not in ANYTHING])
    return next((check for check in CLASSES if check in found), "")


def ended(calls: Sequence[ToolCall]) -> list[Ended]:
    """The ends of the findings in one thread's calls, in order; those that nobody saw end are left out."""
    waiting: dict[tuple[str, str, str], _OpenFinding] = {}
    found: list[Ended] = []
    edits: list[tuple[int, ToolCall]] = []
    for at, call in enumerate(calls):
        if call.writes or call.patches:
            if call.ok:
                edits.append((at, call))
            continue
        if not call.shell or call.excused or not (waiting or call.failed):
            continue
        shown = call.findings
        kinds = classes(call) or _shown_kinds(shown)
        if not kinds and not call.ok:
            continue
        there = {_ident(each) for each in shown}
        known = len(found)
        compiled = any(each.key[:2] == "c:" for each in shown)
        for ident, one in list(waiting.items()):
            if at - one.last > WINDOW_CALLS:
                del waiting[ident]
            elif ident in there:
                found += _vain(one, call, edits, at)
                one.last, one.tries = at, one.tries + 1
            elif _tells(call, kinds, one.found, one.failed, compiled=compiled):
                del waiting[ident]
                found.append(_end(one, call, edits, at))
        found[known:] = _without_followers(found[known:])
        for each in shown:
            if _ident(each) not in waiting and not _wanted(each, edits, at):
                waiting[_ident(each)] = _OpenFinding(each, call, at, at, words_of(each))
    return found


def _without_followers(ends: Sequence[Ended]) -> list[Ended]:
    """The ends, those of findings beside a name that was not known without the edit that ended both: what was said of
    its types or its use followed from it, and has no fix of its own."""
    missing = [each for each in ends if each.hunk is not None and name_in(each.found.key)]
    return [
        replace(each, hunk=None, forms=frozenset()) if any(_follows(each, one) for one in missing) else each
        for each in ends
    ]


def _follows(each: Ended, missing: Ended) -> bool:
    return each.fixed and each.hunk == missing.hunk and not name_in(each.found.key)


def _extracted(hunk: Hunk, edits: Sequence[ToolCall]) -> bool:
    """Tell whether what a hunk calls now was made a function by the same edits."""
    made: set[str] = set()
    for edit in edits:
        for other in hunks_of(edit):
            made |= defined(other.added) - defined(other.removed)
    return any(f"{name}(" in line for name in made for line in hunk.added)


def _took_away(missing: str, edits: Sequence[ToolCall]) -> bool:
    """Tell whether a session's own edits took away the name that is missing since: it moved or renamed it itself."""
    if not missing:
        return False
    name = re.compile(rf"\b{re.escape(re.split(r'[.:/]', missing)[-1])}\b")
    hunks = (hunk for edit in edits for hunk in hunks_of(edit))
    return any(any(map(name.search, hunk.removed)) and not any(map(name.search, hunk.added)) for hunk in hunks)


_DIGITS = re.compile(r"\d+")


def _ident(found: Diagnostic) -> tuple[str, str, str]:
    """Identify a finding while lines above it come and go."""
    return found.key, found.name, _DIGITS.sub("#", f"{found.message}\n{found.source}")


def _wanted(found: Diagnostic, edits: Sequence[tuple[int, ToolCall]], at: int) -> bool:
    """Tell whether a failure is a test's that was written just before: it is to fail."""
    if found.key[:2] not in ("t:", "c:") or "test" not in found.name.lower():
        return False
    recent = [call for when, call in edits if at - when <= TEST_FIRST_CALLS]
    return any(call.target.endswith("/" + found.name) or call.target == found.name for call in recent)


def shows_all(failed: ToolCall, call: ToolCall) -> bool:
    """Tell whether a later run would have shown each finding of a step that failed."""
    kinds = classes(call)
    return all(_tells(call, kinds, found, failed, compiled=False) for found in failed.findings)


def _tells(call: ToolCall, kinds: frozenset[str], found: Diagnostic, failed: ToolCall, *, compiled: bool) -> bool:
    """Tell whether a run that does not show a finding says by that that it is gone."""
    key = found.key
    if not kinds:  # a command of which only its findings told that it checks
        return call.head == failed.head
    if key[:2] == "c:" or found.tool in ("tsc", "rustc", "gcc"):
        able = bool(kinds)
    elif key[:2] in ("t:", "e:") or key[:3] == "py:":
        able = bool(kinds & classes(failed))
    else:
        able = "lint" in kinds or bool(kinds & classes(failed) - {"test"})
    if not able or (call.failed and _cut(call)):
        return False
    if compiled and key[:2] != "c:":
        return False  # it did not get so far
    ran, wanted = _checking(call, key), _checking(failed, key)
    compiles, path = key[:2] == "c:", found.path
    return not wanted or all(
        any(shows(failed, mine, piece, path=path, compiles=compiles) for piece in ran) for mine in wanted
    )


def _checking(call: ToolCall, key: str) -> list[Piece]:
    """The commands of a call that show findings of such a key: of a test the tests, of any other one what checks."""
    kinds = ((piece, checks_in(piece.words[:6])) for piece in call.pieces if not piece.noise)
    return [piece for piece, checks in kinds if checks and (key[:2] != "t:" or "test" in checks)]


def _cut(call: ToolCall) -> bool:
    """Tell whether a failing output may lack findings: it was filtered, or is as long as what was asked of it."""
    found = _CUT.search(call.input)
    if found is None:
        return len(call.message) >= _EXCERPT_CHARS
    if found["by"] not in ("head", "tail"):
        return True
    return call.message.count("\n") + 1 >= int(found["lines"] or 10) or len(call.message) >= _EXCERPT_CHARS


def _vain(one: _OpenFinding, call: ToolCall, edits: Sequence[tuple[int, ToolCall]], at: int) -> list[Ended]:
    """The edit after which a finding stood there still."""
    hunk = _cause(one, [edit for when, edit in edits if one.last < when < at])
    if hunk is None:
        return []
    return [Ended(one.found, one.failed, call, hunk, _features(hunk, one), False, one.tries)]


def _end(one: _OpenFinding, call: ToolCall, edits: Sequence[tuple[int, ToolCall]], at: int) -> Ended:
    since = [edit for when, edit in edits if one.last < when < at]
    hunk = _cause(one, since)
    forms = _features(hunk, one) if hunk is not None else frozenset()
    if _took_away(name_in(one.found.key), [edit for when, edit in edits if when < one.first]):
        forms = frozenset(form for form in forms if not form.startswith("instead "))  # its new name is no news
    if hunk is not None and _extracted(hunk, since):
        forms |= {"extract a function"}
    if hunk is not None and SHORTER in forms:
        hunk = replace(hunk, added=(*_made_short(hunk, since), *hunk.added))
    return Ended(one.found, one.failed, call, hunk, forms, True, one.tries)


def _made_short(hunk: Hunk, edits: Sequence[ToolCall]) -> list[str]:
    """The line by which a hunk's shortened name is known: an alias or import that the same edits added elsewhere."""
    for edit in edits:
        for line in (line for other in hunks_of(edit) for line in other.added if line not in hunk.added):
            name = next((re.split(r"[./:]", name)[-1] for name in imports([line])), "")
            if name and any(re.search(rf"(?<![\w.]){re.escape(name)}\b", added) for added in hunk.added):
                return [line]
    return []


def _features(hunk: Hunk, one: _OpenFinding) -> frozenset[str]:
    return features(hunk, f"{one.found.message}\n{one.found.source}", name_in(one.found.key))


def _cause(one: _OpenFinding, edits: Sequence[ToolCall]) -> Hunk | None:
    """The hunk that most speaks for, the first one of equals."""
    best, score = None, 0
    unplaced: list[Hunk] = []
    for edit in edits:
        if one.found.path and not edit.target.replace("\\", "/").endswith(one.found.name):
            continue
        for hunk in hunks_of(edit):
            mine = points(hunk, one.found, one.words)
            if mine > score:
                best, score = hunk, mine
            if one.found.path and not hunk.line:
                unplaced.append(hunk)
    # Of an agent that tells no lines, the only change of the file that the finding names.
    return best or (unplaced[0] if len(unplaced) == 1 else None)
