"""The process inside the sandbox: reads what is wanted, searches, and writes what it found, one JSON object a line."""

from __future__ import annotations

import ast
import fnmatch
import itertools
import json
import os
import re
import runpy
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from .choosing import PatchChoice, agreed, chosen, told, weight
from .differing import CPU_S, Input, aliens, answers, asked, marked, noise, running, spelling, telling, told_of, type_of
from .drivers import driver_for
from .grounds import PatchGrounds
from .idling import idle_parts, stranded, together, unread
from .localising import calls_in
from .pinning import by_heart, counted, literals_brought, other_constants, other_forms, shortened
from .program import content_of
from .recollection import Remembered
from .search import RepairSearch
from .server import ForkServer, RunReport
from .suspects import told_suspects
from .transplanting import in_place
from .varying import Vocabulary, spoken_at
from .wanted import Patch, Wanted

_FILES = 5_000
_PATCHES = 12  # compared with one another
_FORMS_CPU_S = 5.0  # for other forms of a patch's lines
_LINES_LOOKED_AT = 4  # for an input that runs them
_FELT = 8  # of these, which tell what tests that pass feel of a line that all run at import
_ENDING_S = 2.0  # after the time is up, in which the comparison of patches may still begin something
_COMPARING_CPU_S = 10.0  # in all; patches that come to no end could take minutes
_LEFT_OUT = ("tests", "test", "node_modules", "venv", "env", "site-packages", "build", "dist")
# As in `protection`, which cannot be had here.
TEST_FOLDER = re.compile(
    r"(?:.*[_-])?test[_-]?(?:case|data|suite)s?|(?:unit|integration|functional|system|smoke|regression|e2e|py(?:thon)?)[_-]tests?"
)
_HARNESS = ("test_*.py", "*_test.py", "tests.py", "conftest.py", "sitecustomize.py", "usercustomize.py", "setup.py",
            "noxfile.py", "tasks.py")  # fmt: skip


def main() -> None:
    """Serve one request: {"run", "project", "placing", "seconds", "candidates", "choice", "seed", "order", "memory",
    "exact", "skip", "protected", "failing", "said", "jointly", "spent", "quarantined", "donors", "given", "processes",
    "cpu_s"}."""
    request = json.loads(sys.stdin.readline())
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    _hush()
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if request["plain"]:
        sys.pycache_prefix = f"/tmp/no-bytecode-{os.getpid()}"  # noqa: S108  (never made)
    root = os.path.realpath(os.getcwd())
    placing = runpy.run_path(request["placing"])
    sys.path[:0] = placing["place"](request["run"], root, request["project"])
    sources: list[str] = []
    driver, checked = driver_for(request["run"], root, lambda: _stale(sources))
    sources += _sources(root, [*request["protected"], *(os.path.relpath(each, root) for each in checked)])
    server = ForkServer(time.monotonic() + request["seconds"], root, request["cpu_s"] or float("inf"))
    server.sources = frozenset(sources)

    def serve() -> None:
        try:
            _serve(server, request, out)
        except Exception:  # noqa: BLE001  (the edge of this process; pytest above would make something else of it)
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(70)
        os._exit(0)

    driver.run(serve)


