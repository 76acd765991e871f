"""Tells what a run of a check is about (targets, tests, tags), and whether a later one would have shown what it failed
of: the same check with the same or a wider selection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ratchet.failures.failed_tests import names_of
from ratchet.failures.programs import TEST_RUNNERS, TEST_VALUED
from ratchet.lessons.mining.calls import Piece, ToolCall, same_path
from ratchet.lessons.mining.refused import CHECKERS

CLASSES = {
    "lint": "lint linter golangci credo biome analyze analyse audit",
    "test": "test tests nextest exunit spec ct verify coverage",
    "build": "build compile tsc vet check gcc cc clang make cmake javac mypy pyright typecheck assemble",
}
ANYTHING = ("run", "install", "apply", "plan")
_CLASS_OF = {
    **dict.fromkeys(ANYTHING, "build"),
    **dict.fromkeys(CHECKERS, "lint"),
    **{each: "test" for each in TEST_RUNNERS if " " not in each},
    **{word: name for name, words in CLASSES.items() for word in words.split()},
}
SELECTS = re.compile(
    r"\s(?:-run|-k|-t|--tests|--filter|--grep|-g|--testNamePattern|-Dtest|--tag|--exclude|--only)[ =]\s*\S|::\w"
)
_LEAVES_OUT = ("--exclude",)
_ADDS = re.compile(r"--?(?:tags|features)$")  # options by which more is built and run
_PARTS = re.compile(r"[^a-z0-9]+")
_ALTERNATIVES = re.compile(r"\||\s+or\s+")
_PLAIN = re.compile(r"[\w/.:#-]+(?: [\w/.:#-]+)*", re.ASCII)


def checks_in(words: Sequence[str]) -> set[str]:
    """The kinds of check that the words of a command speak of: lint, test, build. Of a program only its whole name
    counts or that of a script (`run_tests.sh`): `shop_test print` is what somebody built; git's words are about files
    (`git check-ignore`)."""
    if not words or words[0] == "git":
        return set()
    program = words[0].lower().rpartition("/")[2].partition("@")[0]
    own = _PARTS.split(program) if "." in program or "/" in words[0] else program.split("-")
    own += [part for word in words[1:] if word[:1] != "-" for part in _PARTS.split(word.lower())]
    return {_CLASS_OF.get(part, "lint") for part in own if part in _CLASS_OF or part.endswith("lint")}


def selection(piece: Piece) -> list[str]:
    """The tests that a command picks out by its options."""
    words = piece.raw.split()
    pairs = [" ".join(words[at : at + 2]) for at, word in enumerate(words) if word[:1] == "-" or "::" in word]
    return [pair for pair in pairs if SELECTS.search(" " + pair)]


def shows(failed: ToolCall, mine: Piece, piece: Piece, *, path: str = "", compiles: bool = False) -> bool:
    """Tell whether a run of `piece` would have shown what `mine` of the step `failed` failed of. A finding's `path`
    tells where it was; what `compiles` is shown whatever tests are picked out."""
    own, other = _task(mine), _task(piece)
    opened, opens = _added(mine), _added(piece)
    if not (own | opened <= other | opens and other <= own | opened):
        return False  # another task, or not with all that was built
    if not _reaches(piece, mine, path) and not (_picks_failed(failed, piece) and _named(piece, failed.message)):
        return False
    return compiles or _picks(mine, piece) or _picks_failed(failed, piece)


def covers_test(ran: str, wanted: str) -> bool:
    """Tell whether running `ran` (a test, file or folder; "" is all) runs `wanted` too."""
    ran, wanted = _bare(ran), _bare(wanted)
    if not ran or ran == wanted:
        return True
    return bool(wanted) and (wanted.startswith((ran + "/", ran + "::", ran + ":")) or same_path(ran, wanted))


def _reaches(piece: Piece, mine: Piece, path: str) -> bool:
    """Tell whether a command is run on all that another one is run on, or on the file at `path`."""
    ran, wanted = targets(piece), targets(mine)
    if path and any(_holds(each, path) for each in ran):
        return True
    return not ran or (bool(wanted) and all(any(covers_test(one, each) for one in ran) for each in wanted))


def _holds(target: str, path: str) -> bool:
    return covers_test(target, path) or f"/{_bare(target)}/" in f"/{path}"


def _bare(target: str) -> str:
    """A target without the signs for "all below" and "here"."""
    return target.removesuffix("...").removeprefix("./").rstrip("/")


def targets(piece: Piece) -> list[str]:
    """The files, folders and tests that a check is run on; of a test runner any operand is one."""
    words = iter(piece.said[len(piece.head.split(" ")) :])
    found = []
    for word in words:
        if word in TEST_VALUED:
            next(words, None)
        elif word == "--":
            break
        elif word[:1] != "-" and (piece.head in TEST_RUNNERS or "/" in word or word == "."):
            found.append(word)
    return found


def _task(piece: Piece) -> frozenset[str]:
    """List what a task's name says beyond what it checks: `integration` of `mise run test:integration`."""
    parts = [_PARTS.split(word.lower()) for word in piece.head.split(" ")[1:]]
    return frozenset(part for each in parts if len(each) > 1 for part in each if part and not checks_in([part]))


