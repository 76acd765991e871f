"""Choose among patches that pass all tests, and count what speaks for the choice: a plausible patch is not yet a
correct one."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from .differing import NOTHING, RAISED, REFUSED, Input, type_of, value_of
from .expressions import expression, is_literal
from .grounds import APART, DOUBTFUL, FEW_INPUTS, PatchGrounds
from .wanted import Patch

_ALIKE = 0.95  # share of answers that two patches must have in common to count as the same program
_SIZE = 24.0  # characters changed that halve a patch's weight
_DOUBT = 0.25  # weight of an edit of a doubtful family
_KEEPING = 8.0  # how much heavier a patch is that leaves every other answer as it was than one that changes them all
_CONTRADICTED = 0.1  # weight for each input on which all donors say something else, up to so many
_MOST_CONTRADICTIONS = 6
# Answers near healthy tests that a patch may turn and still be right: a share, or so many times what the best turns.
_TURNED, _MORE_TURNED = 0.2, 2.0
_STRANGE = 0.3  # weight of a patch that answers with a type of value that its function never returned
_OUTDONE = 0.1  # of one that does without a call, where another moves a number of the same line by one instead
_NUMBERS = frozenset({"bool", "int", "float", "complex"})
_CALLS = frozenset({"builtin", "unwrap"})
_BEYOND = 0.1  # of one that changes every answer which another changes, and more: no test asks for that


@dataclass(frozen=True, slots=True)
class _Look:
    """Compares the answers of patches with those of the program before, and with one another."""

    inputs: Sequence[Input] = ()
    before: Sequence[str] = ()
    wanted: Collection[str] = ()

    def at(self, answers: Sequence[str]) -> PatchGrounds:
        """Count how a patch answers beside the program before."""
        pairs = [*_pairs(self.before, answers)]
        rows = zip(self.inputs, self.before, answers, strict=False)
        healthy = [pair for each, *both in rows if each.healthy for pair in _pairs(*([text] for text in both))]
        return PatchGrounds(
            inputs=len(pairs),
            answered=sum(map(_is_answer, answers)) - sum(_is_answer(new) for _, new in pairs),
            kept=sum(old == new for old, new in pairs),
            healthy=len(healthy),
            turned=sum(old != new for old, new in healthy),
            by_heart=self._alone(answers),
            raising=sum(
                bool(old) and not old.startswith(RAISED) and _raises(new, self.wanted)
                for at, (old, new) in enumerate(zip(self.before, answers, strict=False))
                if self.is_meant(at)
            ),
        )

    def is_meant(self, at: int) -> bool:
        """Tell whether the program may be meant for an input: tests give such, or it had an answer to it."""
        if at >= len(self.inputs) or not self.inputs[at].alien:
            return True
        return _is_answer(self.before[at]) and type_of(self.before[at]) != NOTHING

    def differ(self, one: Sequence[str], other: Sequence[str]) -> bool:
        """Tell whether something that the program may be meant for is answered otherwise."""
        return any(a != b for at, (a, b) in enumerate(zip(one, other, strict=False)) if self.is_meant(at))

    def _alone(self, answers: Sequence[str]) -> int:
        """Count the calls by failing tests that are answered otherwise, where there are several and no other input near
        them is: nothing general was mended."""
        rows = [*zip(self.inputs, self.before, answers, strict=False)]
        near = [(each.exact, old != new) for each, old, new in rows if old and new and not each.healthy]
        others = [differs for exact, differs in near if not exact]
        calls = sum(exact and differs for exact, differs in near)
        return calls if calls > 1 and len(others) >= FEW_INPUTS and not any(others) else 0

    def is_possible(self, answers: Sequence[str], best: PatchGrounds) -> bool:
        """Tell whether a patch is no worse than the best one where the program is known to be right: it neither turns
        many of the answers there nor raises instead."""
        its = self.at(answers)
        return its.raising <= best.raising and its.turned <= max(_TURNED * its.healthy, _MORE_TURNED * best.turned)

    def changed(self, answers: Sequence[str]) -> set[int]:
        """The inputs that had an answer and have another one."""
        rows = enumerate(zip(self.before, answers, strict=False))
        return {at for at, pair in rows for old, new in _pairs(*([each] for each in pair)) if old != new}

    def undecided(self, one: Sequence[str], other: Sequence[str]) -> int:
        """Count inputs that two patches answer otherwise, of those that the program may be meant for: what it could not
        answer before near healthy tests is none of these."""
        rows = enumerate(zip(self.inputs, self.before, one, other, strict=False))
        return sum(
            bool(old and a and b) and a != b and self.is_meant(at)
            and not (a.startswith(RAISED) and b.startswith(RAISED))
            and not (each.healthy and old.startswith(RAISED))
            for at, (each, old, a, b) in rows
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PatchChoice:
    """The patches, the one to propose first, and what speaks for that one."""

    patches: tuple[Patch, ...] = ()
    grounds: PatchGrounds = field(default_factory=PatchGrounds)
    look: _Look = field(default_factory=_Look)
    answers: Sequence[str] = ()
    """Those of the one to propose."""

    def undecided(self, answers: Sequence[str]) -> int:
        """Count the inputs that another patch answers otherwise; 0 where it may not be right as well."""
        mine, its = map(self.look.changed, (self.answers, answers))
        possible = self.look.is_possible(answers, self.grounds) and not _is_beyond(its, mine, self.patches[0])
        return self.look.undecided(self.answers, answers) if possible else 0


def weight(patch: Patch) -> float:
    """Weigh a patch by itself: likely edits, few and small."""
    likely = patch.plain if patch.plain > 0 else 1.0 / (1 + patch.found_at)
    doubts = sum(each["family"] in DOUBTFUL for each in patch.marks)
    return float(likely / (1 + patch.size / _SIZE) / len(patch.marks) ** 2 * _DOUBT**doubts)


def keeping(before: Sequence[str], after: Sequence[str], wanted: Collection[str] = ()) -> float:
    """Measure how much of what the program answered stays, in [-1, 1]: a fault is mostly in the answers that tests
    complain of, so a patch that changes all others is a suspicious one, and one that raises where there was an answer
    even more; but for the exceptions that are `wanted`."""
    pairs = [*_pairs(before, after)]
    if not pairs:
        return 0.0
    return sum(1 if old == new else -1 if _raises(new, wanted) else 0 for old, new in pairs) / len(pairs)


def agreed(donors: Iterable[object]) -> list[str]:
    """Collect the answers on which all other implementations agree, by input; "" where they do not. One that cannot be
    run in the program's place has no say."""
    told = [[value_of(answer) for answer in _texts(each)] for each in donors]
    told = [each for each in told if any(answer and not answer.startswith(RAISED) for answer in each)]
    return [
        each[0] if len(set(each)) == 1 and not each[0].startswith(RAISED) else "" for each in zip(*told, strict=False)
    ]