def _serve(server: ForkServer, request: Mapping[str, Any], out: Any) -> None:
    def tell(**said: object) -> None:
        print(json.dumps(said), file=out, flush=True)

    wanted = _wanted(request)
    search = RepairSearch(server, wanted, lambda text: tell(note=text))

    def tell_found() -> None:
        """Tell the likeliest that passes so far, if it is the newest: who ends this process has that at least."""
        best = max(search.patches, key=weight)
        if best is search.patches[-1]:
            grounds = PatchGrounds(failing=len(search.first.failing), searched=False)
            _tell(tell, server, search, "", [best], grounds)

    search.passed = tell_found
    problem = search.run()
    patches = sorted(search.patches, key=lambda each: each.found_at)[:_PATCHES]

    def is_late() -> bool:
        return time.monotonic() > server.deadline + _ENDING_S

    unasked = not patches or is_late()
    pool = [] if unasked else asked(search.calls, wanted.seed, search.first.failing, search.healthy(patches))
    known = _vocabulary(search, patches)
    places = [place for each in patches for place in search.places_of(each)]
    until = server.cpu_s + _COMPARING_CPU_S
    ran = server.call({}, running(pool, known, places), seconds=2 * CPU_S) if pool else None
    inputs = telling(pool, ran)
    inputs = marked(inputs, server.call({}, aliens(inputs, pool, known), seconds=2 * CPU_S)) if inputs else []

    def ask(files: Mapping[str, bytes]) -> object:
        if not inputs or server.cpu_s > until or is_late():
            return None
        return server.call(files, answers(inputs, known), seconds=2 * CPU_S)

    before = ask({})
    noisy = noise(before, ask({}))

    def said(files: Mapping[str, bytes]) -> list[str]:
        return told_of(ask(files), noisy)

    donors = [said(files) for text in wanted.donors.values() if (files := in_place(search.programs, text))]
    choice = chosen(
        patches,
        lambda patch: said(patch.files) if patch else told_of(before, noisy),
        agreed(donors),
        inputs,
        search.raised,
        _returned(server, search.calls) if inputs else (),
    )
    grounds = replace(choice.grounds, failing=len(search.first.failing), searched=not wanted.given)
    if choice.patches:
        traced = server.whole(choice.patches[0].files, trace=True)
        grounds = _pinned(server, search, choice, _grounded(server, search, choice, traced, grounds), said, wanted.seed)
        grounds = replace(grounds, idle="; ".join(_idle(server, search, choice, traced, said, known)))
    _tell(tell, server, search, problem, choice.patches, grounds)


def _tell(
    tell: Callable[..., None], server: ForkServer, search: RepairSearch, problem: str, patches: Sequence[Patch],
    grounds: PatchGrounds,
) -> None:  # fmt: skip
    """Tell the result: patches, the one to propose first, and what was seen on the way."""
    tell(
        done=True, problem=problem, tried=search.tried,
        found_at=min((each.found_at for each in patches), default=0),
        patches=[told(each, rank) for rank, each in enumerate(patches)],
        grounds=asdict(grounds),
        timed_out=server.out_of_time(),
        places=search.places, loaded_anew=server.loaded_anew, trying_s=search.seconds, cpu_s=server.cpu_s,
        spent=sorted(search.spent), near=search.near,
        suspects=told_suspects(search.places, search.tree, search.localiser.ran, search.first, server.root),
    )  # fmt: skip


def _returned(server: ForkServer, calls: Sequence[Mapping[str, str]]) -> set[tuple[str, str]]:
    """The functions that tests call, each with the types that it returns to them."""
    exact = [Input(each["module"], each["function"], each["arguments"], seed=0) for each in calls]
    said = told_of(server.call({}, answers(exact, Vocabulary()), seconds=2 * CPU_S), ())
    return {(each.function, type_of(answer)) for each, answer in zip(exact, said, strict=False)}


def _vocabulary(search: RepairSearch, patches: Sequence[Patch]) -> Vocabulary:
    """Constants and types of the code that patches change and that tests call."""
    found: list[ast.AST] = []
    places = [place for each in patches for place in search.places_of(each)]
    for path in {path for path, _ in places} | {call["path"] for call in search.calls}:
        tree = search.tree(path)
        lines = {line for file, line in places if file == path}
        names = {call["function"] for call in search.calls if call["path"] == path}
        found += spoken_at(tree, lines, names) if tree is not None else ()
    return Vocabulary.of(found)


