"""Further metrics of each run that must not get worse while the score gets better. Pure.

Repeats of which no two differ tell nothing of chance, and so does a single run: what such a guard says is not known,
neither that it got worse nor that it did not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import log
from typing import Literal

from ratchet.gate.bets import real
from ratchet.gate.normal import Contrast, Running, Spread, contrast, log_evidence, most_evidence

_HARM = 0.05  # level at which a guard counts as proven worse


class Guards:
    """The guards of a gate, by name, each with whether lower is better, and what is known of their noise."""

    def __init__(self, lower: Mapping[str, bool]) -> None:
        self._signs = {name: -1.0 if is_lower else 1.0 for name, is_lower in lower.items()}
        self._spreads = dict.fromkeys(self._signs, Spread())

    def add(self, held: dict[str, Running], said: Mapping[str, float] | None) -> None:
        """Count what a run says of them."""
        for name, sign in self._signs.items():
            if said is not None and name in said:
                held.setdefault(name, Running()).add(sign * real(name, said[name]))

    def rest(self, held: Mapping[str, Running], sign: Literal[1, -1]) -> None:
        """Keep of a version that will run no more what it tells of the noise; with -1 no longer."""
        for name, runs in held.items():
            self._spreads[name] = self._spreads[name].with_runs(runs, sign)

    def worse(self, new: Mapping[str, Running], old: Mapping[str, Running]) -> str:
        """Name the first guard in which the new version is proven worse; "" where there is none."""
        asked = -log(_HARM)
        for name in self._signs:
            found = self._found(name, new, old)
            if found is not None and found.squares:
                harm = replace(found, gain=-found.gain)
                if most_evidence(harm) >= asked and log_evidence(harm) >= asked:
                    return name
        return ""

    def doubtful(self, new: Mapping[str, Running], old: Mapping[str, Running]) -> str:
        """Say of the first guard that stands worse, or was not measured, that nothing is known of it; "" where there is
        none."""
        for name in self._signs:
            found = self._found(name, new, old)
            if found is None:
                return f"{name} was not measured in runs of both: whether it got worse is not known"
            if not found.squares and found.gain < 0:
                sign = self._signs[name]
                means = f"{sign * new[name].mean:g} beside {sign * old[name].mean:g}"
                return f"{name} is {means}, and no run differs from its repeat: whether that is chance is not known"
        return ""

    def _found(self, name: str, new: Mapping[str, Running], old: Mapping[str, Running]) -> Contrast | None:
        ours, others = new.get(name), old.get(name)
        return contrast(ours, others, self._spreads[name]) if ours and others else None
