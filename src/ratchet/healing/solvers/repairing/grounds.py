"""Weigh what speaks for a patch that passes the tests, and tell whether that is enough to call it sure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Code that is gone, elsewhere or turned round passes weak tests oftener than it is right (Qi, Long, Achour, Rinard, "An
# Analysis of Patch Plausibility and Correctness for Generate-and-Validate Patch Generation Systems", ISSTA 2015).
# So does a signature turned round: every other caller would have to be wrong, too.
DOUBTFUL = frozenset({"deletion", "reduction", "motion", "negation", "replacement", "returned", "parameter_swap"})
# A further case is for what is out of the ordinary: what healthy tests call the program with, and most of what is near
# that, is to be answered as before. So is most of all, where few tests can tell.
CASES = frozenset({"guard", "nothing", "typed", "lenient", "expected", "extension", "extreme", "relation", "guarding",
                   "leaving", "setting"})  # fmt: skip
APART = CASES.union(DOUBTFUL, ("constant", "initial"))
_WHOLE = frozenset({"rewriting", "guarding"})  # of a patch that no search made: its lines are one thought
_TURNED = 0.2  # of the inputs near those of healthy tests, which a further case may answer otherwise
_KEPT = 0.9
# Tests that must be able to tell: more of them where the patch changes more than the answers that they complain of.
_SEVERAL, _FEW_TESTS, _FEW_OF_MANY = 2, 3, 5
FEW_INPUTS = 20
# Other forms of the changed lines that pass, too: of right patches of real bugs 0 to 17 in 100 did, mostly 0 to 4; of
# wrong ones that had passed 11 to 36 (`benchmarks/realbugs.py`, `benchmarks/quixbugs.py`).
_FEW_FORMS, _PINNED, _LOOSE = 20, 0.05, 0.2
_SHARE = 0.9  # of the weight of all patches that pass, which the opinion of a sure one has
_SPLIT = 0.05  # of that weight, which others that may be right as well and answer some input otherwise may have
# Of the inputs on which donors agree, and of those that had an answer: some are none that the program is meant for.
_CONTRADICTIONS, _RAISING = 0.02, 0.02


@dataclass(frozen=True, slots=True)
class PatchGrounds:
    """Figures of one patch."""

    failing: int = 0
    """Tests that failed before."""
    passing: int = 0
    """Tests that passed before and run what it changes; where all do at import, those that feel another form."""
    cases: int = 0
    """Different calls by these tests that run what it changes."""
    shown: int = 0
    """Examples in the program's texts that run what it changes and come out as told."""
    broken: int = 0
    """Examples that came out as told, and no more."""
    forms: int = 0
    """Other forms of the lines that it changes, which answer some input otherwise, or fail."""
    alive: int = 0
    """Of these, the ones that pass, too."""
    inputs: int = 0
    """Inputs near those of the tests to which the old program has an answer."""
    kept: int = 0
    """Of these, the ones that are answered as before."""
    healthy: int = 0
    """Of the inputs, those near what tests that passed call the program with."""
    turned: int = 0
    """Of these, the ones that are answered otherwise."""
    split: float = 0.0
    """The share in the weight of all that pass of those that may be right as well and answer some input otherwise."""
    undecided: int = 0
    """Inputs that one of these answers otherwise, the most of one."""
    open: int = 0
    """Inputs that it answers otherwise with another constant in the place of one that it brings, though it passes."""
    raising: int = 0
    """Of the inputs, the ones where it raises or comes to no end."""
    share: float = 1.0
    """The share of the patches that answer like it in the weight of all that pass."""
    rivals: int = 0
    """Patches that pass and answer otherwise."""
    allies: int = 0
    """Other patches that pass and answer alike."""
    by_heart: int = 0
    """Calls by failing tests that it answers by what these themselves say, and hardly more than these."""
    strange: int = 0
    """Answers of a type that their function never returned before."""
    asked: int = 0
    """Inputs on which all donors agree."""
    contradicted: int = 0
    """Of these, the ones on which it says something else."""

    def doubts(self, families: Sequence[str]) -> Iterator[str]:
        """Reasons to look twice at a patch of these families of edits, each with what to do; none: it is sure."""
        if self.asked >= FEW_INPUTS:
            if self.contradicted > _CONTRADICTIONS * self.asked:
                differs = f"{self.contradicted} of {self.asked} inputs"
                yield f"the donors agree on another answer for {differs} (look at both)"
            return
        if self.broken:
            gone = _count(self.broken, "example")
            yield f"{gone} in the program's own texts come out otherwise (look which is right)"
        if self.by_heart:
            calls = f"{_count(self.by_heart, 'call')} that failing tests make"
            yield f"it answers {calls} by what these spell out (write a test with other values, and run again)"
        yield from self._many(families)
        if self._is_loose():
            loose = f"{self.alive} of {self.forms} other forms of these lines pass as well"
            yield f"{loose} (write a test that tells them apart, and run again)"
        elif not self._keeps(families) and not self._is_pinned(families):
            yield from self._few()
        if CASES.intersection(families):
            yield from self._case()
        yield from self._undecided()
        if self.raising > _RAISING * self.inputs:
            yield f"it raises for {_count(self.raising, 'input')} that had an answer (look who calls it so)"
        if self.strange:
            yield f"it returns another type of value for {_count(self.strange, 'input')} (look who uses it)"
        if DOUBTFUL.intersection(families) and not self.allies:
            yield "it takes away, moves or turns round what was there (ask why it was)"

    def _case(self) -> Iterator[str]:
        """Say where a case that is set apart may be too wide, or nothing tells how wide it is."""
        if not self.inputs:
            yield "no input near those of tests had an answer, to tell where the case that it adds begins (test that)"
        elif self.turned > _TURNED * self.healthy:
            changed = f"{self.turned} of {self.healthy} answers near those of tests that pass"
            yield f"the case that it adds changes {changed} (say in a test where it begins)"

    def _undecided(self) -> Iterator[str]:
        """Say where what else passes may be right as well."""
        if self.share < _SHARE:
            one, more = "other patch that answers otherwise passes", "other patches that answer otherwise pass"
            yield f"{_count(self.rivals, one, more)}, too (say in a test which is meant)"
        elif self.split > _SPLIT or self.open:
            other, inputs = "another patch", self.undecided
            if self.split <= _SPLIT:
                other, inputs = "another constant in the place of one that it brings", self.open
            differs = f"{other} passes, too, and answers {_count(inputs, 'input')} otherwise"
            yield f"{differs}; no test decides (say in one which is meant)"

    def _many(self, families: Sequence[str]) -> Iterator[str]:
        """Say where edits were put together for fewer tests: of so many pairs one fits by chance."""
        edits = [each for each in families if each not in _WHOLE]
        if len(edits) > max(1, self.failing):
            asked = _count(self.failing, "failing test")
            yield f"it is made of {len(edits)} edits for {asked} (write a test for each, and run again)"

    def _few(self) -> Iterator[str]:
        """Say where too little can tell. A test that calls what is changed in many ways can as many can."""
        telling = self._telling()
        few = f"only {_count(telling, 'test, call or example', 'tests, calls or examples')} can tell"
        if telling < _FEW_TESTS:
            yield f"{few} (write one more of what it changes, and run again)"
        elif not self.passing and self.inputs < FEW_INPUTS and telling < _FEW_OF_MANY:
            near = f"only {_count(self.inputs, 'input')} near theirs had an answer"
            yield f"no test that passed runs it, and {near} (write a test of what works there, and run again)"
        elif telling < _FEW_OF_MANY and not self._stays():
            changed = f"{self.inputs - self.kept} of {self.inputs} answers near those of tests"
            yield f"{few}, and it changes {changed} (write a test of what is to stay, and run again)"

    def _telling(self) -> int:
        return max(self.failing + self.passing, self.cases) + self.shown

    def _is_loose(self) -> bool:
        """Tell whether many other forms of what it changes pass, too."""
        return self.forms >= _FEW_FORMS and self.alive > _LOOSE * self.forms

    def _is_pinned(self, families: Sequence[str]) -> bool:
        """Tell whether hardly any other form of what it changes passes. A case set apart is pinned by its own test; and
        what was made to fit one call fits no better for that: other forms do not, but many other programs would."""
        if APART.intersection(families) or self._telling() < _SEVERAL:
            return False
        return self.forms >= _FEW_FORMS and self.alive <= _PINNED * self.forms

    def _keeps(self, families: Sequence[str]) -> bool:
        """Tell whether hardly any other answer changes, though no new case is set apart for that."""
        special = APART.intersection(families)
        return self.passing > 0 and not special and self.inputs >= FEW_INPUTS and self._stays()

    def _stays(self) -> bool:
        """Tell whether hardly any answer changes: near tests that passed, where there are enough of these, since what
        is near the failing ones is to change."""
        if self.healthy >= FEW_INPUTS:
            return self.turned <= (1 - _KEPT) * self.healthy
        return self.kept >= _KEPT * self.inputs

    def told(self) -> str:
        """The figures in words."""
        healthy = _count(self.passing, "test") if self.passing else "no test"
        said = [f"{_count(self.failing, 'test')} failed and now pass{'es' if self.failing == 1 else ''}"]
        said += [f"{healthy} that passed before run{'s' if self.passing < 2 else ''} the changed lines"]
        if self.shown:
            said.append(f"{_count(self.shown, 'example')} in the program's own texts come out as told")
        if self.forms:
            said.append(f"of {self.forms} other forms of these lines {self.forms - self.alive} fail")
        if self.inputs:
            said.append(f"of {self.inputs} inputs near theirs {self.kept} are answered as before")
        if self.asked:
            said.append(
                f"of {self.asked} on which the donors agree {self.asked - self.contradicted} are answered alike"
            )
        if self.allies or self.rivals:
            said.append(f"of {self.allies + self.rivals} other patches that pass {self.allies} answer alike")
        return "; ".join(said)


def _count(number: int, noun: str, nouns: str = "") -> str:
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"
