"""Which arm of an open trial a unit meets: one coin per unit, its Exposure journalled before the arm acts.

The hot path never asks the database. Whoever opens, moves or settles a trial publishes the open ones to a small file in
the home, as does every process with live settings that hears of them from a shared store; a process looks at the file's
stamp five times a second. The coin hashes the trial's own salt, so every
process and machine tosses the same; only the share has to stick while the ramp rises, so a unit that outlives one call
keeps the share of its first toss, in a file of a few bytes.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from ratchet import files, ids
from ratchet.ids import CALL, hex_of
from ratchet.lessons import exposure
from ratchet.records import Json, Row, Trial, Version

FILE = "trials.json"
CHANNEL = "trial"
"""`channel` of a trial's exposures; lessons have others."""
LASTING_DEADLINE_S = 86_400.0
LOOK_S = 0.2
"""How old a process's knowledge of its home's open trials may be."""
_FOLDER = "trials"
_REMEMBERED = 4096  # units whose arm a process knows by heart; more are looked up in their files


class OpenTrial:
    """The part of an open trial that a watched call must know."""

    __slots__ = (
        "agent",
        "deadline_s",
        "id",
        "new",
        "old",
        "paused",
        "quiet_s",
        "salt",
        "share",
        "sticky",
        "target",
        "unit",
    )

    def __init__(self, row: Mapping[str, Json]) -> None:
        self.id = str(row["id"])
        self.target = str(row["target"])
        self.agent = str(row["agent"])
        self.unit = str(row["unit"])
        self.salt = str(row["salt"])
        self.share = float(row["share"])  # type: ignore[arg-type]
        self.deadline_s = float(row["deadline_s"])  # type: ignore[arg-type]
        self.quiet_s = float(row["quiet_s"])  # type: ignore[arg-type]
        self.paused = bool(row["paused"])
        self.sticky = bool(row["sticky"])
        self.new = _version(self.target, row["new"])
        self.old = _version(self.target, row["old"])

    def due_at(self, unit: str, at: float) -> float:
        """When this unit must have its outcome. One that outlives a call has a day, whatever the others are."""
        lasts = not unit.startswith(CALL) and self.unit == "call"
        return at + (max(self.deadline_s, LASTING_DEADLINE_S) if lasts else self.deadline_s)


class OpenTrials:
    """The open trials of a home, as watched calls meet them: `ports.Arms`. Safe under threads and fork; nothing here
    raises.

    `append` writes a row to the journal and says whether it is safe there: what could not be journalled could not be
    measured, so that unit keeps the old values.
    """

    def __init__(self, home: str, append: Callable[[Row], bool]) -> None:
        self._home = home
        self._path = os.path.join(home, FILE)
        self._append = append
        self._look_at = 0.0
        self._stamp: tuple[int, int, int] | None = None
        self._open: dict[str, OpenTrial] = {}
        self._met: dict[str, dict[str, tuple[OpenTrial, bool]]] = {}

    def arm_of(self, target: str, unit: str) -> Version | None:
        """The version that this unit gets, once its Exposure is in the journal; None where no trial concerns it."""
        if time.monotonic() >= self._look_at:
            self._look()
        trial = self._open.get(target)
        if trial is None:
            return None
        met = self._met.get(unit)
        known = met.get(target) if met is not None else None
        if known is None or known[0].id != trial.id:
            new = self._tossed(trial, unit, time.time())
            if new is None:
                return None
            if met is None:
                if len(self._met) >= _REMEMBERED:  # not all of them: calls under way have yet to name what they met
                    self._met.pop(next(iter(self._met)), None)
                met = self._met[unit] = {}
            met[target] = known = (trial, new)
        return trial.new if known[1] else trial.old  # as they are now: somebody may have set other keys beside

    def met_by(self, agent: str, unit: str, targets: Collection[str]) -> dict[str, Json]:
        """Trial -> unit, for the outcome of a call of this unit that read these targets. A call's own unit ends
        here."""
        met = self._met.pop(unit, None) if unit.startswith(CALL) else self._met.get(unit)
        if not met:
            return {}
        return {trial.id: unit for target, (trial, _) in met.items() if trial.agent == agent or target in targets}

    @property
    def any_open(self) -> bool:
        """Tell whether a trial is open in this home."""
        if time.monotonic() >= self._look_at:
            self._look()
        return bool(self._open)

    def _tossed(self, trial: OpenTrial, unit: str, at: float) -> bool | None:
        """Tell whether the unit falls to the new arm, journalled; None when it is no part of the trial."""
        lasts = not unit.startswith(CALL)
        share: float | None = None if trial.paused else trial.share
        try:
            if lasts and (trial.sticky or trial.paused):
                share = self._first_share(trial, unit)
        except (OSError, ValueError):
            return None
        if share is None:
            return None
        new = ids.toss(trial.salt, trial.id, unit, share=share)
        return new if self._append(exposure_row(trial, unit, new=new, share=share, at=at)) else None

    def _first_share(self, trial: OpenTrial, unit: str) -> float | None:
        """The share of the unit's first toss; while the trial is paused, None for a unit that is new."""
        folder = os.path.join(self._home, _FOLDER, trial.id)
        path = os.path.join(folder, hex_of(unit)[:24])
        try:
            return float(exposure.small_text(path))
        except FileNotFoundError:
            if trial.paused:
                return None
            os.makedirs(folder, mode=0o700, exist_ok=True)
            return float(exposure.settled_text(path, repr(trial.share)))

    def _look(self) -> None:
        """Read the file anew if it was replaced. A damaged or missing one means that no trial is open."""
        self._look_at = time.monotonic() + LOOK_S
        try:
            found = os.stat(self._path)
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp == self._stamp:
                return
            with open(self._path, encoding="utf-8") as file:
                rows = json.load(file)["trials"]
            self._open = {trial.target: trial for trial in map(OpenTrial, rows)}
            self._stamp = stamp
        except FileNotFoundError:
            self._open, self._stamp = {}, None
        except (OSError, ValueError, KeyError, TypeError):
            import logging

            logging.getLogger(__name__).warning("trials.unreadable", extra={"path": self._path}, exc_info=True)
            self._open, self._stamp = {}, None


