"""Wraps an agent's calls the self-improving-loop way: records them, and undoes a change that is proven worse."""

from __future__ import annotations

import inspect
import json
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypedDict, TypeVar
from uuid import uuid4

from ratchet import files
from ratchet.client import Ratchet
from ratchet.compat.self_improving_loop.adapters import ConfigAdapter, Strategy
from ratchet.compat.self_improving_loop.notifier import TelegramNotifier
from ratchet.compat.self_improving_loop.rollback import AutoRollback, proven_slower, proven_worse
from ratchet.compat.self_improving_loop.threshold import AdaptiveThreshold
from ratchet.compat.self_improving_loop.trace_store import JsonlTraceStore, SQLiteTraceStore
from ratchet.config import home_of
from ratchet.errors import UsageError
from ratchet.failures.redaction.text import redact_json
from ratchet.records import Json, Outcome, Row, text_in, whole_in

Result = TypeVar("Result")

_LEVELS = {"warn": logging.WARNING, "warning": logging.WARNING, "error": logging.ERROR, "debug": logging.DEBUG}
_HELD = "ratchet.db"
_LONGEST_CALL_S = 3600.0
_SETTLED_TASKS = 300  # after so many without proof against it a change stays


class Executed(TypedDict, Generic[Result]):
    """Result of a call, with what the loop did about it."""

    success: bool
    result: Result | None
    error: str | None
    duration_sec: float
    improvement_triggered: bool
    improvement_applied: int
    rollback_executed: Row | None


