"""The Python surface, in one file since it is one interface: `Ratchet`, and the same over a default home."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Self, Unpack
from weakref import WeakSet

from ratchet.arguments import need_count, need_flag_or_none, need_text, need_text_or_none, need_time_or_none
from ratchet.errors import UsageError
from ratchet.recording import run as runs
from ratchet.recording.recorder import Recorder
from ratchet.recording.watch import Judge, Watch

if TYPE_CHECKING:
    from pathlib import Path

    from ratchet.config import Config, Settings, Tunables
    from ratchet.failures.patterns.health import Health
    from ratchet.healing.distilling.book import Distillery
    from ratchet.healing.in_code.decorator import Check, Heal, HealOptions
    from ratchet.healing.in_code.healer import Mode
    from ratchet.healing.job import Solver
    from ratchet.improving.book import ProposalBook, Pulses, TrialBook
    from ratchet.improving.calls.retry import Retry, RetryOptions
    from ratchet.improving.cures.book import CureBook
    from ratchet.improving.loop.improve import Ticked
    from ratchet.improving.report import Report
    from ratchet.improving.settings.agent_settings import AgentSettings
    from ratchet.improving.settings.knob import Knob
    from ratchet.improving.settings.live import Live
    from ratchet.improving.trials.arms import OpenTrials
    from ratchet.lessons.book import LessonBook
    from ratchet.lessons.calls import FailedCall, SucceededCall
    from ratchet.lessons.learning import Learned
    from ratchet.lessons.recall import Recalled
    from ratchet.ports import Proposer, Target
    from ratchet.recording.background import Background
    from ratchet.records import Fields, Json, Outcome, Pattern
    from ratchet.runtime import Runtime


class Ratchet:
    """Everything Ratchet knows in one home folder, from Python.

    `home` is a folder (default: RATCHET_HOME, else ~/.ratchet); the other settings are those of the reference page
    "Settings". Making one costs nothing and touches no disk. Safe under threads; use it as a context manager or `close`
    it. Raises UsageError for an unknown or bad setting.
    """

    def __init__(self, home: str | PathLike[str] | None = None, **settings: Unpack[Tunables]) -> None:
        self._given: Settings = {"home": home, **settings}
        self._config_held: Config | None = None
        self._recorder_held: Recorder | None = None
        self._runtime_held: Runtime | None = None
        self._drainer: Background | None = None
        self._live_held: Live | None = None
        self._trials_held: OpenTrials | None = None
        self._loop: Background | None = None
        self._lock = threading.RLock()
        if settings:
            _ = self._config  # a wrong setting is said here, not at the first record
        _instances.add(self)

    @property
    def _config(self) -> Config:
        with self._lock:
            if self._config_held is None:
                from ratchet.config import load

                self._config_held = load(**self._given)
            return self._config_held

    @property
    def _runtime(self) -> Runtime:
        with self._lock:
            if self._runtime_held is None:
                from ratchet.runtime import Runtime  # who only records needs none of it

                self._runtime_held = Runtime(self._config, recorder=self._recorder)
            return self._runtime_held

    @property
    def _recorder(self) -> Recorder:
        with self._lock:
            if self._recorder_held is None:
                self._recorder_held = Recorder(str(self._home()))
            return self._recorder_held

    def _home(self) -> Path:
        """The home. Wrong settings are logged here, since recording must not hurt a host; reading calls raise it."""
        try:
            return self._config.home
        except UsageError:
            import logging

            from ratchet.config import home_of

            logging.getLogger(__name__).exception("settings are wrong; recording goes on with the defaults")
            return home_of(self._given.get("home"))

    def _begin_draining(self) -> None:
        """Move the journal into the store now and then, so that it stays small in a process that runs for long."""
        with self._lock:
            if self._drainer is not None:
                return
            from ratchet.recording.background import Background, Quickened

            try:
                turns = Quickened(lambda: self._runtime.drain(), self._tell_units, self._config.drain_interval_s)
                self._drainer = Background(turns, turns.step_s, name="ratchet-drain")
            except (UsageError, RuntimeError):  # logged by `_home`; no thread can be started. Readers drain anyway.
                self._drainer = Background(lambda: None, 0.0, name="ratchet-drain")

    def record(self, agent: str, **given: Unpack[Fields]) -> str:
        """Record one finished run of an agent; return its outcome's id. Costs microseconds.

        Say how it went by `ok`, `score` (0 to 1), `quality` (1 to 5) or `error` (a text or an exception), and what is
        known besides: task, duration_s, cost_usd, tokens, model, session, status, exit_code, context, ... A value that
        is not usable is left out, named in the outcome's context and logged once. Raises TypeError without an agent.
        """
        outcome_id = (self._recorder_held or self._recorder).record(agent, **given)
        if self._drainer is None:
            self._begin_draining()
        return outcome_id

    def failed(self, agent: str, **call: Unpack[FailedCall]) -> str:
        """Record a tool call that failed; return what is known to fix it, fenced for the model, or "". Never raises.

        Say which `tool` it was and its `error` (a text or an exception), and what is known besides: `input` (a text or
        what JSON can say), `session`, `call` (its id: the same again is the same call), `thread`, `project` (a folder;
        default: the working directory), `duration_s`, `status`, `exit_code`. Hand the answer to the model behind the
        error. With a `session` the coin of that session decides whether a lesson is shown, and its effect is measured;
        without one a known lesson always comes. Takes milliseconds.
        """
        from ratchet.lessons import calls

        told = calls.failed(str(self._home()), self._recorder.append, agent, call)
        self._begin_draining()
        return told

    def succeeded(self, agent: str, **call: Unpack[SucceededCall]) -> str:
        """Record a tool call that ended well, as `failed` does; return "". Never raises.

        Lessons are learnt from what worked after a failure, and measured by it, so tell of both. Where the `output`
        says that the call failed all the same ("fatal: ..." and exit code 0), it is recorded as such, and the answer is
        that of `failed`.
        """
        from ratchet.lessons import calls

        told = calls.succeeded(str(self._home()), self._recorder.append, agent, call)
        self._begin_draining()
        return told

    def watch(
        self,
        agent: str,
        *,
        task: str | Callable[..., str] = "",
        judge: Judge | None = None,
        fields: Fields | None = None,
    ) -> Watch:
        """Record every run of a function, coroutine, generator or block of code (see `Watch`).

        `fields` are further fields of `record` that go with every run, such as `{"session": ..., "model": ...}`.
        """
        return Watch(self.record, agent, task=task, judge=judge, fields=fields, trials=self._met_by)

    def heal(self, **options: Unpack[HealOptions]) -> Heal:
        """Heal a function when it fails; the options are those of `ratchet.heal`."""
        from ratchet.healing.in_code.decorator import Heal

        return Heal(lambda: self._runtime, **options)

    def retry(self, **options: Unpack[RetryOptions]) -> Retry:
        """Retry a call that failed; the options are those of `ratchet.retry`."""
        from ratchet.improving.calls.retry import Retry

        return Retry(lambda: self._runtime, **options)

    def settings(self, agent: str, **knobs: Knob) -> AgentSettings:
        """Live settings of an agent: each knob a `Choice(...)`, a `Range(low, high)` or a `Knob` of your own.

        Costs nothing until it is used, so it may stand at the top of a module. Raises UsageError for what is no knob.
        """
        from ratchet.improving.settings.agent_settings import AgentSettings

        return AgentSettings(agent, knobs, live=self._live, store=lambda: self._runtime.store, enclosing=runs.enclosing)

    @property
    def _live(self) -> Live:
        with self._lock:
            if self._live_held is None:
                from ratchet.improving.settings.live import Live
                from ratchet.recording.background import Background

                begin = partial(Background, name="ratchet-settings")
                self._live_held = Live(begin, arms=self._open_trials, follow=lambda: self._runtime.follow())
            return self._live_held

    @property
    def _open_trials(self) -> OpenTrials:
        with self._lock:
            if self._trials_held is None:
                from ratchet.improving.trials.arms import OpenTrials

                self._trials_held = OpenTrials(str(self._home()), lambda row: self._recorder.append(row))
            return self._trials_held

    def _tell_units(self) -> None:
        """Tell the store how units did while a trial is open here, so that it decides once the data are there."""
        if self._trials_held is not None and self._trials_held.any_open:
            self._runtime.observe()

    def _met_by(self, agent: str, unit: str, targets: Collection[str]) -> dict[str, Json]:
        """The trials that a unit of a watched call met. Who never asked for settings met none."""
        return {} if self._trials_held is None else self._trials_held.met_by(agent, unit, targets)

    def outcomes(
        self,
        *,
        agent: str | None = None,
        ok: bool | None = None,
        session: str | None = None,
        kind: str | None = None,
        since: float | None = None,
        limit: int | None = None,
    ) -> Iterator[Outcome]:
        """Outcomes, newest first; every filter narrows. `since` is Unix seconds. Reads as it is iterated.

        Raises UsageError for a value of another type.
        """
        need_text_or_none(agent=agent, session=session, kind=kind)
        need_flag_or_none("ok", ok)
        need_time_or_none("since", since)
        need_count("limit", limit, or_none=True)
        return self._runtime.outcomes(agent=agent, ok=ok, session=session, kind=kind, since=since, limit=limit)

    def patterns(self, *, agent: str | None = None, kind: str | None = None, limit: int | None = None) -> list[Pattern]:
        """List what keeps failing, recurring ones first, each with its lessons. Raises UsageError."""
        need_text_or_none(agent=agent, kind=kind)
        need_count("limit", limit, or_none=True)
        return self._runtime.patterns(agent=agent, kind=kind, limit=limit)

    def health(self) -> Health:
        """Rate each agent's recent runs: `.score` and `.agents`, from 0 (all fails) to 1; None without outcomes."""
        return self._runtime.health()

    def recall(self, text: str, limit: int = 5, *, project: str | None = None, session: str | None = None) -> Recalled:
        """Look up what is known to fix this error: `.lessons` (each with its advice, `.text`) and `.abstained`.

        With `session` the session's arm of the control is obeyed and recorded. Raises NotFound when nothing was ever
        recorded or learnt in this home; UsageError for a text that is none or a limit below 0.
        """
        need_text("text", text)
        need_count("limit", limit)
        need_text_or_none(project=project, session=session)
        from ratchet.lessons.meaning import allow

        allow()
        return self._runtime.recall(text, limit=limit, project=project, session=session)

    @property
    def lessons(self) -> LessonBook:
        """Lessons: list, show, add, approve, retire, quarantine."""
        return self._runtime.lessons

    def learn(self, *paths: str | PathLike[str]) -> Learned:
        """Read histories: files and folders, or the usual homes of coding agents. Again adds nothing."""
        return self._runtime.learn(paths)

    @property
    def trials(self) -> TrialBook:
        """Changes on trial: list, show, open, stop."""
        return self._runtime.trials

    @property
    def proposals(self) -> ProposalBook:
        """Fixes that were thought of: list, show, approve, reject."""
        return self._runtime.proposals

    @property
    def cures(self) -> CureBook:
        """Permanent changes that lessons become: list, show, apply, undo."""
        return self._runtime.cures

    @property
    def distillery(self) -> Distillery:
        """Rules that a model makes of evidence: plan, then run."""
        return self._runtime.distillery

    @property
    def pulses(self) -> Pulses:
        """When each agent is looked at: list, set, clear."""
        return self._runtime.pulses

    def add_target(self, target: Target) -> None:
        """Let trials change this target in this process: a file's keys, an environment, a pair of functions."""
        self._runtime.targets.add(target)

    def tick(self, *, auto_fix: bool | None = None, proposers: Sequence[Proposer] = ()) -> Ticked:
        """Go round the improve loop once; what `ratchet loop` does every minute. `proposers` are asked for fixes before
        the built-in rules. Raises UsageError, StoreError."""
        return self._runtime.tick(auto_fix=auto_fix, proposers=proposers)

    def start_background(
        self, interval_s: float | None = None, *, auto_fix: bool | None = None, proposers: Sequence[Proposer] = ()
    ) -> None:
        """Run the improve loop in a thread of this process, every `interval_s` seconds (default: `loop_interval_s`).

        A fault is logged and the next turn comes. Starting again replaces the thread. Raises UsageError.
        """
        from ratchet.improving.assembly import Rounds
        from ratchet.recording.background import Background

        every_s = self._config.loop_interval_s if interval_s is None else interval_s
        self.stop_background()
        turn = partial(self.tick, auto_fix=auto_fix, proposers=proposers)
        rounds = Rounds(turn, lambda: self._runtime.look(), every_s, first_s=every_s)
        with self._lock:
            self._loop = Background(rounds, rounds.step_s, name="ratchet-loop")

    def stop_background(self) -> None:
        """Stop the thread after its turn under way. Nothing happens when there is none."""
        with self._lock:
            work, self._loop = self._loop, None
        if work is not None:
            work.stop()

    def report(self) -> Report:
        """Tell whether the lessons help, measured against their withheld control."""
        return self._runtime.report()

    def close(self) -> None:
        """Release files and stop the background. What was recorded is on disk; a later call opens them again."""
        self.stop_background()
        with self._lock:
            drainer, self._drainer = self._drainer, None
            live = self._live_held
            runtime, self._runtime_held = self._runtime_held, None
            recorder, self._recorder_held = self._recorder_held, None
        if drainer is not None:
            drainer.stop()
        for held in (live, runtime, recorder):
            if held is not None:
                held.close()

    def _after_fork(self) -> None:
        """A child has neither the parent's threads nor its connections; what it needs it opens anew."""
        self._lock = threading.RLock()
        self._drainer = self._loop = self._runtime_held = None
        if self._live_held is not None:
            self._live_held.after_fork()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()


