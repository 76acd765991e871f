"""Classification of real error wording: how many kinds are right, and how much retry advice is plainly wrong.

    python benchmarks/classification.py [--wrong]

`data/messages.jsonl` holds texts in the wording of model providers, SDKs, MCP servers, shells, tools and frameworks,
with the kind that a person gave each. They shaped the rules, so the share that is right here is an upper bound: of
fresh sets of about 60, each labelled before it was first read, 84 to 97 % were right at first sight where the wording
was a tool's own, and about 70 % where it was a person's paraphrase. rsi-loop 0.1.0's classifier reads the same texts in
the same run; its tags are mapped to kinds generously (a tag that can mean the expected kind counts as right), and a
retry is counted against it only where its tag means one (`rate_limit`, `timeout`).
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, at_least, at_most, cpu_us, publish
from ratchet.failures.kinds.kind import is_retry_safe, kind_of

MESSAGES = Path(__file__).parent / "data" / "messages.jsonl"


@dataclass(frozen=True, slots=True)
class Message:
    text: str
    kind: str
    retry: bool
    status: int | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Score:
    right: int
    unclassified: int
    plainly_wrong: int


def messages() -> list[Message]:
    return [Message(**json.loads(line)) for line in MESSAGES.read_text(encoding="utf-8").splitlines()]


def ours(said: list[Message], *, show: bool) -> Score:
    right = unclassified = wrong = 0
    for message in said:
        kind = kind_of(message.text, status=message.status, exit_code=message.exit_code)
        right += kind == message.kind
        unclassified += kind == "other" != message.kind
        wrong += is_retry_safe(kind) != message.retry and (message.retry is False or message.kind == "rate_limit")
        if show and kind != message.kind:
            print(f"{message.kind:>18} was called {kind:<18} {message.text[:140]!r}")
    return Score(right, unclassified, wrong)


def theirs(said: list[Message]) -> Score | None:
    """rsi-loop's tags; None where it is not installed (`pip install ratchet-ai[bench]`)."""
    try:
        from rsi_loop.types import ERROR_CLASSIFIERS
    except ImportError:
        return None
    means = {
        "rate_limit": {"rate_limit", "quota_exhausted", "overloaded"},
        "timeout": {"timeout"},
        "empty_response": {"empty_response"},
        "context_loss": {"context_overflow", "context_lost"},
        "session_reset": {"context_lost"},
        "model_fallback": {"model_not_found", "overloaded"},
        "tool_error": {"tool_error", "permission", "auth", "network", "tool_arguments", "command_failed"},
        "missing_tool": {"tool_not_found", "resource_missing", "dependency_missing", "model_not_found"},
    }
    retries = {"rate_limit", "timeout"}
    right = unclassified = wrong = 0
    for message in said:
        lowered = message.text.lower()
        tags = [tag for words, tag in ERROR_CLASSIFIERS if any(word in lowered for word in words)]
        first = tags[0] if tags else "other"
        right += message.kind in means.get(first, {first})
        unclassified += not tags and message.kind != "other"
        wrong += first in retries and not message.retry
    return Score(right, unclassified, wrong)


def main() -> int:
    said = messages()
    mine, other = ours(said, show="--wrong" in sys.argv), theirs(said)
    total = len(said)
    beside = f"rsi-loop 0.1.0: {other.right / total:.3f}" if other else "rsi-loop is not installed"
    wrong = f"rsi-loop 0.1.0: {other.plainly_wrong}" if other else ""
    missed = f"rsi-loop 0.1.0: {other.unclassified}" if other else ""
    cost = cpu_us(lambda: [kind_of(message.text) for message in said], 1) / total
    lowering = cpu_us(lambda: [message.text.lower().split() for message in said], 1) / total
    return publish(
        "classification",
        [
            Figure(name="messages", measured=str(total), goal=">= 150", holds=total >= 150),
            at_least("kinds right, of all", mine.right / total, 0.95, baseline=beside),
            at_most("plainly wrong retry advice", mine.plainly_wrong, 0, unit="messages", baseline=wrong),
            Figure(name="left unclassified", measured=str(mine.unclassified), baseline=missed),
            Figure(
                name="CPU a message",
                measured=f"{cost:.1f} us",
                baseline=f"{cost / lowering:.0f} x text.lower().split() ({lowering:.2f} us)",
            ),
        ],
    )


if __name__ == "__main__":
    main()
