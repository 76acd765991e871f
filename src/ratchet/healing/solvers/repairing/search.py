"""Search for edits that make all tests pass; in one file, since every step reads what the others have found out."""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from .branching import Partial, Partials, State, gained, key_of, promise
from .choosing import is_doubtful
from .compiling import SourceFile
from .donating import donors_of
from .examples import Examples
from .expecting import TestsExpect, expected_of
from .keeping import Begun
from .localising import Localiser, calls_in, import_path, teach, told_places
from .marks import changed, differences, fewer, mark, size_of
from .ordering import Ranked, ranked
from .program import Program, content_of
from .recollection import trust
from .repeating import needed
from .server import UNFINISHED, ForkServer, RunReport
from .sieve import Sieve
from .spectrum import Place
from .swapping import Swap, swaps_of
from .transplanting import Transplants
from .untried import Untried
from .waiting import Pause
from .wanted import Patch, Wanted

_BRANCH_AFTER = 40  # candidates before edits on top of others are tried, too
_LIKELY = 0.3  # power of an edit's share, beside the mean, in what may be built on it
_ROOT_SHARE = 0.75  # of the candidates: from here on every other one is an edit on top of others
_BRANCH_EVERY, _DEPTH = 3, 3
_AHEAD = 6  # candidates that come next, among which those are that can run beside others
# Candidates after the first that passes, to have something to choose from: as many as it took, and this many at least;
# few where memory speaks for the edit. The right one is often only the second or third that passes.
_MORE_AT_LEAST, _MORE_IF_KNOWN = 150, 20
# What they may take, as CPU time, since a busy machine is no reason to look less: as much as there was until the first
# passed, or so much where that was less; in seconds eight times that, and a seventh of the time that is left, at most.
_CHOICE_CPU_S, _DOUBTFUL_CPU_S, _WALL_TIMES, _CHOICE_SHARE = 3.0, 8.0, 8.0, 0.15
_BEYOND = 250.0  # times as likely as the next one: no comparison of answers makes up for that
_SPECIAL = frozenset({"constant", "returned", "initial"})
_DONATED = 0.002  # how likely an edit after a donor is: about that of the first edits of the plain order
_KNOWN = 10.0  # times as likely by a memory that has the say as without it
_ENDLESS = frozenset({UNFINISHED, "TimeUp", "RecursionError", "MemoryError"})
_STATES, _SLOWER, _SECOND_LOOKS = 24, 10.0, 60
NO_TEST = "no test could be run"
_PLACES, _NEAR = 2_000, 4  # suspect lines, and edits that helped, that are told