_instances: WeakSet[Ratchet] = WeakSet()


def _after_fork() -> None:
    global _default_lock
    _default_lock = threading.RLock()
    for instance in _instances:
        instance._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_default: Ratchet | None = None
_default_lock = threading.RLock()


def default() -> Ratchet:
    """The instance behind `ratchet.record` and `ratchet.watch`, over the home that the environment names."""
    global _default
    if _default is not None:
        return _default
    with _default_lock:
        if _default is None:
            _default = Ratchet()
            atexit.register(_default.close)
        return _default


def record(agent: str, **given: Unpack[Fields]) -> str:
    """`Ratchet.record` over the default home."""
    return default().record(agent, **given)


def failed(agent: str, **call: Unpack[FailedCall]) -> str:
    """`Ratchet.failed` over the default home."""
    return default().failed(agent, **call)


def succeeded(agent: str, **call: Unpack[SucceededCall]) -> str:
    """`Ratchet.succeeded` over the default home."""
    return default().succeeded(agent, **call)


def watch(
    agent: str, *, task: str | Callable[..., str] = "", judge: Judge | None = None, fields: Fields | None = None
) -> Watch:
    """`Ratchet.watch` over the default home."""
    return Watch(record, agent, task=task, judge=judge, fields=fields, trials=_met_by)


