"""When an episode stops. Pure: attempts in, a reason out."""

from __future__ import annotations

from collections.abc import Sequence

from ratchet.healing.episode import Attempt, Budget, EpisodeStatus

Stop = tuple[EpisodeStatus, str]


def why_stop(attempts: Sequence[Attempt], budget: Budget, *, spent: str = "", cancelled: str = "") -> Stop | None:
    """Status and reason with which an episode ends now; None: go on.

    `attempts` are the finished ones in order, `spent` says what of the budget is used up ("" for nothing), `cancelled`
    how a cancelled one goes on ("" for one that nobody cancelled).
    """
    last = attempts[-1] if attempts else None
    if last is not None and last.status == "passed":
        return "passed", ""
    if cancelled:
        return "cancelled", cancelled
    if spent:
        return "budget", spent
    if last is not None and last.status == "gave_up":
        return "no_progress", last.reason or f"{last.solver} has nothing more to try"
    if last is not None and last.status == "refused" and not last.state:
        return "refused", last.reason
    if opened(attempts, budget.breaker):
        return "breaker", f"{budget.breaker} attempts ended with the same failure and the same files"
    if len(attempts) >= budget.attempts:
        tried = len(attempts)
        return "failed", f"{tried} attempts did not pass" if tried > 1 else "the one attempt did not pass"
    return None


def opened(attempts: Sequence[Attempt], limit: int) -> bool:
    """Tell whether the last `limit` attempts have one signature and brought the files to no state that is new.

    Signatures are compared, never messages: a process number or a time in the message changes nothing.
    """
    window = attempts[-limit:]
    if len(window) < limit or len({each.signature for each in window}) > 1:
        return False
    earlier = {each.state for each in attempts[:-limit]}
    states = {each.state for each in window}
    return len(states) == 1 or states <= earlier


def streak(attempts: Sequence[Attempt]) -> int:
    """Count the attempts in a row that led nowhere new, the last one included: `opened` holds for that many."""
    return next((n for n in range(len(attempts), 1, -1) if opened(attempts, n)), min(len(attempts), 1))
