"""Finds what fixed what failed in one session: of each finding of a check the edit that ended it, of each failed step
the later one that achieved it and what had changed in between.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ratchet.failures.diagnostics import masked
from ratchet.lessons.mining.calls import Piece, ToolCall, calls_of
from ratchet.lessons.mining.causes import kept_purpose, unresolved
from ratchet.lessons.mining.findings import WINDOW_CALLS, Ended, ended
from ratchet.lessons.mining.habits import form_of
from ratchet.lessons.mining.remedies import Remedy, Rule, remedy
from ratchet.lessons.mining.similar import retries, stands_in
from ratchet.lessons.mining.tool_remedies import other_field
from ratchet.lessons.mining.triggers import tells
from ratchet.lessons.mining.waste import spent
from ratchet.records import Row

NEAR_CALLS = 6  # another program or place is tried at once, or it was not for this
KEYS = 3  # of a failed step's findings that its lesson answers
_SAID_CHARS = 2_000
_HUNK_LINES, _HUNK_CHARS = 12, 400

Way = Literal["edit", "step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """One failure and what followed. `worked` says whether the remedy did; `worked_id` is the call that achieved what
    failed, or that tried in vain. `keys` are the findings that it failed of (`diagnostics`). By an edit, `forms` are
    the hunk's features; by a step, `form` is the remedy however it was written, and `text` the advice. `wasted_s`
    counts from the end of the failed call to the resolution, once a failed call."""

    id: str
    way: Way
    session: str
    project: str
    agent: str
    failed_id: str
    worked_id: str
    worked: bool
    at: float
    signature: str
    template: str
    kind: str
    tool: str
    head: str
    target: str
    failed_input: str
    keys: tuple[str, ...]
    message: str
    said: str = ""  # the failing output, as far as a remedy's check needs it
    plain: str = ""  # the failed simple command as it is compared
    forms: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    rule: Rule = "unclear"
    text: str = ""
    form: str = ""
    do: str = ""
    reason: str = ""
    tried: int = 0
    failed_s: float = 0.0
    failed_tokens: int = 0
    wasted_s: float = 0.0
    wasted_tokens: int = 0
    turns: int = 0


def resolutions(rows: Iterable[Row]) -> list[Resolution]:
    """The resolutions in the rows of one session, in order of the failures; subagents' threads are mined apart."""
    calls = calls_of(rows)
    return resolved(calls, next((call.project for call in calls if call.project), ""))


def resolved(calls: Sequence[ToolCall], root: str) -> list[Resolution]:
    """The resolutions in the calls of one session that began in the folder `root`, in order of the failures."""
    threads: dict[str, list[ToolCall]] = {}
    for call in calls:
        threads.setdefault(call.thread, []).append(call)
    found: list[Resolution] = []
    for each in threads.values():
        found += mined(each, root)
    found = [_corrected(each, calls) if each.rule == "flag" and each.worked else each for each in found]
    found.sort(key=lambda each: (each.at, each.id))
    return found


def _corrected(each: Resolution, calls: Sequence[ToolCall]) -> Resolution:
    """A remedy by a flag with what the session went on to, in whichever thread."""
    failed, worked = (next(call for call in calls if call.id == name) for name in (each.failed_id, each.worked_id))
    kept = kept_purpose(failed, worked, each.form.rpartition(" ")[2], [call for call in calls if call.at > worked.at])
    return replace(each, text=kept[0], do=kept[1]) if kept is not None and "leave it out" in each.text else each


def mined(calls: Sequence[ToolCall], root: str) -> list[Resolution]:
    """The resolutions in one thread's calls."""
    by_edit = [_by_edit(each) for each in ended(calls) if each.hunk is not None or each.found.placed]
    found: list[Resolution] = []
    covered: set[str] = set()
    for at, call in enumerate(calls):
        if call.failed and call.id not in covered:
            found += _by_step(calls, at, covered, root)
    return [*by_edit, *found]


# -- by an edit -----------------------------------------------------------------------------------------------------


def _by_edit(each: Ended) -> Resolution:
    hunk = each.hunk
    said = each.found
    return _resolution(
        each.failed,
        each.end,
        f"{said.key}\0{said.path}\0{said.line}\0{said.message}\0{each.fixed}",
        way="edit",
        worked=each.fixed,
        keys=(said.key,),
        message=said.message,
        forms=tuple(sorted(each.forms)),
        removed=_short(hunk.removed if hunk is not None else ()),
        added=_short(hunk.added if hunk is not None else ()),
        rule="unclear",
    )


