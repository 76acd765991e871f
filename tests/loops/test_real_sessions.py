"""Real histories: sessions have the counts, tokens and money that a few independent lines count in the raw files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ratchet.runtime import Runtime

SESSIONS = (
    "4d5611e5-241a-462a-8d15-5122611a9569",
    "ae4a77f8-aedd-4bc1-888f-c94edc91af04",
    "258c7280-ae70-4798-800f-63464d01a85d",
)
USD_PER_MILLION = {  # given, stored in a cache, read from one, made: Anthropic's list of February 2026
    "claude-opus-4-6": (5, 6.25, 0.5, 25),
    "claude-sonnet-4-5-20250929": (3, 3.75, 0.3, 15),
    "claude-haiku-4-5-20251001": (1, 1.25, 0.1, 5),
}
CLASSES = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def counted(session: str, folder: Path) -> tuple[int, int, float]:
    """(tool results, tokens, USD) of a session, straight from its files: each answer and each result once."""
    results: set[str] = set()
    answers: dict[str, tuple[str, list[int], int]] = {}
    for path in [folder / f"{session}.jsonl", *sorted((folder / session).rglob("*.jsonl"))]:
        for line in path.read_text().split("\n"):
            record = json.loads(line) if line.strip() else {}
            if record.get("type") == "progress":
                record = record["data"].get("message") or {}
            message = record.get("message") or {}
            for block in message.get("content", ()):
                if isinstance(block, dict) and block.get("type") == "tool_result":
                    results.add(block["tool_use_id"])
            usage = message.get("usage")
            if usage and message["model"] != "<synthetic>":
                used = [usage.get(name, 0) for name in CLASSES]
                hour = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens", 0)
                if sum(used) > sum(answers.get(message["id"], ("", [0], 0))[1]):
                    answers[message["id"]] = (message["model"], used, hour)
    usd = 0.0
    for model, used, hour in answers.values():
        prices = USD_PER_MILLION[model]
        usd += sum(tokens * price for tokens, price in zip(used, prices, strict=True)) / 1e6
        usd += hour * (2 * prices[0] - prices[1]) / 1e6  # what is kept for an hour costs twice what is given
    return len(results), sum(sum(used) for _, used, _ in answers.values()), usd


@pytest.mark.parametrize("session", SESSIONS)
def test_a_real_sessions_counts_tokens_and_costs_are_those_of_its_files(
    session: str, shared: Path, tmp_path: Path
) -> None:
    pytest.importorskip("genai_prices")
    folder = shared / "data" / "claude-code"
    with Runtime.open(home=tmp_path / "home") as runtime:
        runtime.learn([folder])
        found = runtime.sessions.show(session).summary
        steps = [each for each in runtime.sessions.outcomes(session=session, limit=1_000).items if each.step]
        shown = runtime.sessions.show(session, limit=1_000).steps
    results, tokens, usd = counted(session, folder)
    assert len(steps) == results
    assert found.tokens.total == tokens
    assert found.cost_usd == pytest.approx(usd, rel=1e-6)
    assert {each.place for each in shown if each.outcome.step} == {"read"}