def chosen(
    patches: Sequence[Patch],
    answers: Callable[[Patch | None], object],
    expected: Sequence[str] = (),
    inputs: Sequence[Input] = (),
    raised: Collection[str] = (),
    returned: Collection[tuple[str, str]] = (),
) -> PatchChoice:
    """Put the patches into order. `answers` runs a patch (None: the program as it was) on `inputs` near those of the
    tests; `expected` is what donors answer to these (`agreed`), `raised` names exceptions that failing tests expect,
    `returned` holds functions with the types that they return to the tests as they were.

    Patches that answer alike are one opinion, and the opinion with the most weight wins; within it, the heaviest patch.
    """
    if not patches:
        return PatchChoice()
    before = _texts(answers(None))
    told = {id(each): _texts(answers(each)) for each in patches}
    against = {name: _contradictions(expected, said) for name, said in told.items()}
    strange = {name: _strange(inputs, before, said, returned) for name, said in told.items()}
    look = _Look(inputs, before, raised)
    changed = {name: look.changed(said) for name, said in told.items()}

    outdone = _outdone(patches)
    # What changes no answer (a default: each recorded call has all its arguments) is no measure of what others change.
    sound = [each for each in patches if told[id(each)] != before and id(each) not in outdone and not is_invented(each)]

    def is_beyond(one: Patch, others: Sequence[Patch]) -> bool:
        return any(_is_beyond(changed[id(one)], changed[id(other)], other) for other in others)

    heavy = {
        id(each): weight(each)
        * _KEEPING ** keeping(before, told[id(each)], raised)
        * _CONTRADICTED ** min(against[id(each)], _MOST_CONTRADICTIONS)
        * (1 - against[id(each)] / (1 + sum(map(bool, expected))))
        * (_STRANGE if strange[id(each)] else 1.0)
        * (_BEYOND if is_beyond(each, sound) else 1.0)
        * (_OUTDONE if id(each) in outdone else 1.0)
        for each in patches
    }
    groups = _opinions(patches, told, heavy, [each.function for each in inputs])
    best = groups[0][0]
    ranked = tuple(patch for group in groups for patch in group)
    held = PatchChoice(ranked, look.at(told[id(best)]), look, told[id(best)])
    split = {id(each): held.undecided(told[id(each)]) for each in patches if each is not best}
    beyond = {id(each) for group in groups[1:] for each in group if is_beyond(each, [best])}
    total = sum(much for name, much in heavy.items() if name not in beyond) or 1.0
    grounds = replace(
        held.grounds,
        share=sum(heavy[id(each)] for each in groups[0]) / total,
        split=sum(heavy[name] for name, count in split.items() if count) / total,
        undecided=max(split.values(), default=0),
        rivals=sum(map(len, groups[1:])),
        allies=len(groups[0]) - 1,
        strange=sum(_counts(inputs[at], before[at], told[id(best)][at]) for at in strange[id(best)]),
        asked=sum(map(bool, expected)),
        contradicted=against[id(best)],
    )
    return replace(held, grounds=grounds)