def _met_by(agent: str, unit: str, targets: Collection[str]) -> dict[str, Json]:
    return default()._met_by(agent, unit, targets)


def settings(agent: str, **knobs: Knob) -> AgentSettings:
    """`Ratchet.settings` over the default home."""
    return default().settings(agent, **knobs)


def heal(
    *,
    check: Check | None = None,
    solver: str | Solver = "auto",
    mode: Mode = "memory",
    attempts: int = 5,
    budget_usd: float = 1.0,
    budget_s: float = 60.0,
) -> Heal:
    """Heal a function when it fails: mend it in a sandbox and make the call again.

    `check` decides whether a patch is right: a function of the value (and of the call's arguments behind it, if it
    takes more than one) that answers with something true, or a command that must pass in the project's folder. Of a
    stream the value is the list of its items. `solver` is a name (`repair`, `model:NAME`, `command:WORDS`, `auto`) or a
    Solver. `mode` says where a patch goes that holds: into the running function ("memory"), into a file for people
    ("patch"; the call then fails as it would have), or into its source file as well ("apply"). Attempts, USD and
    seconds bound each healing.

    What cannot be healed raises the exception that there was, and the logger `ratchet.heal` says why, once. Raises
    UsageError where it makes no sense.
    """
    return default().heal(
        check=check, solver=solver, mode=mode, attempts=attempts, budget_usd=budget_usd, budget_s=budget_s
    )


