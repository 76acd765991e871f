"""Weigh what speaks for a patch that passes the tests, and tell whether that is enough to call it sure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

# Code that is gone, elsewhere or turned round passes weak tests oftener than it is right (Qi, Long, Achour, Rinard, "An
# Analysis of Patch Plausibility and Correctness for Generate-and-Validate Patch Generation Systems", ISSTA 2015).
# So does a signature turned round: every other caller would have to be wrong, too. A statement that a condition guards
# is gone wherever that does not hold.
DOUBTFUL = frozenset({"deletion", "reduction", "motion", "negation", "replacement", "returned", "parameter_swap",
                      "conditional"})  # fmt: skip
# A further case is for what is out of the ordinary: what healthy tests call the program with, and most of what is near
# that, is to be answered as before.
CASES = frozenset({"guard", "nothing", "typed", "lenient", "expected", "extension", "extreme", "relation", "multiple",
                   "guarding", "leaving", "setting", "otherwise", "joined", "borrowed", "fallback", "element",
                   "foreign", "attempted", "exempted"})  # fmt: skip
APART = CASES.union(DOUBTFUL, ("constant", "initial"))
_WHOLE = frozenset({"rewriting", "guarding"})  # of a patch that no search made: its lines are one thought
FEW_INPUTS = 20
_CONTRADICTED = 0.02  # of the inputs on which donors agree: some are none that the program is meant for

# How much doubt each share below makes, where 1 is too much: fitted on half of the patches of which it is known whether
# they are right, and held to the other half (`benchmarks/sureness.py`, `docs/explanation/repair.md`).
_FEW, _LOOSE, _OTHER, _WIDE, _LOST = 2.0, 5.0, 4.0, 3.0, 1.0
_UNSEEN = 0.5, 5.0  # forms that pass, of so many, which are taken for seen before any was: 10 % do
_EITHER = 0.5  # the weight of another constant that does as well as the one that a patch brings
_RULED_OUT = 0.5  # of the weight of others that pass, and change what is known to be right: they may be right still
_UNSOUGHT = 0.06  # of others, where a patch is weighed that somebody else brought, and nobody looked for any
_UNTOLD = 0.15  # of others, and of all that it may break, where there is no input to tell; the less, the more there are
_GONE = 2  # inputs that count as lost where code is


@dataclass(frozen=True, slots=True)
class PatchGrounds:
    """Figures of one patch."""

    failing: int = 0
    """Tests that failed before."""
    passing: int = 0
    """Tests that passed before and run what it changes; where all do at import, those that feel another form."""
    repeated: int = 0
    """Of all these, the ones that are another one with other parameters: these may be of something else."""
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
    answered: int = 0
    """Others, to which the patch alone has one."""
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
    spare: int = 0
    """Parts of a text that it brings, which pass as the whole does."""
    raising: int = 0
    """Of the inputs, the ones where it raises or comes to no end."""
    share: float = 1.0
    """The share of the patches that answer like it in the weight of all that pass."""
    searched: bool = True
    """Other patches were looked for."""
    rivals: int = 0
    """Patches that pass and answer otherwise, or where no input could be tried may do so."""
    allies: int = 0
    """Other patches that pass and answer alike."""
    by_heart: int = 0
    """Calls by failing tests that it answers by what these themselves say, and hardly more than these."""
    strange: int = 0
    """Inputs that had an answer, and have one of a type that their function never returned before."""
    idle: str = ""
    """What it leaves without effect, in words."""
    asked: int = 0
    """Inputs on which all donors agree."""
    contradicted: int = 0
    """Of these, the ones on which it says something else."""

    def doubts(self, families: Sequence[str], functions: int = 1) -> Iterator[str]:
        """Reasons to look twice at a patch of these families of edits in so many functions, each with what to do; none:
        it is sure. They are the heaviest ones without which the doubt would be small enough; what it leaves without
        effect is one whatever else is said: tests cannot see that something was put out of use."""
        if self.asked >= FEW_INPUTS:
            if self.contradicted > _CONTRADICTED * self.asked:
                differs = f"{self.contradicted} of {self.asked} inputs"
                yield f"the donors agree on another answer for {differs} (look at both)"
            return
        if self.idle:
            yield f"with it {self.idle} (look what that was for, and say so in a test)"
        parts = sorted(self.parts(families, functions).items(), key=lambda part: -part[1])
        doubt = sum(much for _, much in parts)
        for name, much in parts:
            if doubt <= 1:
                return
            doubt -= much
            yield self._said(name, families)

    def parts(self, families: Sequence[str], functions: int = 1) -> Mapping[str, float]:
        """Parts of the doubt that is left, by name: how few can tell, how many other forms fit, how much weight other
        patches have, how much wider it changes answers than the tests ask for, what is lost, how far apart it edits."""
        edits = sum(each not in _WHOLE for each in families)
        asked = self.failing / max(1, self.failing + self.passing)
        lost = self.raising + self.strange + _GONE * (bool(DOUBTFUL.intersection(families)) and not self.allies)
        return {
            "few": _FEW / (1 + self._telling() / max(1, edits)),
            "loose": _LOOSE * (self.alive + _UNSEEN[0]) / (self.forms + _UNSEEN[1]),
            "other": _OTHER
            * max(_RULED_OUT * (1 - self.share), self.split, _EITHER * bool(self.open or self.spare), self._untold()),
            "wide": _WIDE * max(0.0, self.turned / max(1, self.healthy) - asked),
            "lost": _LOST * lost / (lost + 2),
            "apart": float(max(0, functions - 1)),
        }

    @property
    def compared(self) -> int:
        """Inputs on which patches could be told apart."""
        return self.inputs + self.answered

    def _untold(self) -> float:
        """Weigh what nobody looked for, or could compare."""
        return max(_UNSOUGHT * (not self.searched), _UNTOLD * max(0.0, 1 - self.compared / FEW_INPUTS))

    def _telling(self) -> int:
        """Count what can tell: tests, or the different calls that they make, and examples. Where answers are spelt out,
        and where an example says something else, none of it does."""
        if self.by_heart or self.broken:
            return 0
        return max(self.failing + self.passing - self.repeated, self.cases) + self.shown

    def _said(self, name: str, families: Sequence[str]) -> str:
        """One part of the doubt in words."""
        if name == "loose":
            loose = f"{self.alive} of {self.forms} other forms of these lines pass as well"
            loose = loose if self.forms else "no other form of these lines could be tried, to tell how loose they are"
            return f"{loose} (write a test that tells them apart, and run again)"
        if name == "other":
            return self._rival()
        if name == "wide":
            changed = f"{self.turned} of {self.healthy} answers near those of tests that pass"
            return f"it changes {changed} (say in a test which is right)"
        if name == "lost":
            return self._lost()
        if name == "apart":
            return "it changes several functions, of which one may only make up for another (look at each by itself)"
        if self.broken:
            gone = _count(self.broken, "example")
            return f"{gone} in the program's own texts come out otherwise (look which is right)"
        if self.by_heart:
            calls = f"{_count(self.by_heart, 'call')} that failing tests make"
            return f"it answers {calls} by what these spell out (write a test with other values, and run again)"
        few = f"only {_count(self._telling(), 'test, call or example', 'tests, calls or examples')} can tell"
        edits = sum(each not in _WHOLE for each in families)
        few += f" of {edits} edits" if edits > 1 else ""
        return f"{few}, so it may pass by chance (write a test with other values, and run again)"

    def _rival(self) -> str:
        """Say what else passes and may be right as well."""
        if self.undecided:
            differs = f"another patch passes, too, and answers {_count(self.undecided, 'input')} otherwise"
        elif self.open:
            inputs = _count(self.open, "input")
            differs = f"another constant in the place of one that it brings passes, too, and answers {inputs} otherwise"
        elif self.spare:
            differs = "a part of a text that it brings passes as well"
        elif self._untold() and not self.rivals:
            return "others that pass were not looked for, or not told apart (write a test of what it is to do)"
        elif not self.compared:
            others = _count(self.rivals, "other patch passes", "other patches pass")
            differs = f"{others}, too, and no input could be tried to tell whether they answer alike"
        else:
            one, more = "other patch that answers otherwise passes", "other patches that answer otherwise pass"
            differs = f"{_count(self.rivals, one, more)}, too"
        return f"{differs}; no test decides (say in one which is meant)"

    def _lost(self) -> str:
        """Say what it takes away."""
        if self.raising:
            return f"it raises for {_count(self.raising, 'input')} that had an answer (look who calls it so)"
        if self.strange:
            return f"it returns another type of value for {_count(self.strange, 'input')} (look who uses it)"
        return "it takes away, moves or turns round what was there (ask why it was)"

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
        others = self.allies + self.rivals
        if others and not self.compared:
            said.append(f"{_count(others, 'other patch passes', 'other patches pass')}, too")
        elif others:
            said.append(f"of {others} other patches that pass {self.allies} answer alike")
        return "; ".join(said)


def _count(number: int, noun: str, nouns: str = "") -> str:
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"