def _is_beyond(one: set[int], other: set[int], of: Patch) -> bool:
    """Tell whether a patch changes what no test complains of: nearly all that another one, `of`, changes, and more. One
    that sets a case apart may change too little, unless it is all about what had no answer."""
    apart = any(each["family"] in APART for each in of.marks)
    more = len(one & other) >= _ALIKE * len(other) and _ALIKE * len(one) > len(other)
    return (more or one > other) and not (apart and other)


def _opinions(
    patches: Sequence[Patch], told: Mapping[int, Sequence[str]], heavy: Mapping[int, float], functions: Sequence[str]
) -> list[list[Patch]]:
    """Group patches that answer alike, the heaviest first in each; the group with the most weight first. Those that
    write a constant down for what was worked out come last: it is what the failing test says, and nothing else."""
    groups: list[list[Patch]] = []
    for patch in sorted(patches, key=lambda each: (is_invented(each), -heavy[id(each)])):
        for group in groups:
            if _agree(told[id(group[0])], told[id(patch)], functions):
                group.append(patch)
                break
        else:
            groups.append([patch])
    groups.sort(key=lambda group: (is_invented(group[0]), -sum(heavy[id(each)] for each in group)))
    return [_simplest_first(group, told) for group in groups]


def _simplest_first(group: list[Patch], told: Mapping[int, Sequence[str]]) -> list[Patch]:
    """Put the one first that says the same as the first does, to every input, in fewer words of it: `n` before
    `n - 1 + 1`."""
    best, said = group[0], _words(group[0])
    for each in group[1:]:
        words = _words(each)
        if each.files.keys() == best.files.keys() and words < said and told[id(each)] == told[id(best)]:
            best, said = each, words
    return [best, *(each for each in group if each is not best)]


def _words(patch: Patch) -> Counter[str]:
    """Names, literals and operators of a patch's files."""
    return Counter(
        getattr(each, "id", None) or getattr(each, "attr", None) or repr(getattr(each, "value", type(each).__name__))
        if isinstance(each, ast.Name | ast.Attribute | ast.Constant)
        else type(each).__name__
        for content in patch.files.values()
        for each in ast.walk(ast.parse(content))
    )


