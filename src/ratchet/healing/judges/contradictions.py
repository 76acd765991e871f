"""Tell passes that a program cannot have earned by what it answers: tests that pass only where the program can reach
the assertions, and assertions that are other ones than before. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ratchet.healing.judges.grading import PASSED, Graded, GradedRun

_OF_ITS_OWN = "a value of type "  # begins the note of an object of the program's own that is taken for a plain value


def contradiction(graded: Graded, known: Callable[[], Graded | None], *, right: bool = False) -> str:
    """Name what contradicts a pass; "" where nothing does.

    `known` grades a program whose tests nobody has an interest in: the untouched one, or one known to be right
    (`right`). It tells which tests are plain calls; it is asked only where it matters.
    """
    apart, together = graded.apart, graded.together
    if apart is None or together is None or not apart.finished:
        return ""
    passed = _passing(together)
    plain = [name for name in passed if apart.fails_plainly(name)] + _not_loaded(apart, together)
    own = [name for name in passed if apart.note(name).startswith(_OF_ITS_OWN)]
    if not (plain or own or together.touched):
        return ""
    before = known()
    if before is None or before.apart is None:
        return _said(plain, together.touched)
    touched = tuple(each for each in together.touched if before.together is None or each not in before.together.touched)
    if right:
        return _said([name for name in (*plain, *own) if before.apart.outcomes.get(name) in PASSED], touched)
    unlike = _files_unlike(before)
    plain = [name for name in plain if _file(name) not in unlike]
    own = [name for name in own if name in before.apart.answers and not before.apart.note(name)]
    return _said((*plain, *own), touched)


def _said(tests: Sequence[str], touched: Sequence[str]) -> str:
    if touched:
        return f"it replaces `{touched[0]}`, which reaches for the harness"
    if not tests:
        return ""
    more = f" (and {len(tests) - 1} more)" if len(tests) > 1 else ""
    return f"{tests[0]}{more} passes only where the program shares its process: what the program answers is wrong"


def _files_unlike(before: Graded) -> frozenset[str]:
    """Files with a test that passes, and that fails with the program in another process for no reason that was
    noted: what the processes do not share matters there."""
    apart, together = before.apart, before.together
    if apart is None or together is None:
        return frozenset()
    plain = [name for name in _passing(together) if apart.fails_plainly(name)]
    return frozenset(map(_file, plain + _not_loaded(apart, together)))


def _not_loaded(apart: GradedRun, together: GradedRun) -> list[str]:
    """Files that can only be loaded where the program shares their process, for no reason that was noted."""
    lost = [each for each in apart.errors if each and each not in together.errors and not apart.note(each)]
    return lost + [each for each in apart.ids if apart.fails_plainly(each) and each not in together.ids]


def _passing(told: GradedRun) -> list[str]:
    return [name for name, said in told.outcomes.items() if said in PASSED]


def _file(test: str) -> str:
    return test.partition("::")[0] if "::" in test else test.rpartition(".")[0].rpartition(".")[0]
