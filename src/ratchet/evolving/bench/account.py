"""Read an agent's own account of its run: money, tokens, and whether its provider let it down. Data, checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ratchet.arguments import finite
from ratchet.errors import NotFound, Refused
from ratchet.ports import Workspace

USAGE_FILE = "usage.json"
TEMPORARY_FAILURE = 75
"""EX_TEMPFAIL of sysexits.h: "a temporary failure; the user is invited to try again later"."""
_USAGE_BYTES = 65_536
_MOST_USD = 100_000.0
_MOST_TOKENS = 10**12
_SAID = 300
_COST_NAMES = ("cost_usd", "total_cost_usd")
_TOKEN_PARTS = ("input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Cost of one run by the agent's own word. `complaint` names what of it was not believed."""

    cost_usd: float = 0.0
    tokens: int = 0
    infrastructure: str = ""
    """Why the agent could not work through no fault of its own, such as its provider's answer."""
    complaint: str = ""


def read_account(workspace: Workspace, laid: Mapping[str, str]) -> Account:
    """The account in `usage.json`; an empty one where the agent left none, or the task laid such a file itself."""
    if USAGE_FILE in laid:
        return Account()
    try:
        text = workspace.read(USAGE_FILE, limit_bytes=_USAGE_BYTES)
    except NotFound:
        return Account()
    except (Refused, OSError) as error:
        return Account(complaint=f"{USAGE_FILE} is not believed: {error}")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return Account(complaint=f"{USAGE_FILE} is not believed: not JSON")
    return account_of(said, USAGE_FILE)


def account_of(said: object, where: str) -> Account:
    """The account that a decoded answer holds. Amounts that no run can have (negative, NaN, beyond all measure) are
    taken as 0, and named."""
    if not isinstance(said, dict):
        return Account(complaint=f"{where} is not believed: not a JSON object")
    wrong: list[str] = []
    cost = _amount(said, _COST_NAMES, _MOST_USD, wrong)
    tokens = _amount(said, ("tokens", "total_tokens"), float(_MOST_TOKENS), wrong)
    if "tokens" not in said and "total_tokens" not in said:
        tokens = sum(_amount(said, (name,), float(_MOST_TOKENS), wrong) for name in _TOKEN_PARTS)
    told = said.get("infrastructure")
    return Account(
        cost_usd=cost,
        tokens=int(tokens),
        infrastructure=" ".join(told.split())[:_SAID] if isinstance(told, str) else "",
        complaint=f"{where} is not believed: {', '.join(wrong)}" if wrong else "",
    )


def _amount(said: Mapping[str, object], names: tuple[str, ...], most: float, wrong: list[str]) -> float:
    for name in names:
        value = said.get(name)
        if value is None:
            continue
        amount = finite(value)
        if amount is not None and 0 <= amount <= most:
            return amount
        wrong.append(f"{name} is {str(value)[:40]}")
    return 0.0


Result = Literal["passed", "partly", "failed"]


def result_of(score: float) -> Result:
    """The word for a score in [0, 1]."""
    return "passed" if score >= 1.0 else "partly" if score > 0.0 else "failed"
