"""Find the small edit under which all tests pass; long, since request, search and answer are one form."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Literal

from ratchet.arguments import finite
from ratchet.failures.failed_tests import name_of
from ratchet.healing.episode import Memo, Verdict
from ratchet.healing.job import Solved, SolveJob, SolverOptions
from ratchet.healing.judges.grading import INSIDE, python_of
from ratchet.healing.judges.readers import untouched
from ratchet.healing.solvers.faults import cause_of, rival_of
from ratchet.healing.solvers.repairing.grounds import FEW_INPUTS, PatchGrounds
from ratchet.healing.solvers.repairing.search import NO_TEST
from ratchet.healing.solvers.singly import solved
from ratchet.healing.solvers.survey import executable
from ratchet.healing.solvers.unwritten import beyond_edits
from ratchet.healing.testruns import counted_arguments, reading, suite_run
from ratchet.ports import Sandbox
from ratchet.records import Json
from ratchet.sandbox.command import Command, Limits, Ran, View

Order = Literal["best", "coverage", "random"]

_PACKAGE = Path(__file__).parent / "repairing"
_PLACING = INSIDE / "placing.py"
# Loaded by path under a name of its own: the interpreter inside may be a project's, without Ratchet, and the project
# may well hold a package of any name.
_START = (
    "import importlib.util as u, sys; sys.path[:] = [p for p in sys.path if p]; "
    "s = u.spec_from_file_location('_ratchet_repairing', {0} + '/__init__.py', submodule_search_locations=[{0}]); "
    "m = u.module_from_spec(s); sys.modules[s.name] = m; s.loader.exec_module(m); "
    "import _ratchet_repairing.inside as i; i.main()"
)
CHOICE = 400  # candidates after the first that passes, at most
_GRACE_S = 5.0  # of the time that is left, what it takes to end, compare and judge
# The search ends by itself so long before its limit, since what it is at may take seconds more on a busy machine.
_ENDING_S, _ENDING_SHARE = 10.0, 0.05
_LONGEST_S = 1_200.0
_CHECKS, _CHECKS_SHARE = 3.0, 0.25  # for the full check: times its first run, of the time that is left at most
_LATE = "a patch passes the tests here, and the time was up before the full check could tell: --budget-s gives more"
_STOPPED = "a patch passes the tests here, and the attempt was stopped before the full check could tell"
_PROCESSES = 4  # each may use memory of its own
_JUDGED = 4  # patches shown to the full check
_SOURCE_BYTES = 2**24  # of a file that a patch changes
_RIVALS = 3  # shown beside a doubtful answer
_ALIKE = 3  # patches that change nothing for the judge, after which none will: as `Budget.breaker`
_TRACED_S = 60.0  # for a run that only looks
_TOLD_KB = 32_768  # of patches, which are told as whole files
_TOLD_CHARS, _WORDS = 60, re.compile(r"\w+|\W")  # of what an edit takes out or brings
_REMEMBERED = 200  # successes that count for the order
_EXACT = 8  # edits that are made again before any other
_UNTOLD: dict[str, Json] = {"plain": 0.0, "foretold": 0.0}


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Result of the search inside the sandbox."""

    patches: tuple[Mapping[str, Json], ...] = ()
    tried: int = 0
    found_at: int = 0
    """The first candidate that passed; 0: none did. Those after it were tried to have a choice."""
    problem: str = ""
    timed_out: bool = False
    grounds: PatchGrounds = field(default_factory=PatchGrounds)
    """What speaks for the first patch."""
    places: tuple[tuple[str, int, float], ...] = ()
    """Lines of the program by how suspect they are: (path, line, suspicion), the most suspect first."""
    suspects: tuple[str, ...] = ()  # the most suspect functions, and why
    near: tuple[Mapping[str, Json], ...] = ()
    """Edits that helped without being enough: {"marks", "gained": tests}, the best first."""
    loaded_anew: int = 0
    """Candidates for which all was imported again."""
    spent: tuple[str, ...] = ()
    """Candidates that came to nothing, as `SearchRequest.spent` takes them."""
    trying_s: float = 0.0
    """CPU time that the candidates took, without what came before the first."""
    cpu_s: float = 0.0
    """CPU time that all of it took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search to run. `signature` is that of the failure: memos that carry it, or mended a failing test, come
    first, as they are."""

    check: tuple[str, ...]
    candidates: int = 2_000
    choice: int = CHOICE
    """At most so many candidates after the first that passes, to choose from."""
    seconds: float = _LONGEST_S
    """By the clock."""
    cpu_s: float = 0.0
    """CPU time, which says how much was looked at whatever else a machine does; 0: as much as there is by the clock."""
    seed: int = 0
    order: Order = "best"
    protected: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    spent: tuple[str, ...] = ()
    """What an earlier search of the same files told in `SearchResult.spent`: not to be tried again."""
    quarantined: tuple[str, ...] = ()
    """Tests that count for nothing."""
    failing: tuple[str, ...] = ()
    """Tests that fail for the judge, by its names; none where it only counts."""
    jointly: bool = False
    """Search only where one change can mend all: where the failing tests have a line of the program in common."""
    said: str = ""
    """What the check printed: its comparisons tell in which pieces a text came out otherwise."""
    plain: bool = False  # load the tests anew for every candidate: the baseline of a benchmark
    memos: Sequence[Memo] = ()
    signature: str = ""
    donors: Mapping[str, str] = field(default_factory=dict)
    """Texts of other implementations that are right, by the path that they came from."""
    processes: int = _PROCESSES
    """Candidates that run at once, at most; no more than there are cores. What is found, and when, does not depend on
    it."""
    given: Mapping[str, bytes] = field(default_factory=dict)
    """Files of a patch that somebody else found: it alone is run, to be weighed."""


