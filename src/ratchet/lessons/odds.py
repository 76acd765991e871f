"""Odds that a step fails in a project, from counts of what really ran there.

The rate of its tool and command, drawn towards the mean of the project's commands where few runs are known, and for
each circumstance (`mining.circumstances`) what failed under it beyond what all else lets expect, in log odds, drawn
towards nothing. Circumstances are fitted in turns (as in iterative proportional fitting, Deming and Stephan 1940), so
that two which come together are not counted twice. Nothing is shipped: a project that knows nothing has no odds.
Measured by `benchmarks/predict.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log

from ratchet.lessons.mining.circumstances import NEW, UNKNOWN
from ratchet.ports import Store
from ratchet.records import number_in, text_in, whole_in

SESSIONS, STEPS = 3, 50
"""Sessions and steps of a project below which nothing is said: one day's mood is no rate."""
_DRAWN = 4.0  # runs and failures that a rate and a factor are drawn by; 1 to 4 are alike, 8 loses .02 of AUC
_TURNS = 3  # of fitting; the fourth changes no digit that is shown
_TOLD = log(1.25)  # factors nearer to 1 are no reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Steps of one tool and command under the same circumstances: how many ran, how many of them failed."""

    tool: str
    head: str
    around: tuple[str, ...]
    runs: int
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstance:
    """One circumstance of a step, and how often steps failed under it, beside how often all else lets expect."""

    name: str
    runs: int
    failures: int
    expected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """The odds that a step fails. `runs` and `failures` are those of its tool and command here; `mean` is the rate of a
    command of this tool that nothing is known of, over `heads` commands."""

    probability: float
    runs: int
    failures: int
    mean: float
    heads: int
    reasons: tuple[Circumstance, ...]


class Odds:
    """The odds of one project's steps. `files` are those that some session opened."""

    def __init__(self, counted: Iterable[Counted], *, sessions: int, files: frozenset[str] = frozenset()) -> None:
        self.files = files
        self._cells = [cell for cell in counted if cell.runs]
        self._heads: dict[tuple[str, str], tuple[int, int]] = {}
        for cell in self._cells:
            runs, failures = self._heads.get((cell.tool, cell.head), (0, 0))
            self._heads[cell.tool, cell.head] = runs + cell.runs, failures + cell.failures
        self.sessions, self.steps = sessions, sum(runs for runs, _ in self._heads.values())
        self._base = (sum(failures for _, failures in self._heads.values()) + 1) / (self.steps + 20)
        self._means = self._mean_rates()
        self._factors: dict[str, float] = {}
        self._seen: dict[str, Circumstance] = {}
        self._fit()

    @property
    def known(self) -> bool:
        """Tell whether enough ran in the project to say anything."""
        return self.sessions >= SESSIONS and self.steps >= STEPS

    def chance(self, tool: str, head: str, around: Iterable[str]) -> Chance | None:
        """Tell how likely a step fails; None where too little ran in the project to say."""
        if not self.known:
            return None
        around = tuple(around)
        runs, failures = self._heads.get((tool, head), (0, 0))
        mean, heads = self._means.get(tool, (self._base, 0))
        telling = [each for each in around if abs(self._factors.get(each, 0.0)) >= _TOLD]
        telling.sort(key=lambda each: -abs(self._factors[each]))
        return Chance(
            probability=_probability(self._logit(tool, head, around)),
            runs=runs,
            failures=failures,
            mean=mean,
            heads=heads,
            reasons=tuple(self._seen[each] for each in telling),
        )

    def _mean_rates(self) -> dict[str, tuple[float, int]]:
        """Tool -> the mean rate of its commands, each counting once, and how many they are: what a command that never
        ran here may be expected to do."""
        rates: dict[str, list[float]] = defaultdict(list)
        for (tool, _), (runs, failures) in self._heads.items():
            rates[tool].append(_drawn(failures, runs, self._base))
        return {tool: (_drawn(sum(held), len(held), self._base), len(held)) for tool, held in rates.items()}

    def _logit(self, tool: str, head: str, around: Sequence[str], without: str = "") -> float:
        runs, failures = self._heads.get((tool, head), (0, 0))
        rate = _drawn(failures, runs, self._means.get(tool, (self._base, 0))[0])
        factors = self._factors
        return _logit(rate) + sum(factors.get(each, 0.0) for each in around if each != without)

    def _fit(self) -> None:
        by_name: dict[str, dict[str, list[Counted]]] = {}
        for cell in self._cells:
            for each in cell.around:
                by_name.setdefault(each.partition(":")[0], {}).setdefault(each, []).append(cell)
        for _ in range(_TURNS):
            for name in sorted(by_name):
                self._factors |= {each: self._factor(each, cells) for each, cells in by_name[name].items()}

    def _factor(self, circumstance: str, cells: Sequence[Counted]) -> float:
        failures = sum(cell.failures for cell in cells)
        expected = sum(
            cell.runs * _probability(self._logit(cell.tool, cell.head, cell.around, circumstance)) for cell in cells
        )
        runs = sum(cell.runs for cell in cells)
        self._seen[circumstance] = Circumstance(
            name=circumstance, runs=runs, failures=failures, expected=round(expected, 1)
        )
        usual = expected / runs
        seen = (failures + _DRAWN) / (runs + _DRAWN / usual)
        return _logit(seen) - _logit(usual)


def _drawn(failures: float, runs: int, rate: float) -> float:
    return (failures + _DRAWN * rate) / (runs + _DRAWN)


def _logit(rate: float) -> float:
    return log(rate / (1 - rate))


def _probability(logit: float) -> float:
    return 1 / (1 + exp(-logit))


def odds_of(store: Store, project: str) -> Odds:
    """Fit the odds of a project, by its name, to the facts that its sessions left. The same whatever the order in which
    they were read. Raises StoreError."""
    by = ("tool", "head", "file", "around", "session")
    rows = store.sum_by(
        "facts", by, ("calls", "failures", "excused", "min:min_at"), {"project": project, "around": ("!=", "")}
    )
    first: dict[str, tuple[float, str]] = {}
    for row in rows:
        file, ok = text_in(row, "file"), whole_in(row, "calls") - whole_in(row, "failures") - whole_in(row, "excused")
        if file and ok > 0:
            at = (number_in(row, "min:min_at"), text_in(row, "session"))
            first[file] = min(first.get(file, at), at)
    counts: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in sorted(rows, key=lambda row: tuple(text_in(row, name) for name in by)):
        around, session = text_in(row, "around"), text_in(row, "session")
        opened_at, opened_by = first.get(text_in(row, "file"), (number_in(row, "min:min_at"), session))
        if opened_by == session or opened_at >= number_in(row, "min:min_at"):
            around = around.replace(NEW, UNKNOWN)
        count = counts[text_in(row, "tool"), text_in(row, "head"), around]
        count[0] += whole_in(row, "calls") - whole_in(row, "excused")
        count[1] += whole_in(row, "failures")
    cells = [
        Counted(tool=tool, head=head, around=tuple(around.split()), runs=runs, failures=failures)
        for (tool, head, around), (runs, failures) in counts.items()
    ]
    return Odds(cells, sessions=len({row["session"] for row in rows}), files=frozenset(first))
