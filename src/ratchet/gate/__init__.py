"""The gate: whether what was measured proves a change better or worse. Pure: no I/O, no clock, no chance.

Every test is a bet against a null hypothesis: under the null its e-value reaches 1/alpha with probability at most
alpha, ever (Ville's inequality), so it may be looked at after every unit. Reading it changes nothing. Sources: Ramdas,
Grunwald, Vovk, Shafer, "Game-theoretic statistics and safe anytime-valid inference" (2023); Waudby-Smith and Ramdas,
JRSS-B 2024; Turner, Ly, Grunwald, arXiv 2106.02693; Xu and Ramdas 2024 for e-LOND.

Tests of two arms are fed in the order in which units started, never in the order in which they ended: an arm that fails
fast would else be heard first.
"""

from __future__ import annotations

from ratchet.gate.arms import CanaryTest, PromoteTest
from ratchet.gate.bets import Counts
from ratchet.gate.paired import EvidenceLedger, PairedGate
from ratchet.gate.rank import RankBet
from ratchet.gate.scores import ScoreAnswer, ScoreGate

__all__ = [
    "CanaryTest",
    "Counts",
    "EvidenceLedger",
    "PairedGate",
    "PromoteTest",
    "RankBet",
    "ScoreAnswer",
    "ScoreGate",
]