class Repair:
    """Tries one-edit changes of Python files in the order of what is most likely, by running the tests."""

    name = "repair"

    def __init__(self, options: SolverOptions | None = None, *, order: Order = "best", cpu_s: float = 0.0) -> None:
        del options  # it needs neither network nor variables
        self._order = order
        self._cpu_s = cpu_s

    def solve(self, job: SolveJob) -> Solved:
        """A change that mends all tests; else those that mend some and break none."""
        return solved(job, self._solved)

    def _solved(self, job: SolveJob, jointly: bool = False) -> Solved:
        """Search, and go on searching where the full check refuses what passes here, as long as there is time."""
        skip = tuple(str(each.memo["key"]) for each in job.tried if "key" in each.memo and each.status != "passed")
        tried, used_s, refused, spent = 0, 0.0, "", tuple[str, ...]()
        alike, before = list[bool](), (job.failure.signature, job.failure.reason)
        told = beyond_edits(job.failure, untouched(job.workspace.view()))
        if told and not job.donors:
            return Solved(status="gave_up", reason=told)
        while True:
            left = job.purse.seconds_left()
            seconds = min(_LONGEST_S, left - max(_GRACE_S, min(_CHECKS * job.failure.duration_s, _CHECKS_SHARE * left)))
            if seconds <= 0 or 0 < self._cpu_s <= used_s or job.cancelled():
                return Solved(status="gave_up", candidates=tried, reason=refused or "no time is left to try anything")
            cpu_s = max(0.0, self._cpu_s - used_s)
            more = job.candidates - tried
            found = self._search(job, seconds, cpu_s, candidates=more, skip=skip, spent=spent, jointly=jointly)
            tried, used_s = tried + found.tried, used_s + found.cpu_s
            if not found.patches:
                reason = found.problem or exhausted(replace(found, tried=tried), job.candidates)
                reason = "; ".join(filter(None, (refused, reason)))
                return Solved(status="gave_up", candidates=tried, reason=reason, hints=hints_of(found))
            judged, against = self._proposed(job, found)
            if judged is not None:
                return replace(judged, candidates=judged.candidates + tried - found.tried)
            if against and against[-1].killed == "cancel":
                reason = _STOPPED if job.cancelled() and job.purse.seconds_left() > 0 else _LATE
                return Solved(status="gave_up", candidates=tried, reason=reason, hints=hints_of(found))
            skip = (*skip, *(str(patch.get("key")) for patch in found.patches[:_JUDGED]))
            spent = (*spent, *found.spent)
            reason = against[-1].reason if against else ""
            refused = f"{len(skip)} patches pass the tests here, but not the full check ({reason})"
            alike += [(each.signature, each.reason) == before for each in against]
            if alike[-_ALIKE:] == [True] * _ALIKE:
                refused += "; the judge says the same of each as of the untouched project: look at the judge"
                return Solved(status="gave_up", candidates=tried, reason=refused)
            job.note(f"{refused}; the search goes on")

    def _search(
        self, job: SolveJob, seconds: float, cpu_s: float, *, candidates: int, skip: Sequence[str],
        spent: Sequence[str], jointly: bool,
    ) -> SearchResult:  # fmt: skip
        """Run the search where nothing that a candidate does is kept."""
        trial = job.workspace.fork(job.workspace.checkpoint())
        try:
            asked = SearchRequest(
                check=job.task.check,
                candidates=candidates,
                seconds=seconds,
                cpu_s=cpu_s,
                seed=job.seed,
                order=self._order,
                protected=job.task.protected,
                skip=tuple(skip),
                spent=tuple(spent),
                quarantined=job.task.quarantined,
                failing=job.failure.tests.failed_ids if job.failure.tests else (),
                said=job.failure.output,
                jointly=jointly,
                memos=job.memos,
                signature=job.failure.signature,
                donors=job.donors,
            )
            return search(asked, job.sandbox, trial.view(), limits=job.limits, cancelled=job.cancelled, note=job.note)
        finally:
            trial.close()

    def _proposed(self, job: SolveJob, found: SearchResult) -> tuple[Solved | None, list[Verdict]]:
        """The first patch that the full check takes, in the workspace; None, and what it said of those it refused."""
        start = job.workspace.checkpoint()
        against: list[Verdict] = []
        paths = _paths(found.patches[:_JUDGED])
        runnable = executable(job.workspace, job.sandbox, paths)
        sources = {path: job.workspace.read(path, limit_bytes=_SOURCE_BYTES) for path in _paths(found.patches)}
        for patch in found.patches[:_JUDGED]:
            if job.cancelled():
                break
            for path, content in files_of(patch).items():
                job.workspace.write(path, content, mode=0o755 if path in runnable else 0o644)
            verdict = job.judge(job.workspace)
            if verdict.passed:
                return _solved(patch, found, sources), against
            against.append(verdict)
            job.workspace.restore(start)
        return None, against


