"""Which lines are suspect: Ochiai's coefficient over the lines that failing and passing tests run.

Abreu, Zoeteweij, van Gemund, "An Evaluation of Similarity Coefficients for Software Fault Localization", PRDC 2006.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

Place = tuple[str, int]

_CRASH = 1.5  # the line where an exception arose, beside others of the same coefficient


def suspicion(
    lines: Mapping[str, Collection[Place]], failing: Collection[str], crashes: Iterable[Place] = ()
) -> dict[Place, float]:
    """Place -> suspicion above 0. `lines` by test; those of "" run at import, so for every test."""
    failed: dict[Place, int] = {}
    passed: dict[Place, int] = {}
    always = set(lines.get("", ()))
    for name in {*lines, *failing} - {""}:
        count = failed if name in failing else passed
        for place in {*lines.get(name, ()), *always}:
            count[place] = count.get(place, 0) + 1
    found = {}
    for place, bad in failed.items():
        found[place] = bad / (len(set(failing)) * (bad + passed.get(place, 0))) ** 0.5
    for place in set(crashes):
        if place in found:
            found[place] *= _CRASH
    return found