def retry(
    *,
    attempts: int = 3,
    budget_s: float | None = None,
    budget_usd: float | None = None,
    cost_usd: float | None = None,
    backoff_s: float = 1.0,
    max_wait_s: float = 60.0,
    max_asked_wait_s: float = 300.0,
    circuit_breaker_failures: int = 3,
    circuit_breaker_s: float = 60.0,
    idempotent: bool | None = None,
    recall: bool = True,
) -> Retry:
    """Retry a call that failed, where a failure of that kind may pass and the budget lasts.

    `attempts` counts all tries, `budget_s` their seconds with the waits between them, `budget_usd` their money:
    `cost_usd`, the most that one try may cost, is set aside before each, so that the budget is never exceeded. Waits
    begin with `backoff_s` and double up to `max_wait_s`; a longer one that the provider asks for is honoured up to
    `max_asked_wait_s` and where the budget allows; else the error comes at once, with a note that names the wait.

    With `idempotent=None` a call is repeated where the failure proves that nothing happened (refused, no such host,
    429, 503, 529). What may have happened (a timeout or reset after sending, 500, 502, 504) is repeated only with True;
    the logger says so once. False repeats nothing, and a function's own attribute `idempotent = False` wins.

    After `circuit_breaker_failures` calls to one target that failed equally in a row, calls raise BackendError for
    `circuit_breaker_s`; then one call probes it, with a single try. The target is told by the hosts, models and client
    objects among the arguments; a call that failed over its own input counts as an answer.

    With `recall`, lessons about the failure are looked up in the default home and logged; a function with a parameter
    `lessons` is handed them at the next try, which then is made after failures of any kind. What fails for good is
    raised as it came. Raises UsageError for a budget that makes no sense.
    """
    return default().retry(
        attempts=attempts,
        budget_s=budget_s,
        budget_usd=budget_usd,
        cost_usd=cost_usd,
        backoff_s=backoff_s,
        max_wait_s=max_wait_s,
        max_asked_wait_s=max_asked_wait_s,
        circuit_breaker_failures=circuit_breaker_failures,
        circuit_breaker_s=circuit_breaker_s,
        idempotent=idempotent,
        recall=recall,
    )