def suspects(job: SolveJob) -> dict[str, list[int]]:
    """Lines of the program by how suspect they are, as a run of the failing tests tells: path -> lines, the file of the
    most suspect one first. Empty where no Python is seen to run. Raises SandboxError."""
    trial = job.workspace.fork(job.workspace.checkpoint())
    try:
        failing = job.failure.tests.failed_ids if job.failure.tests else ()
        seconds = min(_TRACED_S, job.purse.seconds_left() / 4)
        asked = SearchRequest(check=job.task.check, candidates=0, seconds=seconds, failing=failing)
        found = search(asked, job.sandbox, trial.view(), limits=job.limits, cancelled=job.cancelled)
    finally:
        trial.close()
    return by_file(found)


def by_file(found: SearchResult) -> dict[str, list[int]]:
    """The suspect lines of a search: path -> lines, the most suspect first."""
    lines: dict[str, list[int]] = {}
    for path, line, _ in found.places:
        lines.setdefault(path, []).append(line)
    return lines


def search(
    asked: SearchRequest,
    sandbox: Sandbox,
    view: View,
    *,
    limits: Limits | None = None,
    cancelled: Callable[[], bool] | None = None,
    note: Callable[[str], None] = lambda _text: None,
) -> SearchResult:
    """Search in a folder that is given up for it: one sandbox for all candidates. Raises SandboxError."""
    run = suite_run(asked.check, reading(untouched(view)))
    request = {
        "run": asdict(replace(run, arguments=tuple(counted_arguments(run)))), "placing": str(_PLACING),
        "project": str(view.known_as or ""), "candidates": asked.candidates,
        "seconds": asked.seconds - min(_ENDING_S, _ENDING_SHARE * asked.seconds),
        "choice": asked.choice, "seed": asked.seed, "order": asked.order, "plain": asked.plain,
        "processes": asked.processes, "cpu_s": asked.cpu_s,
        "protected": list(asked.protected), "skip": list(asked.skip), "failing": list(asked.failing),
        "said": asked.said, "jointly": asked.jointly,
        "spent": list(asked.spent), "quarantined": list(asked.quarantined), "donors": dict(asked.donors),
        "given": {path: content.hex() for path, content in asked.given.items()},
        **remembered(asked.memos, asked.signature, tests=asked.failing),
    }  # fmt: skip
    wall_s, cpu_s = asked.seconds + _GRACE_S / 2, 2 * asked.seconds + 60
    command = Command(
        argv=(python_of(run, view), "-c", _START.format(repr(str(_PACKAGE)))),
        view=view,
        limits=replace(limits or Limits(), wall_s=wall_s, cpu_s=cpu_s, idle_s=None, output_kb=_TOLD_KB),
        readable=(_PACKAGE, _PLACING.parent),
        stdin=(json.dumps(request) + "\n").encode(),
    )
    return _read(sandbox.run(command, cancelled=cancelled, on_output=_Notes(note)))


