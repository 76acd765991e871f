"""Killed between any two writes, a trial is found by the next start in a state that it can go on from."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ratchet.errors import NotFound
from ratchet.ids import CALL
from ratchet.improving.loop import proposals
from ratchet.improving.loop.improve import Improve
from ratchet.improving.targets.functions import FunctionTarget
from ratchet.improving.trials import arms, publishing
from ratchet.improving.trials.guard import Guard
from ratchet.improving.trials.trials import OPEN, trials
from ratchet.ports import Edit, Fix, Held, Problem, Restored, Store, Target
from ratchet.records import Change, Json, Row
from ratchet.store.timeline import events
from support.worlds import AGENT, World, rates

TARGET = f"settings:{AGENT}"


class Killed(BaseException):
    """The process ends here: nothing catches it."""


@dataclass
class Fuse:
    """Counts the places where a process may die, and dies at one of them."""

    at: int
    met: int = 0

    def point(self) -> None:
        self.met += 1
        if self.met == self.at:
            raise Killed


class FrailStore:
    """A store whose process may die before every write and before every commit."""

    def __init__(self, store: Store, fuse: Fuse) -> None:
        self._store, self._fuse = store, fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name not in ("insert_new", "add", "swap", "delete_before"):
            return found

        def write(*args: object, **kwargs: object) -> object:
            self._fuse.point()
            return found(*args, **kwargs)

        return write

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._store.transaction():
            yield
            self._fuse.point()


class FrailTarget:
    """A target whose process may die before and after it is touched."""

    def __init__(self, target: Target, fuse: Fuse) -> None:
        self._target, self._fuse = target, fuse
        self.name = target.name

    def read(self) -> Held:
        return self._target.read()

    def plan(self, change: Mapping[str, Json]) -> Edit:
        return self._target.plan(change)

    def apply(self, edit: Edit) -> None:
        self._fuse.point()
        self._target.apply(edit)
        self._fuse.point()

    def restore(self, edit: Edit) -> Restored:
        self._fuse.point()
        restored = self._target.restore(edit)
        self._fuse.point()
        return restored


@dataclass
class Scene:
    """One home, a plain guard for restarts and a frail one for the run that dies."""

    world: World
    fuse: Fuse
    outside: dict[str, Json] = field(default_factory=lambda: {"limit": 5})

    def __post_init__(self) -> None:
        self.frail: Any = FrailStore(self.world.store, self.fuse)
        self.guard = Guard(self.frail, str(self.world.home), lambda name: FrailTarget(self.target_of(name), self.fuse))
        self.plain = Guard(self.world.store, str(self.world.home), self.target_of)

    def target_of(self, name: str) -> Target:
        if name == "function:limit":
            return FunctionTarget("limit", get=lambda: dict(self.outside), put=self._put)
        return self.world.target_of(name)

    def _put(self, value: Json) -> None:
        assert isinstance(value, dict)
        self.outside = value

    def change(self) -> Change:
        return self.world.change(max_retries=3)

    def units(self, trial_id: str, old: float, new: float, count: int = 300) -> None:
        """Exposures past their deadline, in the store at once."""
        rows: list[Row] = []
        for number in range(count):
            is_new = number % 2 == 0
            ok = (number // 2 % 100) < 100 * (new if is_new else old)
            at = self.world.now + number
            rows.append(
                {
                    "trial": trial_id,
                    "unit": f"{CALL}{number}",
                    "arm": "new" if is_new else "control",
                    "share": 0.5,
                    "at": at,
                    "due_at": at + 600,
                    "channel": arms.CHANNEL,
                    "settled": True,
                    "ok": ok,
                    "duration_s": 1.0,
                    "revision": 1,
                }
            )
        self.world.store.insert_new("exposures", rows)
        self.world.now += count + 601


def keeps(scene: Scene) -> None:
    held = scene.guard.open(scene.change(), now=scene.world.now)
    scene.units(held.id, 0.5, 0.95)
    scene.guard.advance(held.id, now=scene.world.now)


def reverts(scene: Scene) -> None:
    held = scene.guard.open(scene.change(), now=scene.world.now)
    scene.units(held.id, 0.95, 0.5)
    scene.guard.advance(held.id, now=scene.world.now)


def gives_up(scene: Scene) -> None:
    held = scene.guard.open(scene.change(), now=scene.world.now)
    scene.guard.advance(held.id, now=scene.world.now + 15 * 86_400)


def is_stopped(scene: Scene) -> None:
    held = scene.guard.open(scene.change(), now=scene.world.now)
    scene.guard.stop(held.id, now=scene.world.now, keep=True)


def pauses_and_resumes(scene: Scene) -> None:
    held = scene.guard.open(scene.change(), now=scene.world.now)
    scene.units(held.id, 0.9, 0.9, 100)
    _failing(scene, held.id)
    scene.guard.advance(held.id, now=scene.world.now)
    scene.world.run(rates(1.0, 1.0), 5)
    scene.guard.advance(held.id, now=scene.world.now)
    scene.guard.stop(held.id, now=scene.world.now)


def _failing(scene: Scene, trial_id: str) -> None:
    rows: list[Row] = [
        {
            "trial": trial_id,
            "unit": f"{CALL}out{number}",
            "arm": "new" if number % 2 else "control",
            "share": 0.5,
            "at": scene.world.now + number,
            "due_at": scene.world.now + number + 1,
            "channel": arms.CHANNEL,
            "settled": True,
            "ok": False,
            "revision": 1,
        }
        for number in range(20)
    ]
    scene.world.store.insert_new("exposures", rows)
    scene.world.now += 30


def switches_back(scene: Scene) -> None:
    change = Change(target="function:limit", new={"limit": 9}, agent=AGENT)
    held = scene.guard.open(change, now=scene.world.now)
    for _ in range(6):
        scene.world.run(rates(1.0, 1.0), 12)
        scene.guard.advance(held.id, now=scene.world.now)
    scene.guard.stop(held.id, now=scene.world.now)


def keeps_without_a_coin(scene: Scene) -> None:
    change = Change(target="function:limit", new={"limit": 9}, agent=AGENT)
    held = scene.guard.open(change, now=scene.world.now, mode="advisory")
    scene.guard.stop(held.id, now=scene.world.now, keep=True)


def is_proposed(scene: Scene) -> None:
    store: Store = scene.frail
    problem = Problem(
        agent=AGENT, kind="rate_limit", pattern="p1", template="", count=9, calls=99, window_s=3600, values={}, knobs={}
    )
    made = proposals.put_forward(
        store, problem, [Fix(title="more", fix="retry_logic", new={"max_retries": 3})], now=scene.world.now
    )
    assert made is not None
    proposals.approve(store, scene.guard, made.id, now=scene.world.now)
    (held,) = trials(scene.world.store)
    scene.units(held.id, 0.5, 0.95)
    scene.guard.advance(held.id, now=scene.world.now)
    proposals.catch_up(store, now=scene.world.now)


def goes_round(scene: Scene) -> None:
    improve = Improve(scene.frail, scene.guard, observe=scene.world.drain, auto_fix=True, send=lambda notice: None)
    scene.world.run(rates(0.5, 0.5), 40)
    improve.tick(scene.world.now)
    improve.tick(scene.world.now)
    (held,) = trials(scene.world.store)
    scene.units(held.id, 0.95, 0.5)
    improve.tick(scene.world.now)


SCENES: tuple[Callable[[Scene], None], ...] = (
    keeps,
    reverts,
    gives_up,
    is_stopped,
    pauses_and_resumes,
    switches_back,
    keeps_without_a_coin,
    is_proposed,
    goes_round,
)
POINTS = 200


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with some history."""
    home = tmp_path_factory.mktemp("prepared") / "home"
    world = World(home)
    world.run(rates(0.9, 0.9), 60)
    world.store.close()
    return home