def _added(piece: Piece) -> frozenset[str]:
    """The tags and features with which a command builds."""
    words = piece.words
    found: list[str] = []
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if _ADDS.match(option):
            found += _PARTS.split((value if equals else "".join(words[at + 1 : at + 2])).lower())
    return frozenset(each for each in found if each)


def _picks(mine: Piece, piece: Piece) -> bool:
    """Tell whether a command runs all tests that another one picked out."""
    ran, wanted = _picked(piece), _picked(mine)
    if not ran or ran == wanted:
        return True
    leaves_out = any(option.startswith(_LEAVES_OUT) for option in (*ran, *wanted))
    return not leaves_out and _all_run(_alternatives(wanted.values()), ran)


def _picks_failed(failed: ToolCall, piece: Piece) -> bool:
    """Tell whether a command picks out all tests that a step says failed."""
    named = [name.removeprefix("test:") for name in names_of(failed.message) if name.startswith("test:")]
    return _all_run(named, _picked(piece))


def _all_run(names: Sequence[str], ran: Mapping[str, str]) -> bool:
    patterns = _alternatives(ran.values())
    return bool(names) and all(any(_runs(each, one) for one in patterns) for each in names)


def _named(piece: Piece, message: str) -> bool:
    """Tell whether an output names what a command is run on."""
    return all(_bare(each) in message for each in targets(piece))


def _picked(piece: Piece) -> dict[str, str]:
    """Option -> what it picks out; "" for a test that is named by itself."""
    words = piece.words
    found: dict[str, str] = {}
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if word[:1] == "-":
            value = value if equals else "".join(words[at + 1 : at + 2])
            if SELECTS.search(f" {option} {value or '-'}"):
                found[option] = value
    return found


def _alternatives(patterns: Iterable[str]) -> Sequence[str]:
    """The names that patterns pick out, [] where one is more than names."""
    found = [each.strip().strip("()").strip() for pattern in patterns for each in _ALTERNATIVES.split(pattern)]
    names = [each.removeprefix("^").removesuffix("$") for each in found]
    return found if all(_PLAIN.fullmatch(each) for each in names) else []


def _runs(wanted: str, pattern: str) -> bool:
    """Tell whether a pattern runs the tests of a name, or of another pattern."""
    name, bare = wanted.removeprefix("^"), pattern.removeprefix("^")
    if bare.endswith("$"):
        return name.removesuffix("$") == bare[:-1] or name.removesuffix("$").startswith(bare[:-1] + "/")
    return name.startswith(bare) if pattern[:1] == "^" else bare in name