class _Notes:
    """Passes on what the search says of itself while it runs."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._rest = b""

    def __call__(self, stream: str, data: bytes) -> None:
        if stream != "stdout":
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            said = _object(line)
            if isinstance(said.get("note"), str):
                self._note(str(said["note"])[:200])


def remembered(memos: Sequence[Memo], signature: str, *, tests: Sequence[str] = ()) -> dict[str, Json]:
    """Collect what the search is told of earlier successes: the edits that fixed this very failure, then those that
    mended one of these tests, the newest first, and the classes of all of them."""
    failing = frozenset(map(name_of, tests))
    exact: list[Json] = []
    same: list[Json] = []
    memory: list[Json] = []
    known: set[tuple[str, str]] = set()
    for memo in sorted(memos, key=lambda each: each.at, reverse=True)[:_REMEMBERED]:
        marks = memo.note.get("marks")
        if not isinstance(marks, list) or not all(isinstance(each, dict) for each in marks):
            continue
        if signature and memo.signature == signature and marks not in exact:
            exact.append(marks)
        elif not failing.isdisjoint(memo.tests) and marks not in same:
            same.append(marks)
        once = (memo.task, json.dumps(marks, sort_keys=True))
        if once not in known:  # a failure that comes back again and again is one program's
            known.add(once)
            memory += _classes(memo)
    return {"exact": [*exact, *(each for each in same if each not in exact)][:_EXACT], "memory": memory}


def _classes(memo: Memo) -> list[Json]:
    """The classes of a memo's edits. What was foretold, it was of the last of them."""
    found: list[Json] = []
    for mark in _list(memo.note.get("marks")):
        assert isinstance(mark, dict)
        found.append({**{name: str(mark.get(name, "")) for name in ("family", "shape", "site")}, **_UNTOLD})
    last = found[-1] if found else None
    if isinstance(last, dict):
        last.update({name: finite(memo.note.get(name)) or 0.0 for name in _UNTOLD})
    return found