def scene_at(prepared: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> Scene:
    shutil.copytree(prepared, folder)
    world = World(folder)
    world.now += 100
    scene = Scene(world, Fuse(at))

    def publish(home: str, open_: object) -> None:
        scene.fuse.point()
        arms.publish(home, open_)  # type: ignore[arg-type]
        scene.fuse.point()

    def forget(home: str, is_settled: Callable[[str], bool]) -> None:
        scene.fuse.point()
        arms.forget(home, is_settled)

    patched = type("Arms", (), {"publish": staticmethod(publish), "forget": staticmethod(forget)})
    monkeypatch.setattr(publishing, "arms", patched)
    return scene


def restarted(scene: Scene) -> None:
    """What the next start does."""
    scene.fuse.at = -1
    scene.plain.repair(now=scene.world.now)
    proposals.catch_up(scene.world.store, now=scene.world.now)


def consistent(scene: Scene) -> None:
    """Whatever happened, everything says the same."""
    store = scene.world.store
    going = trials(store, states=OPEN)
    assert all(each.state != "planned" and not each.decision for each in going)
    leases = {str(row["target"]): row.get("trial") or "" for row in store.find("leases").rows}
    assert {target: holder for target, holder in leases.items() if holder} == {e.change.target: e.id for e in going}
    file = scene.world.home / arms.FILE
    published = [row["id"] for row in json.loads(file.read_text())["trials"]] if file.exists() else []
    assert sorted(published) == sorted(each.id for each in going if each.mode == "coin")
    for each in trials(store):
        told = Counter(str(event["verb"]) for event in events(store, each.id))
        ends = told["kept"] + told["reverted"] + told["undecided"]
        assert ends == (0 if each in going else 1)
        assert told["planned"] == 1
        assert told["decided"] <= 1
    kept = [each for each in trials(store, target=TARGET) if each.state == "kept"]
    assert scene.world.settings(AGENT).current().values == ({"max_retries": 3} if kept else {})
    outside = trials(store, target="function:limit")
    if outside and outside[0].state != "open":
        assert scene.outside == {"limit": 9 if outside[0].state == "kept" else 5}
    for made in proposals.proposals(store):
        found = [each for each in trials(store) if each.change.origin == made.id]
        expected = "open" if not found else "trial" if found[0] in going else found[0].state
        assert made.state == expected


def finished(scene: Scene) -> None:
    """The trial goes on to one end, and its target is free again."""
    for each in trials(scene.world.store, states=OPEN):
        scene.plain.stop(each.id, now=scene.world.now)
    restarted(scene)
    consistent(scene)
    held = scene.plain.open(scene.world.change(backoff_s=2.0), now=scene.world.now)
    assert scene.plain.stop(held.id, now=scene.world.now).state == "undecided"


def test_two_hundred_crash_points_each_restarted_to_a_consistent_state(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = 0
    for play in SCENES:
        at = 0
        while True:
            at += 1
            scene = scene_at(prepared, tmp_path / f"{play.__name__}-{at}", monkeypatch, at)
            try:
                play(scene)
            except Killed:
                met += 1
                restarted(scene)
                consistent(scene)
                finished(scene)
                scene.world.store.close()
                continue
            finally:
                scene.world.store.close()
            break
    assert met >= POINTS


def test_a_repair_leaves_a_target_of_another_process_to_it(prepared: Path, tmp_path: Path) -> None:
    shutil.copytree(prepared, tmp_path / "home")
    world = World(tmp_path / "home")
    fuse = Fuse(-1)
    scene = Scene(world, fuse)
    held = scene.plain.open(Change(target="function:limit", new={"limit": 9}, agent=AGENT), now=world.now)

    def elsewhere(name: str) -> Target:
        raise NotFound(name)

    other = Guard(world.store, str(world.home), elsewhere)
    assert other.repair(now=world.now) == []
    assert trials(world.store)[0] == held
    world.store.close()
