"""Lessons, and what people decide about them: the operations behind `ratchet lessons` and `Ratchet.lessons`."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet import files
from ratchet.arguments import need_text, need_text_or_none
from ratchet.errors import NotFound, UsageError
from ratchet.lessons import lessons
from ratchet.lessons.repositories import folder_of, project_of
from ratchet.records import Lesson, LessonState, Quarantined, Scope, whole_in

if TYPE_CHECKING:
    from ratchet.lessons.backtest.backtest import Backtest
    from ratchet.lessons.effect import LessonEffect
    from ratchet.lessons.facts import ProjectFacts
    from ratchet.lessons.lessons import WrittenBy
    from ratchet.lessons.portable import Imported, Synced
    from ratchet.lessons.prediction import Prediction
    from ratchet.lessons.sharing import Shared
    from ratchet.lessons.trust import TrustedFile
    from ratchet.lessons.words.rules import Correction
    from ratchet.ports import Progress, Store

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStats:
    """`resolutions` were seen to work; `tried` and `worked` count them by lesson, `uses` and `wins` count lessons that
    agents were handed."""

    lessons: int
    by_state: Mapping[str, int]
    by_kind: Mapping[str, int]
    by_scope: Mapping[str, int]
    resolutions: int
    tried: int
    worked: int
    uses: int
    wins: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trusted:
    """Names the files below a repository's `.ratchet/`, the lessons that their trust makes active, and the advice that
    it puts aside."""

    files: tuple[TrustedFile, ...]
    lessons: tuple[Lesson, ...]
    rejected: tuple[Quarantined, ...]
    aside: tuple[str, ...]
    done: bool


_COUNTED = ("tried", "worked", "uses", "wins")


class LessonBook:
    """The lessons of one store. Every change is an event and tells the hooks.

    `home` is the folder that keeps what is trusted, `reading` gives the store after what was recorded is in it,
    `writing` the store alone, `changed` is called after each change.
    """

    def __init__(
        self,
        *,
        home: Path,
        reading: Callable[[], Store],
        writing: Callable[[], Store],
        changed: Callable[[], object],
    ) -> None:
        self._home = home
        self._reading = reading
        self._writing = writing
        self._changed = changed

    def backtest(self, *, since: float = 0.0, progress: Progress | None = None) -> Backtest:
        """Replay the sessions of this home in time order: at each failure, what was known before that session, and
        whether it would have helped. `since` (Unix seconds) counts later sessions alone; a replay of all is kept for
        `replayed` and the lessons. Raises StoreError."""
        from ratchet.lessons.backtest import backtest

        found, by_lesson = backtest.backtest(self._reading(), progress, since=since)
        if not since:
            backtest.keep(self._writing(), found, by_lesson)
        return found

    def replayed(self) -> Backtest | None:
        """The newest replay of all sessions, None where there was none."""
        from ratchet.lessons.backtest import backtest

        return backtest.kept(self._reading())

    def list(self, *, state: LessonState | None = None, project: str | None = None) -> list[Lesson]:
        """Lessons, active ones first, then by what they save; of one state, or of one project: its folder, its name or
        the end of one. Raises UsageError, NotFound for a name that is none."""
        store = self._reading()
        if project is not None:
            project = folder_of(store, project)
            self.load_reviewed(Path(project))
        if state is not None and state not in lessons.STATES:
            raise UsageError(f"no state {state!r}; the states are {', '.join(lessons.STATES)}")
        states: tuple[LessonState, ...] = lessons.STATES if state is None else (state,)
        return lessons.listed(store, states=states, project=project)

    def show(self, lesson_id: str) -> Lesson:
        """One lesson, with the edits that it was learnt from. Raises NotFound."""
        from ratchet.lessons.changes import changes_of

        store = self._reading()
        found = lessons.show(store, lesson_id)
        return replace(found, changes=changes_of(store, store.get("lessons", found.id) or {}))

    def words(self, *, project: str | None = None, every: bool = False) -> tuple[Correction, ...]:
        """Quotes of what people said to agents, those first for which most speaks; `every` gives also what makes no
        candidate. `project` keeps those of a project: its folder, its name or the end of one. Raises as `list`."""
        from ratchet.lessons.words.rules import corrections

        store = self._reading()
        named = None if project is None else project_of(store, project)
        return corrections(store, project=named, every=every)

    def effect(self, lesson_id: str) -> LessonEffect | None:
        """Tell whether a lesson helps, against its withheld control; None while nothing of it is settled."""
        from ratchet.lessons import credit
        from ratchet.lessons.effect import lesson_effect

        store = self._reading()
        credit.settle(store, now=time.time())
        return lesson_effect(store, lesson_id)

    def told(self, lesson_id: str) -> tuple[int, int]:
        """Count the cases in which an agent was told a lesson, and those in which it was withheld: of all sessions,
        also those that still run."""
        from ratchet.lessons import credit

        return credit.told(self._reading(), lesson_id)

    def add(
        self,
        *,
        when: str,
        do: str,
        scope: Scope = "project",
        state: LessonState = "candidate",
        project: str | None = None,
        source: WrittenBy = "person",
    ) -> Lesson:
        """Write a lesson: when an error like `when` occurs, do `do`, word for word. `project` is the working directory
        unless given. Where `when` is no error but a "report" or a "conversation", `source` says so: it is found by its
        words then, for who asks.

        Advice that must not be given (it switches a check off, hides a failure, forces, or destroys work) is kept as
        quarantined, whatever `state` says: that is logged, and the lesson's `reason` says why. Raises UsageError for an
        empty text, or what is no text.
        """
        for name, value in (("when", when), ("do", do), ("scope", scope), ("state", state), ("source", source)):
            need_text(name, value)
        need_text_or_none(project=project)
        store = self._writing()
        where = project if project is not None else str(Path.cwd())
        added = lessons.add(store, when=when, do=do, scope=scope, state=state, project=where, source=source)
        if added.state == "quarantined":
            log.warning("lesson %s is quarantined, and no agent is handed it: %s", added.id, added.reason)
        self._changed()
        return added

    def approve(self, lesson_id: str, *, do: str = "", globally: bool = False) -> Lesson:
        """Make a lesson active: from now on agents are handed it, in the words `do` where they are given. Raises
        NotFound, Refused, Conflict."""
        need_text("do", do)
        return self._told(lessons.approve(self._writing(), lesson_id, do=do, globally=globally))

    def retire(self, lesson_id: str, *, reason: str = "") -> Lesson:
        """Hand a lesson to nobody any more; it is kept, but mining does not revive it. Raises NotFound, Conflict."""
        return self._told(lessons.retire(self._writing(), lesson_id, reason=reason))

    def quarantine(self, lesson_id: str, *, reason: str) -> Lesson:
        """Mark a lesson as harmful: never advice. Raises NotFound, Conflict, UsageError without a reason."""
        return self._told(lessons.quarantine(self._writing(), lesson_id, reason=reason))

    def undo(self, lesson_id: str = "") -> Lesson:
        """Take the last decision about a lesson back, of the one decided about last unless one is named. Raises
        NotFound, UsageError where there is none, Conflict."""
        return self._told(lessons.undo(self._writing(), lesson_id))

    def sync(
        self, file: Path, *, project: str | None = None, with_evidence: bool = False, dry_run: bool = False
    ) -> Synced:
        """Keep a marked block of the project's active lessons in `file`; every byte outside the block stays. A person's
        words as they were said go in `with_evidence` only; a `dry_run` writes nothing. `project` as for `list`."""
        from ratchet.lessons import portable

        store = self._reading()
        where = folder_of(store, project) if project else str(file.absolute().parent)
        self.load_reviewed(Path(where))
        return portable.sync(store, file, project=where, with_evidence=with_evidence, dry_run=dry_run)

    def export(self, file: Path | None = None, *, with_evidence: bool = False) -> str:
        """Active and candidate lessons as JSON lines, with their provenance; written to `file`, whole or not at all,
        where one is given. A person's words stay here unless `with_evidence`. Raises BackendError when it cannot be."""
        from ratchet.lessons import portable

        text = portable.export(self._reading(), with_evidence=with_evidence)
        if file is not None:
            portable.write(file, text)
        return text

    def load(self, file: Path) -> Imported:
        """Take lessons of an export as candidates, their provenance kept. Raises NotFound, UsageError, BackendError."""
        from ratchet.lessons import portable

        loaded = portable.import_file(self._writing(), file, project=str(Path.cwd()))
        self._changed()
        return loaded

    def take(self, content: bytes, *, name: str, project: str = "") -> Imported:
        """`load` for the lines of an export that are at hand; `name` says where they came from. Raises UsageError."""
        from ratchet.lessons import portable

        loaded = portable.import_lines(self._writing(), content, name=name, project=project)
        self._changed()
        return loaded

    def stats(self) -> MemoryStats:
        """Count what is remembered, and how well it did."""
        store = self._reading()
        by: Counter[tuple[str, str]] = Counter()
        sums: Counter[str] = Counter()
        for row in store.sum_by("lessons", ("state", "kind", "scope"), ("count:*", *_COUNTED)):
            n = whole_in(row, "count:*")
            for name in ("state", "kind", "scope"):
                by[name, str(row[name])] += n
            sums.update({name: whole_in(row, name) for name in _COUNTED})
        resolutions = store.sum_by("resolutions", (), ("count:*",))
        return MemoryStats(
            lessons=sum(n for (name, _), n in by.items() if name == "state"),
            by_state={state: by["state", state] for state in lessons.STATES},
            by_kind={kind: n for (name, kind), n in sorted(by.items()) if name == "kind"},
            by_scope={scope: by["scope", scope] for scope in ("project", "global")},
            resolutions=sum(whole_in(row, "count:*") for row in resolutions),
            **{name: sums[name] for name in _COUNTED},
        )

    def facts(
        self, *, project: str | None = None, among: Sequence[str] | None = None, limit: int = 20
    ) -> tuple[ProjectFacts, ...]:
        """Facts of a project (its folder, its name, the end of one), or of the `limit` busiest projects (`among` those
        of these names), the busiest first: what its commands end in, what people refuse, what never works, findings
        that nobody edits. Empty where nothing ran in it. Raises NotFound for a name that is none."""
        from ratchet.lessons import facts

        need_text_or_none(project=project)
        store = self._reading()
        names = facts.projects(store)
        if project is not None:
            named = project_of(store, project)
            names = [name for name in names if name == named]
        wanted = names if among is None else [name for name in names if name in among]
        return tuple(facts.facts_of(store, name) for name in wanted[:limit])

    def predict(
        self,
        text: str = "",
        *,
        command: str = "",
        file: str = "",
        diff: str = "",
        plan: str = "",
        project: str | None = None,
        session: str | None = None,
        here: bool = True,
    ) -> Prediction:
        """Tell how likely a step fails in a project (a folder or a name; the working directory unless given), why, and
        what to do, from what ran there. The step is a command, an edit of a file, the checks after a diff, or those
        that a plan names; of a `text` it is worked out which. `session` names the one that is about to take it
        (otherwise the one that ran there in the last hour): what it did so far counts. The folder is looked at only
        where it is `here`, on this machine. Raises UsageError, NotFound for a name that is none, StoreError."""
        from ratchet.lessons.prediction import Asked, asked_of, predict

        forms: dict[Asked | None, str] = {None: text, "command": command, "file": file, "diff": diff, "plan": plan}
        for form, said in forms.items():
            need_text(form or "text", said)
        given = [(form, said) for form, said in forms.items() if said.strip()]
        if len(given) != 1:
            raise UsageError("name one of text, command, file, diff and plan")
        need_text_or_none(project=project, session=session)
        store = self._reading()
        if project and not Path(project).is_absolute() and not Path(project).is_dir():
            folder, here = project_of(store, project), False
        else:
            folder = str(Path(project or "").absolute())
        form, said = given[0]
        asked = form or asked_of(store, said, folder=folder, here=here)
        return predict(store, asked, said, folder=folder, session=session or "", here=here)

    def load_reviewed(self, project: Path) -> Imported:
        """Read a repository's own `.ratchet/lessons/`: candidates until `trust`, then active in it. Raises UsageError,
        BackendError."""
        from ratchet.lessons import team

        is_there = team.is_there(project)
        loaded = team.load(self._writing(), project, home=self._home)
        if is_there:
            self._changed()
        return loaded

    def share(self, project: Path, *, with_evidence: bool = False) -> Shared:
        """Write the project's active lessons into its `.ratchet/lessons/`, a file each, for git to carry; mark there
        what was put aside here. Trusted here, by everybody else only after `trust`. A person's words go in
        `with_evidence` only. Raises UsageError, Refused, Conflict, BackendError."""
        from ratchet.lessons import sharing

        shared = sharing.share(self._writing(), project, home=self._home, with_evidence=with_evidence)
        self._changed()
        return shared

    def trust(self, project: Path, *, show: bool = False) -> Trusted:
        """Trust every file below the project's `.ratchet/` as it is now, until it changes; its lessons become active
        there. `show` only tells what would. Raises NotFound where there is nothing, UsageError, BackendError."""
        from ratchet.lessons import team, trust

        found = trust.contents(self._home, project)
        if not found:
            raise NotFound(f"{project / trust.FOLDER} holds no file of a repository; name its folder with --project")
        held = tuple(
            trust.TrustedFile(
                name=name,
                sha256=files.version_of(content),
                trusted=trust.is_trusted(self._home, project, name, content),
            )
            for name, content in found.items()
        )
        new = {each.name: found[each.name] for each in held if not (show and each.trusted)}
        unread = team.contents(project)[1]
        proposed, rejected, aside = team.proposed(new, project)
        if not show:
            trust.remember(self._home, project, found, by="person")
            self.load_reviewed(project)
        return Trusted(files=held, lessons=tuple(proposed), rejected=(*unread, *rejected), aside=aside, done=not show)

    def withdraw_trust(self, project: Path) -> int:
        """Trust nothing any more of what this repository's `.ratchet/` ever held; return how many lessons are
        candidates again. Raises NotFound where nothing is trusted, UsageError, BackendError."""
        from ratchet.lessons import trust

        if not trust.withdraw(self._home, project):
            raise NotFound(f"nothing of {project / trust.FOLDER} is trusted here; name its folder with --project")
        count = trust.distrust(self._writing(), project)
        self._changed()
        return count

    def _told(self, lesson: Lesson) -> Lesson:
        self._changed()
        return lesson