class SelfImprovingLoop:
    """Records calls, asks `strategy` for a change once enough of them failed, and puts the old configuration back when
    the new one is proven worse.

    `data_dir` is a Ratchet home (default: RATCHET_HOME, else ~/.ratchet). `storage` says in which form a copy of the
    traces is kept beside the store: "jsonl" or "sqlite". Raises ValueError for another one.
    """

    def __init__(
        self,
        data_dir: str | None = None,
        notifier: TelegramNotifier | None = None,
        strategy: Strategy | None = None,
        improvement_strategy: Strategy | None = None,
        config_adapter: ConfigAdapter | None = None,
        storage: str = "jsonl",
        jsonl_max_bytes: int | None = None,
        jsonl_archive_dir: str | None = None,
        jsonl_max_archives: int = 5,
    ) -> None:
        if strategy is not None and improvement_strategy is not None:
            raise ValueError("Use either strategy or improvement_strategy, not both")
        if storage not in ("jsonl", "sqlite"):
            raise ValueError(f"storage must be 'jsonl' or 'sqlite', not {storage!r}")
        self.data_dir = home_of(data_dir)
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self.ratchet = Ratchet(self.data_dir, foreign_home=True)
        self.auto_rollback = self.rollback = AutoRollback(str(self.data_dir))
        self.adaptive_threshold = AdaptiveThreshold(ratchet=self.ratchet)
        self.notifier = notifier or TelegramNotifier()
        self.improvement_strategy = strategy or improvement_strategy
        self.config_adapter = config_adapter
        self.storage = storage
        self.state_file = self.data_dir / "loop_state.json"
        self.log_file = self.data_dir / "loop.log"
        self.traces_file = self.data_dir / "traces.jsonl"
        self.trace_db_file = self.data_dir / "traces.sqlite3"
        self.logger = logging.getLogger(f"self_improving_loop.loop.{id(self)}")
        self.logger.setLevel(logging.INFO)
        if self.traces_file.is_file() and not (self.data_dir / _HELD).exists():
            self.ratchet.learn(self.traces_file)  # what the package itself recorded
        self.trace_store: JsonlTraceStore | SQLiteTraceStore = (
            JsonlTraceStore(self.traces_file, jsonl_max_bytes, jsonl_archive_dir, jsonl_max_archives)
            if storage == "jsonl"
            else SQLiteTraceStore(self.trace_db_file)
        )
        self.state = self._load_state()

    def execute_with_improvement(
        self, agent_id: str, task: str, execute_fn: Callable[[], Result], context: Row | None = None
    ) -> Executed[Result]:
        """Call a function and say how it went. What it raises is told, not raised; what goes wrong in the loop itself
        is logged, and never costs the caller its result. Raises UsageError for what only begins when it is called (a
        coroutine, a generator): `ratchet.watch` takes those."""
        began = time.perf_counter()
        result, error = None, None
        try:
            result = execute_fn()
        except Exception as raised:  # noqa: BLE001  (the wrapper around a host's call)
            error = raised
        duration = time.perf_counter() - began
        _refuse_unbegun(result)
        done: Executed[Result] = {
            "success": error is None,
            "result": result,
            "error": None if error is None else str(error),
            "duration_sec": duration,
            "improvement_triggered": False,
            "improvement_applied": 0,
            "rollback_executed": None,
        }
        try:
            self._record_trace(agent_id, task, error is None, duration, error, context)
            self._after(agent_id, done)
        except Exception:
            self.logger.exception("the loop's own bookkeeping failed; the call's result stands")
        return done

    track = execute_with_improvement

    def check_and_rollback(self, agent_id: str) -> Row | None:
        """Put the old configuration back where the calls since its change are proven worse; None while they are not."""
        change = _row(_row(self.state.get("backups")).get(agent_id))
        if not change:
            return None
        before, since = _row(change.get("before_metrics")), text_in(change, "improved_at")
        after = self._calculate_metrics(agent_id, datetime.fromisoformat(since).astimezone() if since else None)
        worse, reason = self.auto_rollback.should_rollback(agent_id, text_in(change, "improvement_id"), before, after)
        if not worse or not (proven_worse(before, after) or self._is_slower(agent_id, since, reason)):
            if whole_in(after, "total_tasks") >= _SETTLED_TASKS:
                self._settled(agent_id)
            return None
        self._log("warn", f"{agent_id}: {reason}")
        told: Row = {"agent_id": agent_id, "reason": reason, "before_metrics": {**before}, "after_metrics": {**after}}
        told |= {"backup_id": change.get("backup_id"), "success": False, "restore_applied": False}
        held = self.auto_rollback.rollback(agent_id, text_in(change, "backup_id"), reason)
        if not held["success"]:
            return {**told, "error": held["error"]}
        try:
            told |= self._restore_config(agent_id, _row(held.get("config")))
        except Exception as refused:  # noqa: BLE001  (a host's own function)
            return {**told, "error": str(refused)}
        if told["restore_applied"]:
            told["success"] = True
            self._settled(agent_id)
        return told

    def get_improvement_stats(self, agent_id: str | None = None) -> Row:
        """Figures of one agent, or of all."""
        improved = _row(self.state.get("last_improvement"))
        if agent_id is None:
            undone = self.auto_rollback.get_stats()
            return {
                "total_improvements": len(improved),
                "agents_improved": [*improved],
                "total_rollbacks": undone["total_rollbacks"],
                "agents_rolled_back": undone["agents_rolled_back"],
            }
        history: list[Json] = [*self.auto_rollback.get_rollback_history(agent_id)]
        return {
            "agent_id": agent_id,
            "total_tasks": sum(1 for _ in self.ratchet.outcomes(agent=agent_id)),
            "last_improvement": improved.get(agent_id),
            "rollback_count": len(history),
            "rollback_history": history[-5:],
        }

    # -- after a call --------------------------------------------------------------------------------------------------

    def _after(self, agent: str, done: Executed[Result]) -> None:
        if not done["success"] and self._should_trigger_improvement(agent):
            done["improvement_triggered"] = True
            done["improvement_applied"] = self._run_improvement_cycle(agent)
            if done["improvement_applied"]:
                self.notifier.notify_improvement(agent_id=agent, improvements_applied=1)
        undone = done["rollback_executed"] = self.check_and_rollback(agent)
        if undone is not None:
            figures: Row = {name: undone.get(name) for name in ("before_metrics", "after_metrics")}
            self.notifier.notify_rollback(agent_id=agent, reason=text_in(undone, "reason"), metrics=figures)

    def _record_trace(
        self,
        agent_id: str,
        task: str,
        success: bool,
        duration: float,
        error: BaseException | str | None = None,
        context: Row | None = None,
    ) -> None:
        own = {} if context is None else {"context": context}
        named = self.ratchet.record(
            agent_id,
            id=uuid4().hex,
            task=task,
            ok=success,
            duration_s=duration,
            error=error,
            context=own,
            source="self_improving_loop",
        )
        self.trace_store.append(
            {
                "id": named,  # read back, it is the same outcome
                "agent_id": agent_id,
                "task": task,
                "success": success,
                "duration_sec": duration,
                "error": None if error is None else str(error),
                "context": context or {},
                "timestamp": datetime.now().astimezone().isoformat(),
            }
        )

    def _should_trigger_improvement(self, agent_id: str) -> bool:
        pulse = self.ratchet.pulses.show(agent_id)
        last = text_in(_row(self.state.get("last_improvement")), agent_id)
        if last and time.time() - datetime.fromisoformat(last).timestamp() < pulse.cooldown_s:
            return False
        since = time.time() - pulse.window_s
        return (
            len([*self.ratchet.outcomes(agent=agent_id, ok=False, since=since, limit=pulse.failures)]) >= pulse.failures
        )

    def _run_improvement_cycle(self, agent_id: str) -> int:
        """Ask the strategy for a change and apply it; return how many were applied, which is said only of what was."""
        if self.improvement_strategy is None:
            return 0
        before = self._calculate_metrics(agent_id)
        stage, named, now = "analyze", f"improvement_{uuid4().hex[:12]}", datetime.now().astimezone().isoformat()
        try:
            patch = self.improvement_strategy.analyze(
                agent_id=agent_id, traces=self._load_traces(agent_id), before_metrics=before
            )
            if not patch:
                return 0
            stage = "apply"
            held = self._get_current_config(agent_id)
            backup = self.auto_rollback.backup_config(agent_id, held, named)
            if not self._apply_config_patch(agent_id, patch):
                return 0
            if self.config_adapter is not None and self._get_current_config(agent_id) == held:
                raise UsageError(f"apply_config of {agent_id} said yes, and the configuration reads as before")
        except Exception as fault:  # noqa: BLE001  (a host's own functions)
            self._log("error", f"{agent_id}: {stage} failed: {fault}")
            self._note("last_improvement_error", agent_id, {"stage": stage, "error": str(fault), "timestamp": now})
            return 0
        made: Row = {"backup_id": backup, "improvement_id": named, "improved_at": now, "config_patch": patch}
        self._note("backups", agent_id, {**made, "before_metrics": before})
        _row(self.state.get("last_improvement_error")).pop(agent_id, None)
        self._note("last_improvement", agent_id, now)
        return 1

    def _get_current_config(self, agent_id: str) -> Row:
        if self.config_adapter is not None:
            return {**self.config_adapter.get_config(agent_id=agent_id)}
        current = getattr(self.improvement_strategy, "current_config", None)
        return {} if current is None else {**current(agent_id=agent_id)}

    def _apply_config_patch(self, agent_id: str, config_patch: Row) -> bool:
        holder = self.config_adapter or self.improvement_strategy
        apply = getattr(holder, "apply" if self.config_adapter is None else "apply_config", None)
        if apply is None:
            self._log("warn", f"{agent_id}: nothing can apply the change: give a config_adapter")
            return False
        return apply(agent_id=agent_id, config_patch=config_patch) is not False

    def _restore_config(self, agent_id: str, backup_config: Row) -> Row:
        if self.config_adapter is not None:
            self.config_adapter.rollback_config(agent_id=agent_id, backup_config=backup_config)
            return {"restore_applied": True, "restore_source": "config_adapter"}
        restore = getattr(self.improvement_strategy, "rollback", None)
        if restore is None:
            why = "nothing can put the old configuration back: give a config_adapter"
            return {"restore_applied": False, "restore_source": "none", "error": why}
        restore(agent_id=agent_id, backup_config=backup_config)
        return {"restore_applied": True, "restore_source": "improvement_strategy"}

    # -- what is known -------------------------------------------------------------------------------------------------

    def _ended(self, agent_id: str, since: float) -> list[Outcome]:
        """The calls that ended since then, oldest first."""
        ran = self.ratchet.outcomes(agent=agent_id, since=since - _LONGEST_CALL_S)
        return [each for each in ran if _end(each) >= since][::-1]

    def _load_traces(self, agent_id: str | None = None) -> list[Row]:
        """Traces, oldest first, of the last thousand calls."""
        return [_trace(each) for each in [*self.ratchet.outcomes(agent=agent_id, limit=1000)][::-1]]

    def _calculate_metrics(self, agent_id: str, since: datetime | None = None) -> Row:
        start = time.time() - self.ratchet.pulses.show(agent_id).window_s if since is None else since.timestamp()
        ran = self._ended(agent_id, start)
        streak = next((back for back, each in enumerate(reversed(ran)) if each.ok), len(ran))
        return {
            "success_rate": sum(each.ok for each in ran) / max(len(ran), 1),
            "avg_duration_sec": sum(each.duration_s or 0.0 for each in ran) / max(len(ran), 1),
            "total_tasks": len(ran),
            "consecutive_failures": streak,
        }

    def _is_slower(self, agent_id: str, since: str, reason: str) -> bool:
        if not since or not reason.startswith("latency"):
            return False
        changed = datetime.fromisoformat(since).timestamp()
        ran = self._ended(agent_id, changed - self.ratchet.pulses.show(agent_id).window_s)
        old = [each.duration_s or 0.0 for each in ran if _end(each) < changed]
        return proven_slower(old, [each.duration_s or 0.0 for each in ran if _end(each) >= changed])

    # -- state and log -------------------------------------------------------------------------------------------------

    def _settled(self, agent: str) -> None:
        """Watch an agent's change no longer."""
        _row(self.state.get("backups")).pop(agent, None)
        self._save_state()

    def _note(self, what: str, agent: str, value: Json) -> None:
        self.state[what] = {**_row(self.state.get(what)), agent: value}
        self._save_state()

    def _load_state(self) -> Row:
        """The state of the file; a file that is broken is set aside, with a warning."""
        content = files.read(self.state_file)
        try:
            return {} if content is None else _row(json.loads(content))
        except ValueError:
            broken = Path(f"{self.state_file}.broken")
            self.state_file.replace(broken)
            self._log("warn", f"{self.state_file} was no JSON; it is now {broken}")
            return {}

    def _save_state(self) -> None:
        files.replace(self.state_file, json.dumps(self.state, ensure_ascii=False, indent=2).encode(), mode=0o600)

    def _log(self, level: str, message: str) -> None:
        said = redact_json(message)
        self.logger.log(_LEVELS.get(level, logging.INFO), said, extra={"taiji_level": level})
        row: Row = {"timestamp": datetime.now().astimezone().isoformat(), "level": level, "logger": self.logger.name}
        with self.log_file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "message": said}, ensure_ascii=False) + "\n")


def _row(value: Json) -> Row:
    return value if isinstance(value, dict) else {}


def _trace(kept: Outcome) -> Row:
    context = kept.context.get("context")
    return {
        "agent_id": kept.agent,
        "task": kept.task,
        "success": kept.ok,
        "duration_sec": kept.duration_s or 0.0,
        "error": kept.failure.message if kept.failure else None,
        "context": context if isinstance(context, dict) else {},
        "timestamp": datetime.fromtimestamp(kept.started_at, UTC).isoformat(),
    }


def _end(ran: Outcome) -> float:
    return ran.started_at + (ran.duration_s or 0.0)


def _refuse_unbegun(result: object) -> None:
    if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result):
            result.close()
        raise UsageError(
            f"execute_fn returned a {type(result).__name__}, which has not run yet: hand in a function that runs it, "
            "or use ratchet.watch, which takes coroutines and generators"
        )