def is_invented(patch: Patch) -> bool:
    """Tell whether a patch puts a constant where an expression worked something out."""
    return any(is_literal(each["text"]) and _computes(each["before"]) for each in patch.marks)


def is_doubtful(patch: Patch) -> bool:
    """Tell whether a patch is of a sort that passes weak tests oftener than it is right."""
    return is_invented(patch) or any(each["family"] in DOUBTFUL for each in patch.marks)


def _computes(text: str) -> bool:
    tree = expression(text)
    return tree is not None and any(isinstance(each, ast.Call | ast.Subscript | ast.BinOp) for each in ast.walk(tree))


def _outdone(patches: Iterable[Patch]) -> set[int]:
    """Name the patches that replace a call or take it away, where another one moves a number of the same line by one:
    that is the smaller change of what the line says."""
    stepped = {(each["path"], each["line"]) for patch in patches for each in patch.marks if _is_step(each)}
    return {
        id(patch)
        for patch in patches
        if any(each["family"] in _CALLS and (each["path"], each["line"]) in stepped for each in patch.marks)
    }


def _is_step(mark: Mapping[str, str]) -> bool:
    """Tell whether an edit moves a number by one."""
    old, new = mark["before"], mark["text"]
    return all(each.removeprefix("-").isdecimal() for each in (old, new)) and abs(int(old) - int(new)) == 1


def told(patch: Patch, rank: int) -> dict[str, object]:
    """A patch as it leaves the sandbox."""
    return {
        "files": {path: content.hex() for path, content in patch.files.items()},
        "marks": [dict(each) for each in patch.marks],
        "found_at": patch.found_at,
        "rank": rank,
        "plain": patch.plain,
        "foretold": patch.foretold,
        "exact": patch.exact,
        "key": patch.key,
    }


def _texts(said: object) -> list[str]:
    return [str(each) for each in said] if isinstance(said, list) else []


def _pairs(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Answers before and after, where there was one."""
    both = zip(before, after, strict=False)
    return ((old, new) for old, new in both if new and _is_answer(old))


def _is_answer(said: str) -> bool:
    """Tell whether something came back, be it an exception that the program raises on purpose."""
    return bool(said) and (said.startswith(REFUSED) or not said.startswith(RAISED))


def _raises(answer: str, wanted: Collection[str]) -> bool:
    """Tell whether an answer is an exception that nobody asks for."""
    return answer.startswith(RAISED) and answer.lstrip(RAISED) not in wanted


def _strange(
    inputs: Sequence[Input], before: Sequence[str], after: Sequence[str], returned: Collection[tuple[str, str]]
) -> list[int]:
    """Inputs with an answer of a type that their function never returned before, though it returned something."""
    known: dict[str, set[str]] = {}
    for function, kind in [*returned, *zip((each.function for each in inputs), map(type_of, before), strict=False)]:
        known.setdefault(function, set()).add(kind)
    ordinary = {"", NOTHING}
    return [
        at
        for at, (one, answer) in enumerate(zip(inputs, after, strict=False))
        if known.get(one.function, ordinary) - ordinary and type_of(answer) not in known[one.function] | ordinary
    ]


def _counts(one: Input, before: str, after: str) -> bool:
    """Tell whether a strange answer is one to doubt: there was another before, or it is a test's own call, and `==`
    takes the one type for the other: no test tells True from 1."""
    return _is_answer(before) or (one.exact and type_of(after) in _NUMBERS)


def _contradictions(expected: Sequence[str], said: Sequence[str]) -> int:
    return sum(bool(right) and right != value_of(answer) for right, answer in zip(expected, said, strict=False))


def _agree(one: Sequence[str], other: Sequence[str], functions: Sequence[str]) -> bool:
    """Tell whether two patches answer alike in each function: the many inputs of one say nothing of another."""
    if not one or len(one) != len(other):
        return False
    alike: dict[str, list[bool]] = {}
    for function, a, b in zip_longest(functions[: len(one)], one, other, fillvalue=""):
        alike.setdefault(function, []).append(a == b)
    return all(sum(each) >= _ALIKE * len(each) for each in alike.values())