def _version(target: str, row: Json) -> Version:
    if not isinstance(row, dict) or not isinstance(row["values"], dict):
        raise ValueError("a version without values")
    number, at = row["number"], row["at"]
    if not isinstance(number, int) or not isinstance(at, int | float):
        raise ValueError("a version without a number")
    return Version(target=target, number=number, values=row["values"], at=at)


def exposure_row(trial: OpenTrial, unit: str, *, new: bool, share: float, at: float) -> Row:
    """An Exposure as it is journalled. `quiet_s`, of a unit that outlives a call: the silence that ends it."""
    lasting: Row = {} if unit.startswith(CALL) else {"quiet_s": trial.quiet_s}
    return {
        **lasting,
        "r": "exposure",
        "trial": trial.id,
        "unit": unit,
        "arm": "new" if new else "control",
        "share": share,
        "at": at,
        "due_at": trial.due_at(unit, at),
        "channel": CHANNEL,
        "settled": False,
        "revision": 1,
    }


def publish(home: str, trials: Iterable[Trial]) -> None:
    """Tell every process of this home which trials are open (those of other modes are not met by calls).

    Replaces the file whole, and only when it would say something else. Raises OSError.
    """
    rows = [_published(trial) for trial in trials if trial.mode == "coin"]
    text = json.dumps({"trials": rows}, ensure_ascii=False, sort_keys=True)
    path = os.path.join(home, FILE)
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except OSError:
        if not rows:
            return
    os.makedirs(home, mode=0o700, exist_ok=True)
    files.replace(path, text.encode(), mode=0o600)


def forget(home: str, is_settled: Callable[[str], bool]) -> None:
    """Delete the shares that the units of settled trials kept. What another process writes or deletes at this moment is
    left to the next time. Raises OSError."""
    folder = os.path.join(home, _FOLDER)
    if not os.path.isdir(folder):
        return
    for trial_id in os.listdir(folder):
        if not is_settled(trial_id):
            continue
        held = os.path.join(folder, trial_id)
        try:
            for name in os.listdir(held):
                os.unlink(os.path.join(held, name))
            os.rmdir(held)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST):
                raise


def _published(trial: Trial) -> Row:
    after = trial.edit.get("after")
    new = {**trial.base, **(after if isinstance(after, dict) else {})}
    return {
        "id": trial.id,
        "target": trial.change.target,
        "agent": trial.change.agent,
        "unit": trial.unit,
        "salt": trial.salt,
        "share": trial.share,
        "deadline_s": trial.deadline_s,
        "quiet_s": trial.quiet_s,
        "paused": trial.state == "paused",
        "sticky": bool(trial.ramp),  # also where most units are calls: a session among them lasts
        "new": {"number": _number(trial.edit.get("result")), "values": new, "at": trial.created_at},
        "old": {"number": _number(trial.edit.get("version")), "values": dict(trial.base), "at": 0.0},
    }


def _number(version: Json) -> int:
    text = str(version)
    return int(text) if text.isdecimal() else 0
