"""Finds what fixed what failed in one session: after a failed step, the later step that achieved it, and what had
changed in between.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ratchet.lessons.mining.calls import Call, Piece, calls_of
from ratchet.lessons.mining.remedies import Remedy, Rule, remedy
from ratchet.lessons.mining.similar import moved, retries, stands_in
from ratchet.records import Row

WINDOW_CALLS = 40  # later is another matter: in the real histories the farthest true one came 35 calls on
NEAR_CALLS = 6  # another program or place is tried at once, or it was not for this
AWAY_S = 600.0  # a longer pause between two calls is a person away, not time that the failure cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """One failure and what followed. `worked` says whether the remedy did; `worked_id` is the call that achieved what
    failed, or that tried in vain. `wasted_s` counts from the end of the failed call to the resolution."""

    id: str
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
    rule: Rule
    text: str
    form: str
    do: str
    reusable: bool
    reason: str
    avoid: tuple[str, ...]  # what was tried in vain before it worked
    tried: int
    failed_s: float
    failed_tokens: int
    wasted_s: float
    wasted_tokens: int


def resolutions(rows: Iterable[Row]) -> list[Resolution]:
    """The resolutions in the rows of one session, in order of the failures; subagents' threads are mined apart."""
    threads: dict[str, list[Call]] = {}
    for call in calls_of(rows):
        threads.setdefault(call.thread, []).append(call)
    found: list[Resolution] = []
    for calls in threads.values():
        covered: set[str] = set()
        for at, call in enumerate(calls):
            if call.failed and call.id not in covered:
                found += _resolved(calls, at, covered)
    found.sort(key=lambda each: (each.at, each.id))
    return found


def _resolved(calls: Sequence[Call], at: int, covered: set[str]) -> list[Resolution]:
    """What resolved the failure at `at`, with the tries before it that failed the same way (they are `covered`: their
    waste is part of this one's)."""
    failed = calls[at]
    base = at  # the last call that failed this very way
    step: tuple[int, Piece | None] | None = None  # the first one that did not
    vain: list[Resolution] = []
    avoid: list[str] = []
    for later in range(at + 1, min(at + 1 + WINDOW_CALLS, len(calls))):
        call = calls[later]
        if call.excused:
            continue
        near = later - at <= NEAR_CALLS
        same = retries(failed, call) or (near and call.ok and moved(failed, call))
        other = not same and near and step is None and base == at and _replaced(calls, at, later)
        if not same and not other:
            continue
        match = same or other
        piece = match if isinstance(match, Piece) else None
        if call.ok:
            at_step, its_piece = step or (later, piece)
            cure = remedy(calls[base], calls[at_step], calls[base + 1 : at_step], its_piece, stand_in=bool(other))
            if cure.reason == "" and at_step != later:
                cure = _judged_by_end(cure, calls[base], calls[later])
            found = _resolution(calls, at, later, cure, avoid, worked=True)
            return [*vain, found, *_rest(calls, at, later, piece)]
        if call.signature == failed.signature and step is None:
            tried = remedy(calls[base], call, calls[base + 1 : later], piece)
            covered.add(call.id)
            if tried.text and not tried.reason:
                avoid.append(tried.text)
            vain.append(_resolution(calls, at, later, tried, (), worked=False))
            base = later
        elif step is None:
            step = (later, piece)
    return vain


def _replaced(calls: Sequence[Call], at: int, later: int) -> Piece | bool:
    """Whether the call at `later` did by other means what failed; not so if the same means soon worked after all."""
    match = stands_in(calls[at], calls[later])
    again = calls[later + 1 : at + 1 + NEAR_CALLS]
    return match if match and not any(call.ok and retries(calls[at], call) for call in again) else False


def _rest(calls: Sequence[Call], at: int, partly: int, piece: Piece | None) -> list[Resolution]:
    """What a success that left operands out did not achieve, and a later call did on those alone."""
    failed = calls[at]
    if piece is None or failed.piece is None:
        return []
    left = set(failed.piece.operands).difference(piece.operands)
    if not left or set(piece.operands).difference(failed.piece.operands):
        return []
    for later in range(partly + 1, min(partly + 1 + NEAR_CALLS, len(calls))):
        for each in calls[later].pieces if calls[later].ok else ():
            if each.head == piece.head and each.operands and left.issuperset(each.operands):
                cure = remedy(failed, calls[later], (), each)
                return [_resolution(calls, at, later, cure, (), worked=True, since=partly)]
    return []


def _judged_by_end(cure: Remedy, failed: Call, end: Call) -> Remedy:
    """A remedy that only led on is no better than the end it led to: one that switches a check off taints it."""
    if not (failed.shell and end.shell):
        return cure
    final = remedy(failed, end, (), end.piece)
    return final if final.reason else cure


def _resolution(
    calls: Sequence[Call],
    at: int,
    end: int,
    cure: Remedy,
    avoid: Sequence[str],
    *,
    worked: bool,
    since: int | None = None,
) -> Resolution:
    """`since`: the call after which waste counts, when what came before is counted already (default: the failure)."""
    failed, last = calls[at], calls[end]
    start = at if since is None else since
    spent = calls[start + 1 : end + 1] if worked else ()
    wasted_s = 0.0
    previous = calls[start]
    for call in spent:
        wasted_s += min(AWAY_S, max(0.0, call.at - previous.ended))
        wasted_s += call.duration_s if call is not last else 0.0
        previous = call
    return Resolution(
        id="r" + hashlib.sha256(f"{failed.id}\0{last.id}".encode()).hexdigest()[:24],
        session=failed.session,
        project=failed.project,
        agent=failed.agent,
        failed_id=failed.id,
        worked_id=last.id,
        worked=worked,
        at=last.at,
        signature=failed.signature,
        template=failed.template,
        kind=failed.kind,
        tool=failed.tool,
        head=failed.head,
        target=failed.target,
        failed_input=failed.input,
        rule=cure.rule,
        text=cure.text,
        form=cure.form or cure.text,
        do=cure.do,
        reusable=cure.reusable,
        reason=cure.reason,
        avoid=tuple(dict.fromkeys(avoid)),
        tried=sum(call.failed for call in calls[at + 1 : end]),
        failed_s=failed.duration_s,
        failed_tokens=failed.tokens,
        wasted_s=wasted_s,
        wasted_tokens=sum(call.tokens for call in spent),
    )
