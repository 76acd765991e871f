"""The context that a worker is handed beside its work. Lean: a worker's own process imports this."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ratchet.records import Json


MOST_USED = 1_000_000_000_000_000
"""Of tokens, or of USD, by one attempt: below it every whole number is exact as a float."""


class Handed:
    """Context of one attempt at a task.

    `key` is the same for every attempt at the task, in this process and after a crash: hand it to a provider that
    knows idempotency keys. `results` holds what the needed tasks brought, `mail` the letters to this worker or task
    ({"sender", "body"}), oldest first, `last` why the attempt before failed and `known` what Ratchet knows to help
    against that, fenced for a model; both are "" at the first attempt.
    """

    __slots__ = ("_spend", "_write", "attempt", "key", "known", "last", "mail", "results", "task")

    def __init__(
        self,
        told: Mapping[str, Json],
        *,
        write: Callable[[str, Json], None],
        spend: Callable[[float, int], None],
    ) -> None:
        results, mail, attempt = told.get("results"), told.get("mail"), told.get("attempt")
        self.task = str(told.get("task", ""))
        self.key = str(told.get("key", ""))
        self.attempt = attempt if isinstance(attempt, int) else 1
        self.results: Mapping[str, Json] = results if isinstance(results, dict) else {}
        self.mail: Sequence[Json] = mail if isinstance(mail, list) else []
        self.last = str(told.get("last", ""))
        self.known = str(told.get("known", ""))
        self._write, self._spend = write, spend

    def send(self, to: str, body: Json) -> None:
        """Write to a worker or a task of the same run; it is delivered with the next attempt that starts there. Raises
        UsageError for what is no JSON."""
        import json

        try:
            json.dumps(body, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            from ratchet.errors import UsageError

            raise UsageError(f"a letter to {to!r:.80} is not JSON ({error}): send texts and numbers") from None
        self._write(to, body)

    def spend(self, *, cost_usd: float = 0.0, tokens: int = 0) -> None:
        """Count what this attempt has used, as often as it uses something. Raises UsageError for what is no amount."""
        need_amount("cost_usd", cost_usd)
        need_amount("tokens", tokens)
        self._spend(cost_usd, tokens)


def need_amount(name: str, amount: object) -> None:
    """Raise UsageError for what nobody can have used: NaN and everything below 0 would switch a budget off."""
    if not isinstance(amount, int | float) or isinstance(amount, bool) or not 0 <= amount <= MOST_USED:
        from ratchet.errors import UsageError

        raise UsageError(f"{name} is {amount!r:.40}: give what was used, a number from 0 to {MOST_USED:,}")


def takes_context(function: object) -> bool:
    """Tell whether a function wants the context behind its work: it has a second parameter that must be given."""
    import inspect

    try:
        given = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):  # built in, without a signature
        return False
    places = (each for each in given if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD))
    return sum(each.default is each.empty for each in places) > 1