def _read(ran: Ran) -> SearchResult:
    """Read what the search said. The programs it ran could have forged it: it is only ever a proposal."""
    said: Mapping[str, Json] = {}
    for line in ran.stdout.split(b"\n"):
        found = _object(line)
        said = found if found.get("done") is True else said
    if not said:
        how = f"ended by its limit ({ran.killed})" if ran.killed else f"ended with exit code {ran.exit_code}"
        last = ran.stderr.decode(errors="replace").strip().splitlines()[-1:]
        late = ran.killed in ("wall", "cpu")
        return SearchResult(problem=f"the search {how}{': ' + last[0][:200] if last else ''}", timed_out=late)
    return SearchResult(
        patches=tuple(each for each in _list(said.get("patches")) if isinstance(each, dict) and files_of(each)),
        tried=_count(said.get("tried")),
        found_at=_count(said.get("found_at")),
        problem=_problem(str(said.get("problem") or ""), ran.stderr),
        grounds=_grounds(said.get("grounds")),
        timed_out=said.get("timed_out") is True,
        places=tuple(_places(said.get("places"))),
        suspects=tuple(str(each)[:300] for each in _list(said.get("suspects"))),
        near=tuple(each for each in _list(said.get("near")) if isinstance(each, dict)),
        loaded_anew=_count(said.get("loaded_anew")),
        spent=tuple(map(str, _list(said.get("spent")))),
        trying_s=finite(said.get("trying_s")) or 0.0,
        cpu_s=finite(said.get("cpu_s")) or 0.0,
    )


def _problem(said: str, stderr: bytes) -> str:
    """Why nothing was searched, with what the runner complained of where it would not run at all."""
    if said != NO_TEST:
        return said
    errors = [line for line in stderr.decode(errors="replace").splitlines() if line.startswith("ERROR: ")]
    return f"{said}: {errors[0].removeprefix('ERROR: ')[:300]}" if errors else said


def _grounds(said: Json) -> PatchGrounds:
    held = said if isinstance(said, dict) else {}
    numbers = {each.name: held.get(each.name) for each in fields(PatchGrounds) if each.type != "str"}
    figures = {name: held for name, held in numbers.items() if isinstance(held, int | float)}
    return PatchGrounds(**figures, idle=str(held.get("idle") or "")[:300])  # type: ignore[arg-type]  # (numbers)


def doubts(found: SearchResult, patch: Mapping[str, Json]) -> str:
    """Reasons to look twice at a patch, "" for one that is sure. The figures are those of the first."""
    marks = [each for each in _list(patch.get("marks")) if isinstance(each, dict)]
    functions = {(str(each.get("path")), str(each.get("function"))) for each in marks if each.get("function")}
    families = [str(each.get("family")) for each in marks]
    said = [*found.grounds.doubts(families, len(functions) or 1)]
    if found.patches and patch is not found.patches[0]:
        said.append("the full check refused what seemed the better one")
    return "; ".join(said)


def _places(said: Json) -> Iterator[tuple[str, int, float]]:
    for each in _list(said):
        match each:
            case [str(path), int(line), float(much)]:
                yield path, line, much


def files_of(patch: Mapping[str, Json]) -> dict[str, bytes]:
    """The new contents in a patch: Python files below the project's folder only."""
    files = patch.get("files")
    found: dict[str, bytes] = {}
    for path, content in files.items() if isinstance(files, dict) else ():
        plain = path.endswith(".py") and not path.startswith("/") and ".." not in Path(path).parts
        if not plain or not isinstance(content, str):
            return {}
        try:
            found[path] = bytes.fromhex(content)
        except ValueError:
            return {}
    return found


def _paths(patches: Sequence[Mapping[str, Json]]) -> list[str]:
    return sorted({path for patch in patches for path in files_of(patch)})