def _grounded(
    server: ForkServer, search: RepairSearch, choice: PatchChoice, traced: RunReport, grounds: PatchGrounds
) -> PatchGrounds:
    """Add what tests and examples say of the chosen patch, under which a run was traced."""
    best = choice.patches[0]
    places, passing = search.places_of(best), search.passing(best)
    calls = [each for each in calls_in(traced.trace) if each["test"] in passing | search.first.failing]
    keys = [(each["module"], each["function"], each["arguments"]) for each in [*calls, *search.healthy([best])]]
    inputs = [Input(*each, seed=0) for each in sorted({*keys})]
    ran = server.call({}, running(inputs, Vocabulary(), places), seconds=2 * CPU_S)  # the places are of the old text
    kept, mended, broken = search.examples(best)
    failing = {key for each, key in zip(calls, keys, strict=False) if each["test"] in search.first.failing}
    named = grounds.by_heart or _by_heart(server, best, [Input(*each, seed=0) for each in sorted(failing)])
    return replace(
        grounds, by_heart=named, passing=len(passing), repeated=_repeated(search.first.failing | passing),
        cases=len({*ran} - {""}) if isinstance(ran, list) else 0, shown=kept + mended, broken=broken,
    )  # fmt: skip


def _repeated(tests: Collection[str]) -> int:
    """Count the tests that are another one of these with other parameters."""
    return len(tests) - len({each.partition("[")[0] for each in tests})


def _by_heart(server: ForkServer, patch: Patch, inputs: Sequence[Input]) -> int:
    """Count the calls of failing tests that a patch spells out, of those that it answers otherwise than before."""
    before = {path: content_of(os.path.join(server.root, path)) for path in patch.files}
    literals = literals_brought(before, patch.files)
    if not literals:
        return 0
    old, new = (
        told_of(server.call(files, answers(inputs, Vocabulary()), seconds=2 * CPU_S), ()) for files in ({}, patch.files)
    )
    mended = [each for each, one, other in zip(inputs, old, new, strict=False) if one != other]
    said = server.call(patch.files, spelling(mended, literals), seconds=2 * CPU_S)
    return by_heart(said) if isinstance(said, list) else 0


def _pinned(
    server: ForkServer,
    search: RepairSearch,
    choice: PatchChoice,
    grounds: PatchGrounds,
    said: Callable[[Mapping[str, bytes]], list[str]],
    seed: int,
) -> PatchGrounds:
    """Add how far tests pin the chosen patch down: what passes with other constants, or in another form, too."""
    best, ends_s = choice.patches[0], server.cpu_s + _FORMS_CPU_S
    before = {path: content_of(os.path.join(server.root, path)) for path in best.files}

    def differs(files: Mapping[str, bytes]) -> bool:
        answered = said(files)
        return choice.look.differ(answered, choice.answers) or not any(answered)

    def goes_on() -> bool:
        return server.cpu_s < ends_s and not server.out_of_time()

    passes = partial(search.passes_in_form, places=search.places_of(best))
    spare = sum(bool(passes(each)) for each in shortened(before, best.files) if goes_on())
    constants = (each for each in other_constants(before, best.files) if goes_on() and passes(each))
    undecided = max((choice.undecided(said(each)) for each in constants), default=0)
    ends_s += _FORMS_CPU_S
    forms, alive = counted(other_forms(before, best.files, seed), passes, differs, goes_on)
    if search.localiser.at_import(search.places_of(best)):
        ends_s += _FORMS_CPU_S
        some = itertools.islice(itertools.takewhile(lambda _: goes_on(), other_forms(before, best.files, seed)), _FELT)
        healthy = search.passing(best)
        felt = {test for files in some for test in server.beside(files, healthy).failing & healthy}
        grounds = replace(grounds, passing=len(felt), repeated=_repeated(search.first.failing | felt), cases=0)
    return replace(grounds, forms=forms, alive=alive, open=undecided, spare=spare)


