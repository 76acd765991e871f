"""What a unit costs the gate, and the fixed rule: CPU a unit after a long history, and what has to be kept."""

from __future__ import annotations

import json
import tempfile
import time
from datetime import datetime
from pathlib import Path
from random import Random

from figures import Figure
from guard_worlds import ramp_share
from ratchet.gate.arms import CanaryTest, RankBet

HISTORY = 100_000
TIMED = 20_000
PEER_HISTORY = 5_000


def cost_of_a_unit() -> list[Figure]:
    """CPU and state, the least disturbed of several stretches."""
    test, bet = _seen()
    flips = [(chance_arm, chance_ok) for chance_arm, chance_ok in _flips(TIMED)]
    canary_us = min(_canary_us(test, flips) for _ in range(5))
    bet_us = min(_bet_us(bet, flips) for _ in range(5))
    integers = 4 * len(test.counts)
    return [
        Figure(
            name="state of a metric: canary on the ramp, rank bet",
            measured=f"{integers} integers, 1 integer + {len(bet.state) - 1} floats",
            goal="<= 16 integers + 8 floats",
            baseline="self-improving-loop: the whole log",
            holds=integers <= 16 and len(bet.state) - 1 <= 8,
        ),
        Figure(
            name=f"CPU a unit at {HISTORY:,} units: canary, rank bet",
            measured=f"{canary_us:.2f} us, {bet_us:.2f} us",
            goal="<= 10 us",
            baseline=_peer(),
            holds=max(canary_us, bet_us) <= 10,
        ),
    ]


def _flips(count: int) -> list[tuple[bool, bool]]:
    chance = Random("cost")
    return [(chance.random() < 0.5, chance.random() < 0.9) for _ in range(count)]


def _seen() -> tuple[CanaryTest, RankBet]:
    """Tests that have seen a long history, with the ramp's three shares."""
    test, bet = CanaryTest(share=ramp_share(0), before=(90, 100)), RankBet(share=0.5, margin=1.1)
    for i, (new_arm, ok) in enumerate(_flips(HISTORY)):
        test.stage(ramp_share(i)) if i in (40, 100) else None
        test.update(new_arm=new_arm, ok=ok)
        bet.update(new_arm=new_arm, value=1.0 + 0.1 * (i % 7))
    return test, bet


def _canary_us(test: CanaryTest, flips: list[tuple[bool, bool]]) -> float:
    started = time.process_time_ns()
    for new_arm, ok in flips:
        test.update(new_arm=new_arm, ok=ok)
        _ = test.decision
    return (time.process_time_ns() - started) / len(flips) / 1000


def _bet_us(bet: RankBet, flips: list[tuple[bool, bool]]) -> float:
    started = time.process_time_ns()
    for new_arm, ok in flips:
        bet.update(new_arm=new_arm, value=1.0 if ok else 1.5)
        _ = bet.decision
    return (time.process_time_ns() - started) / len(flips) / 1000


def _peer() -> str:
    """One check of self-improving-loop after 5,000 calls, where it is installed."""
    try:
        from self_improving_loop import SelfImprovingLoop
    except ImportError:
        return "self-improving-loop is not installed"
    now = datetime.now().isoformat()  # noqa: DTZ005  (what the package writes)
    with tempfile.TemporaryDirectory() as folder:
        line = {"agent_id": "agent", "success": True, "duration_sec": 1.0, "timestamp": now, "task": "t"}
        Path(folder, "traces.jsonl").write_text((json.dumps(line) + "\n") * PEER_HISTORY)
        loop = SelfImprovingLoop(data_dir=folder)
        before = {"success_rate": 1.0, "avg_duration_sec": 1.0}
        loop.state["backups"] = {"agent": {"improvement_id": "i", "improved_at": now, "before_metrics": before}}
        started = time.process_time()
        loop.check_and_rollback("agent")
        return f"self-improving-loop at {PEER_HISTORY:,}: {1000 * (time.process_time() - started):.0f} ms"