def rivals(patch: Mapping[str, Json], found: SearchResult, sources: Mapping[str, bytes]) -> list[str]:
    """Other patches that pass and answer otherwise, or on so few inputs alike that they may, the likeliest first.
    `sources` are the files as they were."""
    alike = found.grounds.allies if found.grounds.compared >= FEW_INPUTS else 0
    others = found.patches[1 + (found.patches.index(patch) or alike) :][:_RIVALS]
    return [rival_of(path, sources[path], text) for other in others for path, text in files_of(other).items()]


def _solved(patch: Mapping[str, Json], found: SearchResult, sources: Mapping[str, bytes]) -> Solved:
    marks = [each for each in _list(patch.get("marks")) if isinstance(each, dict)]
    doubt, told = doubts(found, patch), found.grounds.told()
    more = found.tried - found.found_at
    also = f"; of {more} more, tried for a choice, {len(found.patches) - 1} passed, too" if more else ""
    found_at, before = f"candidate {patch.get('found_at')} passed", "the edit that fixed this failure before"
    return Solved(
        status="proposed",
        cause=cause_of(marks, files_of(patch)),
        fix="; ".join(map(_told, marks)),
        candidates=found.found_at,
        alternatives=found.tried - found.found_at,
        standing="doubtful" if doubt else "sure",
        evidence="\n".join([f"{doubt};", told, *rivals(patch, found, sources)]) if doubt else told,
        note=(before if patch.get("exact") is True else found_at) + also,
        memo=note_of(patch),
    )


def note_of(patch: Mapping[str, Json]) -> dict[str, Json]:
    """Note what to remember of a patch that passed."""
    return {name: patch.get(name) for name in ("marks", "plain", "foretold", "key", "found_at")}


def _told(mark: Mapping[str, Json]) -> str:
    before, text = (" ".join(str(mark.get(name, "")).split()) for name in ("before", "text"))
    if before == text:
        return f"moved `{text[:_TOLD_CHARS]}`"
    old, new = _WORDS.findall(before), _WORDS.findall(text)
    words = [pair for pair in zip(old, new, strict=False) if pair[0] != pair[1]]
    if len(old) == len(new) and len(words) > 1 == len({*words}):  # a name, all through a piece of code
        return f"`{words[0][0]}` became `{words[0][1]}`, {len(words)} times"
    before, text = before[:_TOLD_CHARS], text[:_TOLD_CHARS]
    if not before:
        return f"added `{text}`"
    return f"`{before}` became `{text}`" if text else f"took out `{before}`"


def hints_of(found: SearchResult) -> tuple[str, ...]:
    """Findings of a search that found nothing, for whoever tries next, one line each: the worst suspect first."""
    near = [
        f"{'; '.join(_told(mark) for mark in marks)} at {marks[0].get('path')}:{marks[0].get('line')} was not enough"
        + (f": {', '.join(map(str, helped[:3]))} passed with it" if (helped := _list(each.get("gained"))) else "")
        for each in found.near
        if (marks := [mark for mark in _list(each.get("marks")) if isinstance(mark, dict)])
    ]
    passing = f"; {len(found.patches)} of them pass the tests here" if found.patches else " without success"
    tried = f"{found.tried} small edits were tried{passing}"
    places = found.suspects or ("unknown, since it was not seen what the failing tests run",)
    suspects = [] if found.patches else [f"suspect: {each}" for each in places]
    return (tried, *suspects, *near) if found.tried else ()


def exhausted(found: SearchResult, most: int) -> str:
    """Why a search ended that found nothing; `most` is how many candidates it was given."""
    end = "--candidates allows no more" if found.tried >= most else "there are no others"
    if found.timed_out:
        end = "the time was up: --budget-s gives more"
    more = "more than small edits of Python takes a model or a coding agent: --solver model, --solver command:WORDS"
    return f"none of {found.tried:,} small edits makes the check pass ({end}); {more}"


def _count(value: Json) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _object(line: bytes) -> Mapping[str, Json]:
    try:
        found = json.loads(line) if line.strip() else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