def _idle(
    server: ForkServer,
    search: RepairSearch,
    choice: PatchChoice,
    traced: RunReport,
    said: Callable[[Mapping[str, bytes]], list[str]],
    known: Vocabulary,
) -> Iterator[str]:
    """Say what the chosen patch, under which a run was traced, leaves without effect."""
    best, places = choice.patches[0], search.places_of(choice.patches[0])
    before = {path: content_of(os.path.join(server.root, path)) for path in best.files}
    yield from unread(before, best.files)

    def decides(files: Mapping[str, bytes]) -> bool:
        answered = said(files)
        alike = any(answered) and not choice.look.differ(answered, choice.answers)
        return not alike or search.passes_in_form(files, places) is not True

    def decided(files: Mapping[str, bytes]) -> bool:
        return choice.look.differ(said(files), choice.look.before)

    def is_reached(place: tuple[str, int]) -> bool:
        meant = [each for at, each in enumerate(choice.look.inputs) if choice.look.is_meant(at)]
        hit = server.call(best.files, running(meant, known, [place]), seconds=2 * CPU_S) if meant else None
        return isinstance(hit, list) and any(hit)

    yield from idle_parts(before, best.files, decides, decided)
    ran, touched = search.localiser.ran, search.localiser.running(places)
    others = together(lines for test, lines in ran.items() if test not in touched)
    runs = together(lines for test, lines in ran.items() if test in touched and test)
    old = {path: lines - others.get(path, set()) for path, lines in runs.items()}
    now = together(traced.lines.values())
    left = stranded(server.root, before, best.files, places, old, now) if traced.whole else []
    if left and (names := touched & search.localiser.beside):
        beside = server.beside(best.files, names, trace=True)
        now = together([now, *beside.lines.values()])
        left = stranded(server.root, before, best.files, places, old, now) if beside.whole else []
    gone = next((place for place in left[:_LINES_LOOKED_AT] if not is_reached(place)), None)
    if gone is not None:
        yield f"nothing runs line {gone[1]} of {os.path.relpath(gone[0], server.root)} any more"


def _wanted(request: Mapping[str, Any]) -> Wanted:
    return Wanted(
        candidates=request["candidates"],
        choice=request["choice"],
        seed=request["seed"],
        order=request["order"],
        memory=tuple(Remembered(**each) for each in request["memory"]),
        exact=tuple(tuple(marks) for marks in request["exact"]),
        skip=frozenset(request["skip"]),
        donors=request["donors"],
        quarantined=frozenset(request["quarantined"]),
        failing=frozenset(request["failing"]),
        said=request["said"],
        jointly=request["jointly"],
        spent=frozenset(request["spent"]),
        processes=max(1, min(request["processes"], _cores())),
        plain=request["plain"],
        given={path: bytes.fromhex(content) for path, content in request["given"].items()},
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _sources(root: str, left_out: Sequence[str]) -> list[str]:
    """Absolute paths of the Python files that may be changed: neither tests nor harness nor what is protected."""
    found = []
    for path in _walk(root):
        name = os.path.relpath(path, root)
        base = os.path.basename(name)
        harness = any(fnmatch.fnmatchcase(base, each) for each in _HARNESS)
        if not harness and not any(_covers(each, name) for each in left_out):
            found.append(path)
    return found


def _walk(root: str) -> Iterator[str]:
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            each
            for each in folders
            if not each.startswith((".", "__pycache__")) and each not in _LEFT_OUT and not TEST_FOLDER.fullmatch(each)
        )
        for name in sorted(names):
            if name.endswith(".py"):
                count += 1
                yield os.path.join(folder, name)
        if count > _FILES:
            return


def _covers(pattern: str, name: str) -> bool:
    pattern = os.path.normpath(pattern)
    try:
        matched = fnmatch.fnmatchcase(name, pattern)
    except re.error:  # a range that runs backwards, to an older Python
        matched = False
    return matched or name == pattern or name.startswith(pattern.rstrip("/*") + "/")


def _stale(sources: Sequence[str]) -> bool:
    """Tell whether a file of the program is imported already, in the server."""
    held = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    return any(path in held for path in sources)


def _hush() -> None:
    """Silence what the tests print; only answers reach the outside."""
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(quiet, stream)