class RepairSearch:
    """One search. `patches` grows while it runs; `tried` counts candidates."""

    def __init__(self, server: ForkServer, wanted: Wanted, note: Callable[[str], None]) -> None:
        self._server, self._wanted, self._note = server, wanted, note
        self._root, self._pause = server.root, Pause()
        self.localiser = Localiser(server, self.tree)
        self._examples = Examples(server, self._module_of)
        self.passed: Callable[[], None] = lambda: None  # called when there is another patch
        self._files: dict[str, SourceFile | None] = {}
        self._imported: Mapping[str, Collection[int]] = {}
        self.places: list[tuple[str, int, float]] = []
        """Lines by how suspect they are, the most suspect first."""
        self._seen = set(wanted.spent)
        self.spent: set[str] = set()
        """Candidates that came to nothing and need not be tried again."""
        self._last = ""
        self._ahead: dict[str, Begun] = {}
        """Candidates that run before it is their turn, by their keys."""
        self.patches: list[Patch] = []
        self.tried = 0
        self.seconds = 0.0
        """CPU time that the candidates took, without what came before the first."""
        self.calls: list[Mapping[str, str]] = []
        self.programs: Mapping[str, Program] = {}
        """The files that the failing tests run."""
        self.first = RunReport()
        self._expected = TestsExpect()
        self._states: list[State] = []
        self._partials = Partials()
        self._cut_short: list[Patch] = []
        self._fruitful: State | None = None
        self._until = wanted.candidates
        self._ends_at = server.deadline
        self._first_cpu_s, self._first_at, self._cpu_ends_s = 0.0, 0.0, float("inf")

    def run(self) -> str:
        """Search to the end; "" if something was tried, else why not."""
        self._server.left_out = self._wanted.quarantined
        self.first = self._server.whole({})
        if not self.first.tests:
            return NO_TEST
        problem = self._differs()
        if problem:
            return problem
        self._server.measured(self.first)
        self._expected = expected_of(sorted(self.first.failing), self._root, self._wanted.said)
        root = State(files={}, marks=(), report=self.first)
        self._states = [root]
        known = self._from_memory()
        self._open(root)
        self.calls, self.programs = root.calls, root.programs
        if known:
            return ""
        problem = self.localiser.unfit(self.places, self.first.failing if self._wanted.jointly else ())
        if problem:
            return problem
        if self._wanted.given:
            return self._weigh(self._wanted.given)
        if not self._wanted.candidates:
            return ""
        if not self._wanted.plain:
            self._server.keep_loaded(self._wanted.processes)
        began = self._server.cpu_s
        self._from_donors(root)
        while self.tried < self._until and not self._out_of_time():
            state = self._next_state()
            if state is None:
                break
            one = next(state.untried, None)
            if one is None or (not state.marks and self._is_settled(one)):
                self._states.remove(state)
                continue
            self._try(state, one)
        for each in self._ahead.values():
            self._server.dropped(each)
        self._look_again()
        self.seconds = self._server.cpu_s - began
        return ""

    def _differs(self) -> str:
        """Why there is nothing to mend here, "" where there is. Only what fails for the judge, too, is to be mended:
        a healthy test that the search cannot run is none of its affair."""
        failing, judged = self.first.failing, self._wanted.failing
        strays = failing - judged if failing & judged else frozenset()
        if strays:
            self._note(f"left out, since only the search fails them: {', '.join(sorted(strays)[:3])}")
            self._server.left_out |= strays
            self.first = self._server.without(self.first)
        if judged and not failing & judged and judged <= self.first.passing:
            return f"{min(judged)} passes when the search runs it; the check may depend on the order or on the time"
        return "" if failing else "every test passes here"

    def _weigh(self, files: Mapping[str, bytes]) -> str:
        """Run a patch that is given; "" where it passes here, too."""
        before = {path: content_of(os.path.join(self._root, path)) for path in files}
        marks = tuple(each for path in files for each in differences(path, before[path], files[path]))
        if not self._passes(self._server.whole(files)):
            return "it does not pass when the search runs it"
        self.patches = [Patch(files, marks, 1, size=size_of(marks))]
        return ""

    def passing(self, patch: Patch) -> frozenset[str]:
        """Tests that passed from the beginning, of the check or beside it, and run what a patch changes."""
        return (self.first.passing | self.localiser.beside) & self.localiser.running(self.places_of(patch))

    @property
    def near(self) -> list[dict[str, object]]:
        """The edits that helped most without being enough, with the tests that pass then."""
        found = sorted((each for each in self._states if each.marks), key=lambda each: -each.promise)
        return [
            {"marks": [dict(each) for each in state.marks], "gained": sorted(gained(self.first, state.report) or ())}
            for state in found[:_NEAR]
        ]

    @property
    def raised(self) -> frozenset[str]:
        """Names of the exceptions that failing tests expect."""
        return frozenset(kind.rpartition(".")[2] for kind, _ in self._expected.raised)

    def healthy(self, patches: Sequence[Patch]) -> list[Mapping[str, str]]:
        """Calls by tests beside those of the check, which pass and run what one of some patches changes."""
        return self.localiser.calls([place for each in patches for place in self.places_of(each)])

    def places_of(self, patch: Patch) -> list[Place]:
        """Places of the program that a patch changes."""
        old = {path: content_of(os.path.join(self._root, path)) for path in patch.files}
        places = [(os.path.join(self._root, path), line, adds) for path, line, adds in changed(patch, old)]
        # A definition that only stands beside what is new is run at import, and speaks for nothing.
        telling = [each[:2] for each in places if not each[2] or not self.localiser.at_import([each[:2]])]
        return telling or [each[:2] for each in places]

    def examples(self, patch: Patch) -> tuple[int, int, int]:
        """Count examples in the program's texts that run what a patch changes: still right, right only with it, and
        wrong only with it."""
        return self._examples.told(self.places_of(patch), patch.files)

    def passes_in_form(self, files: Mapping[str, bytes], places: Sequence[Place]) -> bool | None:
        """Tell whether other forms of a patch's lines pass all that it has to pass; None where these are no Python."""
        for path, content in files.items():
            file = self._file(path)
            if file is None or file.against(content) is None:
                return None
        swaps = self._swaps(files)
        begun = self._begun(swaps) if swaps is not None else None
        report = self._server.ended(begun) if begun is not None else self._server.candidate(files)
        return report is not None and self._passes(report) and self._keeps(files, places)

    def _module_of(self, path: str) -> str:
        """The name under which the tests know a file, "" where they do not call it themselves."""
        return next((call["module"] for call in self._states[0].calls if call["path"] == path), "")

    # -- what comes next -----------------------------------------------------------------------------------------------

    def _next_state(self) -> State | None:
        """The root, and now and then the most promising of the others; later the other way round."""
        if not self._states:
            return None
        root, others = self._states[0], self._states[1:]
        if self._fruitful in self._states and (self.tried % _BRANCH_EVERY == 0 or root.marks):
            return self._fruitful  # what else passes is likely beside what did
        if self.patches and not root.marks:
            return root  # one edit is likelier to be right than two
        if self._states[0].marks:
            others = self._states
        turn = self.tried % _BRANCH_EVERY
        late = self.tried > _ROOT_SHARE * self._wanted.candidates
        deeper = self.tried % 2 == 0 if late else (turn == 0 and self.tried >= _BRANCH_AFTER)
        if others and (deeper or self._states[0].marks):
            best = max(others, key=lambda each: each.worth)
            if not best.opened:
                self._open(best)
            return best
        return root

    def _open(self, state: State) -> None:
        """See what its tests run, and put its edits into order."""
        state.opened = True
        located = self.localiser.located(state.files, state.report, self._expected)
        suspect, lines = located.suspicion, located.lines
        if not suspect:
            # Nothing was seen to run (other processes do): then every line may be it.
            suspect, lines = told_places(sorted(self._server.sources), self._wanted.said)
        state.calls = calls_in(located.trace)
        if not state.marks:
            self._imported, self._server.import_path = located.imported, import_path(located.trace)
            first = (located.telling or lines)[:_PLACES]
            self.places = [(os.path.relpath(path, self._root), line, suspect[path, line]) for path, line in first]

        def program_of(path: str) -> Program | None:
            name = os.path.relpath(path, self._root)
            if name not in state.programs:
                try:
                    state.programs[name] = Program(name, state.files.get(name) or content_of(path))
                except (OSError, SyntaxError, ValueError, RecursionError):
                    return None  # what cannot be read as Python is not what templates can change
                state.programs[name].expected = self._expected
                state.programs[name].crashes = state.report.crashes(path)
                teach(state.programs[name], path, located.trace)
            return state.programs[name]

        if self._wanted.donors:  # they may speak of any of the functions that were run
            for path in dict.fromkeys(path for path, _ in suspect):
                program_of(path)
        endless = all(state.report.tests[name].error in _ENDLESS for name in state.report.failing)

        wanted = self._wanted
        rank = partial(
            ranked, suspicion=suspect, memory=wanted.memory, root=self._root, seed=wanted.seed, order=wanted.order,
            endless=endless, imported=self._imported, again={(each["before"], each["text"]) for each in state.marks},
        )  # fmt: skip
        sift = Sieve(self._server, state.programs).sifted
        seen = bool(located.suspicion) and not state.marks and self._wanted.order == "best"
        state.untried = Untried(program_of, lines, rank, self._server.deadline, *([sift] if seen else []))

    # -- one candidate -------------------------------------------------------------------------------------------------

    def _try(self, state: State, one: Ranked) -> None:
        program = state.programs[one.edit.path]
        content = program.encoded((one.edit,))
        if not self._is_new(one.edit.path, content, tuple(sorted(state.files.items()))):
            return
        state.tried += 1
        files = {**state.files, one.edit.path: content}
        marks = (*state.marks, mark(one.edit))
        report = self._run(files, lambda: self._look_ahead(state))
        if self._passes(report):
            self._fruitful = self._fruitful or state
            self._found(Patch(files, marks, self.tried, one.plain, one.foretold, size_of(marks)))
        elif report.cut_short:
            self._cut_short.append(Patch(files, marks, self.tried, one.plain, one.foretold, size_of(marks)))
        elif len(marks) < _DEPTH:
            if not self.patches:
                likely = max(one.plain * state.untried.width, 0.01) ** _LIKELY if one.plain else 1.0
                self._keep_if_better(state, State(files=files, marks=marks, report=report, likely=likely))
            if not state.marks and all(len(each.marks) > 1 for each in self.patches):
                self._try_together(state, one, content, report)

    def _is_new(self, path: str, content: bytes, beside: Hashable) -> bool:
        """Tell whether these files were not tried yet and are Python, without warnings (`x is 1` helps nobody)."""
        key = key_of(path, content, beside)
        if key in self._seen:
            return False
        self._seen.add(key)
        self._last = key
        file = self._file(path)
        return file is None or file.against(content) is not None

    def _file(self, path: str) -> SourceFile | None:
        """A file as it was loaded; None where that is no Python."""
        if path not in self._files:
            full = os.path.join(self._root, path)
            try:
                self._files[path] = SourceFile(full, content_of(full))
            except (OSError, SyntaxError, ValueError, RecursionError):
                self._files[path] = None
        return self._files[path]

    def tree(self, path: str) -> ast.Module | None:
        """A file as it was, parsed; None where that is no Python."""
        file = self._file(os.path.relpath(path, self._root))
        return file.tree if file is not None else None

    def _run(self, files: Mapping[str, bytes], meanwhile: Callable[[], None] = lambda: None) -> RunReport:
        self.tried += 1
        if self._pause.is_over():
            self._note(f"{self.tried} candidates tried, now in {', '.join(files)}")
        begun = self._ahead.pop(self._last, None)
        if begun is None and (swaps := self._swaps(files)) is not None:
            begun = self._begun(swaps)
        meanwhile()
        report = self._server.ended(begun) if begun is not None else None
        if report is None or self._passes(report):
            report = self._server.candidate(files)  # as the judge will: loaded anew
        # Some of what failed passes already: it is slow rather than endless.
        slow = report.cut_short and bool(report.passing & self.first.failing)
        report = self._server.candidate(files, times=_SLOWER) if slow else report
        if not report.cut_short and not promise(self.first, report):
            self.spent.add(self._last)
        return report

    def _begun(self, swaps: Sequence[Swap]) -> Begun | None:
        """A candidate that runs in a process which holds the loaded tests; None where there is none."""
        if not self._server.idle and self._ahead:  # what was thought to come next did not: it is not waited for
            self._server.dropped(self._ahead.pop(next(iter(self._ahead))))
        return self._server.begin(swaps)

    def _look_ahead(self, state: State) -> None:
        """Start the candidates that come next in this state, as far as processes are free. Each is counted, and its
        report read, when its turn comes: so what is found, and when, is the same with one process."""
        for one in state.untried.upcoming(_AHEAD):
            if not self._server.idle:
                return
            path, content = one.edit.path, state.programs[one.edit.path].encoded((one.edit,))
            key = key_of(path, content, tuple(sorted(state.files.items())))
            if key in self._seen or key in self._ahead:
                continue
            swaps = self._swaps({**state.files, path: content})
            begun = self._server.begin(swaps) if swaps is not None else None
            if begun is not None:
                self._ahead[key] = begun

    def _swaps(self, files: Mapping[str, bytes]) -> list[Swap] | None:
        """The functions whose exchange in the loaded program makes it these files; None where that does not do."""
        found: list[Swap] = []
        for path, content in files.items():
            file = self._file(path)
            both = file.against(content) if file is not None else None
            imported = self._imported.get(os.path.join(self._root, path), ())
            swaps = swaps_of(*both, imported) if both is not None else None
            if swaps is None:
                return None
            found += swaps
        return found

    def _look_again(self) -> None:
        """Give those more time, where nothing passed, that were ended before anything was wrong. They were counted
        already."""
        for patch in self._cut_short[:_SECOND_LOOKS]:
            if self.patches or self._server.out_of_time():
                return
            if self._passes(self._server.candidate(patch.files, times=_SLOWER)):
                self._found(replace(patch, found_at=self.tried))

    def _passes(self, report: RunReport) -> bool:
        expected = {name for name, test in self.first.tests.items() if test.error != "collect"}
        return report.whole and bool(report.passing) and not report.failing and expected <= report.passing

    def _found(self, patch: Patch) -> None:
        if patch.key in self._wanted.skip or not self._keeps(patch.files, self.places_of(patch)):
            self.spent.add(self._last)
            return
        patch = patch if patch.exact else self._fewest(patch)
        if not self.patches:
            self._first_cpu_s, self._first_at = self._server.cpu_s, time.monotonic()
            self._note(f"candidate {self.tried} passes{'' if patch.exact else '; others are tried, to have a choice'}")
        if all(is_doubtful(each) for each in self.patches):
            self._until = min(self._wanted.candidates, self.tried + self._more(patch))
            self._limit_choice(max(self._first_cpu_s, _DOUBTFUL_CPU_S if self._is_weak(patch) else _CHOICE_CPU_S))
        self.patches.append(patch)
        self.passed()

    def _fewest(self, patch: Patch) -> Patch:
        """Leave out the edits that led to what passes and are not needed for it."""
        for texts, marks in fewer(patch.marks, {path: self.programs[path].text for path in patch.files}):
            files = {path: text.encode(self.programs[path].encoding) for path, text in texts.items()}
            files = {path: each for path, each in files.items() if any(one["path"] == path for one in marks)}
            self.tried += 1
            if self._passes(self._server.candidate(files)) and self._keeps(files, self.places_of(patch)):
                return self._fewest(replace(patch, files=files, marks=marks, size=size_of(marks)))
        return patch

    def _keeps(self, files: Mapping[str, bytes], places: Sequence[Place]) -> bool:
        """Tell whether the tests beside those of the check pass that run some places, and examples in the program's
        texts come out as they do, with what is changed there."""
        guarding = self.localiser.guarding(places)
        report = self._server.beside(files, guarding) if guarding else RunReport()
        broken = report.failing & guarding and not report.cut_short
        return not broken and not self._examples.told(places, files)[2]

    def _limit_choice(self, cpu_s: float) -> None:
        self._cpu_ends_s = self._first_cpu_s + cpu_s
        left_s = max(0.0, self._server.deadline - self._first_at)
        self._ends_at = self._first_at + min(_WALL_TIMES * cpu_s, left_s * _CHOICE_SHARE)

    def _is_settled(self, one: Ranked) -> bool:
        """Tell whether no edit from here on is likely enough to be chosen instead of what passed."""
        likely = max(one.plain, one.foretold)
        return any(each.plain > _BEYOND * likely > 0 and not is_doubtful(each) for each in self.patches)

    def _more(self, patch: Patch) -> int:
        """Count the candidates still to come, after this one."""
        if trust(self._wanted.memory) > 0.5 and patch.foretold > _KNOWN * patch.plain:
            return min(self._wanted.choice, _MORE_IF_KNOWN)
        if self._is_weak(patch):
            return self._wanted.choice
        return min(self._wanted.choice, max(_MORE_AT_LEAST, self.tried))

    def _is_weak(self, patch: Patch) -> bool:
        """Tell whether little speaks for it: one failing test says little of what is right."""
        special = any(each["family"] in _SPECIAL for each in patch.marks)
        return special or is_doubtful(patch) or len(self.first.failing) == 1

    def _out_of_time(self) -> bool:
        late = time.monotonic() > self._ends_at or self._server.cpu_s > self._cpu_ends_s
        return late or self._server.out_of_time()

    def _keep_if_better(self, state: State, new: State) -> None:
        """Tell whether more can be built on it: it breaks no test that passed, and more pass or one gets further."""
        better = promise(state.report, new.report, new.marks[-1]["family"])
        if not better:
            return
        new.promise = (state.promise if state.marks else 0.0) + better * new.likely
        self._states.append(new)
        if len(self._states) > _STATES:
            self._states.remove(min(self._states[1:], key=lambda each: each.worth))

    def _try_together(self, root: State, one: Ranked, content: bytes, report: RunReport) -> None:
        """Two edits that each help other tests may be the whole fix: that is tried at once."""
        helped = gained(root.report, report)
        if not helped:
            return
        for other in self._partials.fitting(Partial(one, content, helped)):
            files = {other.one.edit.path: other.content, one.edit.path: content}
            if other.one.edit.path == one.edit.path:
                files[one.edit.path] = root.programs[one.edit.path].encoded((other.one.edit, one.edit))
            if self.tried >= self._until or not self._is_new(one.edit.path, files[one.edit.path], other.one.edit.path):
                continue
            marks = (mark(other.one.edit), mark(one.edit))
            together = self._run(files)
            if self._passes(together):
                self._found(Patch(files, marks, self.tried, other.one.plain * one.plain, 0.0, size_of(marks)))
            elif not self.patches:
                self._keep_if_better(root, State(files=files, marks=marks, report=together))

    # -- donors --------------------------------------------------------------------------------------------------------

    def _from_donors(self, root: State) -> None:
        """Try what other implementations give."""
        if not self._wanted.donors:
            return

        def run(files: Mapping[str, bytes]) -> RunReport | None:
            beside = tuple(sorted(files.items()))
            new = all(self._is_new(path, content, beside) for path, content in files.items())
            return self._run(files) if new and self.tried < self._until and not self._out_of_time() else None

        known = donors_of(self._wanted.donors)
        for found in Transplants(root.programs, known, self.first, run).tried(self._passes):
            marks = tuple(map(mark, found.edits))
            self._found(Patch(found.files, marks, self.tried, _DONATED / len(marks), 0.0, size_of(marks)))

    # -- memory --------------------------------------------------------------------------------------------------------

    def _from_memory(self) -> bool:
        """Try the edits that fixed this very failure before; True if one does again."""
        for known in self._wanted.exact:
            files, marks = needed(known, sorted(self._server.sources), self._root, self._would_pass)
            if files:
                self._found(Patch(files, marks, self.tried, size=size_of(marks), exact=True))
                if self.patches:
                    return True
        return False

    def _would_pass(self, files: Mapping[str, bytes]) -> bool:
        return self.tried < self._until and self._passes(self._run(files))