def _short(lines: Sequence[str]) -> tuple[str, ...]:
    """As much of a hunk as an example needs; of a longer one its head, where what it begins with stands."""
    return tuple(line[:_HUNK_CHARS] for line in lines[:_HUNK_LINES])


# -- by a step ------------------------------------------------------------------------------------------------------


def _by_step(calls: Sequence[ToolCall], at: int, covered: set[str], root: str) -> list[Resolution]:
    """Find what resolved the failure at `at`, with the tries before it that failed the same way (they are `covered`:
    their waste is part of this one's)."""
    failed = calls[at]
    said = failed.findings
    keys = tuple(dict.fromkeys([each.key for each in said]))[:KEYS]
    telling = [each.message for each in said if tells(masked(each.message))] or [each.message for each in said]
    message = telling[0] if telling else failed.message.split("\n")[0]
    base = at  # the last call that failed this very way
    vain: list[Resolution] = []
    for later in range(at + 1, min(at + 1 + WINDOW_CALLS, len(calls))):
        call = calls[later]
        if call.excused:
            continue
        same = retries(failed, call)
        other = not same and later - at <= NEAR_CALLS and base == at and _replaced(calls, at, later)
        if not same and not other:
            continue
        match = same or other
        piece = match if isinstance(match, Piece) else None
        still = call.failed and (call.signature == failed.signature or _first_key(call) in keys)
        cure = remedy(calls[base], call, calls[base + 1 : later], piece, stand_in=bool(other), root=root)
        if still:
            covered.add(call.id)
            vain.append(_stepped(failed, call, cure, keys, message, worked=False))
            base = later
            continue
        if call.failed and not (call.shell and keys and keys[0][:2] == "e:"):
            continue  # another failure of the same command: not known to be past this one
        wasted_s, wasted_tokens = spent(calls, at, later)
        found = _stepped(failed, call, cure, keys, message, worked=True)
        return [*vain, _charged(found, wasted_s, wasted_tokens, later - at, _tries(calls, at, later))]
    alone = unresolved(failed, calls[at + 1 : at + 1 + NEAR_CALLS]) or other_field(failed, calls)
    return [*vain, _stepped(failed, failed, alone, keys, message, worked=False)] if alone is not None else vain


def _first_key(call: ToolCall) -> str:
    said = call.findings
    return said[0].key if said else ""


def _tries(calls: Sequence[ToolCall], at: int, end: int) -> int:
    return sum(call.failed for call in calls[at + 1 : end])


def _replaced(calls: Sequence[ToolCall], at: int, later: int) -> Piece | bool:
    """Tell whether the call at `later` did by other means what failed; not so if the same means soon worked after
    all."""
    match = stands_in(calls[at], calls[later])
    again = calls[later + 1 : at + 1 + NEAR_CALLS]
    return match if match and not any(call.ok and retries(calls[at], call) for call in again) else False


def _stepped(
    failed: ToolCall, last: ToolCall, cure: Remedy, keys: tuple[str, ...], message: str, *, worked: bool
) -> Resolution:
    return _resolution(
        failed,
        last,
        "",
        way="step",
        worked=worked,
        keys=keys,
        message=message,
        rule=cure.rule,
        text=cure.text,
        form=cure.form or cure.text,
        do=cure.do,
        reason=cure.reason,
        said=failed.message[:_SAID_CHARS] if cure.text else "",
        plain=form_of(failed.piece) if failed.piece is not None else "",
    )


def _charged(found: Resolution, wasted_s: float, wasted_tokens: int, turns: int, tried: int) -> Resolution:
    return replace(found, wasted_s=wasted_s, wasted_tokens=wasted_tokens, turns=turns, tried=tried)


def _resolution(failed: ToolCall, last: ToolCall, mark: str, **told: object) -> Resolution:
    return Resolution(
        id="r" + hashlib.sha256(f"{failed.id}\0{last.id}\0{mark}".encode("utf-8", "replace")).hexdigest()[:24],
        session=failed.session,
        project=failed.project,
        agent=failed.agent,
        failed_id=failed.id,
        worked_id=last.id,
        at=last.at,
        signature=failed.signature,
        template=failed.template,
        kind=failed.kind,
        tool=failed.tool,
        head=failed.head,
        target=failed.target,
        failed_input=failed.input,
        failed_s=failed.duration_s,
        failed_tokens=failed.tokens,
        **told,  # type: ignore[arg-type]
    )
