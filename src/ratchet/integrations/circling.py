"""Tells an agent that it goes round in a circle, in the turn that closes it. Lean: hook processes import this."""

from __future__ import annotations

from ratchet.failures.circles import Circle, RecentCall, circle
from ratchet.failures.tool_call import safe
from ratchet.lessons import lookup, told
from ratchet.lessons.fence import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ratchet.integrations.clients.client import ClientEvent

_SHOWN_CHARS, _ASKED_CHARS = 160, 4000


def told_of(
    home: str, event: ClientEvent, before: Sequence[RecentCall | None], session: str, failed: Sequence[bool]
) -> str:
    """The sentence about the circle that one of the event's calls closes; "" where none does, or where the session was
    told of it. `before` are the calls before the event's, `failed` says of each of those whether it failed.

    Raises sqlite3.Error, OSError."""
    calls = list(before)
    turn = max((each.turn for each in calls if each is not None), default=0) + 1
    for call, has_failed in zip(event.calls, failed, strict=True):
        calls.append(RecentCall(call.tool, call.input, call.said, failed=has_failed, turn=turn))
        found = circle(calls)
        if found is not None and told.claimed(home, session, f"circle {event.thread} {found.key}"):
            return sentence(found, elsewhere(home, found, event.project))
    return ""


def elsewhere(home: str, found: Circle, project: str) -> str:
    """A command of the same head that worked in other sessions of the project; "" where none is known."""
    if not found.call.failed or not found.call.head:
        return ""
    forms = [form for form in lookup.working_forms(home, found.call.head, project) if form != found.call.input]
    return harmless(forms[0], _SHOWN_CHARS) if forms else ""


def sentence(found: Circle, worked: str) -> str:
    """Say what was repeated, how often, and what worked elsewhere: facts, and no order."""
    asked = harmless(safe(found.call.input, _ASKED_CHARS), _SHOWN_CHARS)
    shown = f": `{asked}`" if asked else ""
    if not found.call.failed:
        return (
            f"Ratchet: this call has brought the same answer {found.times} times, with nothing changed in between"
            f"{shown}. Asked again it will say the same."
        )
    how = "" if found.wordings == 1 else f", worded in {found.wordings} ways"
    said = f"Ratchet: the same failure for the {found.times}th time{how}{shown}. ".replace(" 3th ", " 3rd ")
    said += "What was tried does not touch its cause; the same once more will fail the same."
    return f"{said} In other sessions of this project this worked: `{worked}`." if worked else said
