"""Settings that are global: files and functions change for everybody, so the control comes in blocks, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from ratchet.errors import BackendError
from ratchet.improving.targets.file import FileTarget
from ratchet.improving.targets.functions import FunctionTarget
from ratchet.improving.trials.guard import Guard
from ratchet.improving.trials.trials import trial, trials
from ratchet.ports import Target
from ratchet.records import Change, Json, Row, Trial, Version
from ratchet.store.timeline import events
from support.worlds import AGENT, World

TEXT = """# kept by hand
[llm]
timeout_s = 30  # seconds
model = "large"
"""


class Outside:
    """A world with a TOML file, or another target, under trial."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.file = world.home / "agent.toml"
        self.file.write_text(TEXT)
        self.target: Target = FileTarget(self.file, ["llm.timeout_s"])
        self.guard = Guard(world.store, str(world.home), lambda name: self.target)

    def open(self, mode: str | None = None, **new: Json) -> Trial:
        change = Change(target=self.target.name, new=new or {"llm.timeout_s": 5}, agent=AGENT)
        return self.guard.open(change, now=self.world.now, mode=mode)  # type: ignore[arg-type]

    def changed(self) -> bool:
        return "timeout_s = 5" in self.file.read_text()

    def run(self, trial_id: str, old: float, new: float, blocks: int) -> Trial:
        """Blocks of twelve calls, each as good as the file says at that moment."""
        held = trial(self.world.store, trial_id)
        for _ in range(blocks):
            rate = new if self.changed() else old

            def behave(version: Version | None, draw: float, rate: float = rate) -> tuple[bool, float]:
                return draw < rate, 1.0

            self.world.run(behave, 12)
            held = self.guard.advance(trial_id, now=self.world.now)
            if held.closed_at:
                break
        return held


@pytest.fixture
def outside(world: World) -> Outside:
    return Outside(world)


def test_blocks_change_the_file_back_and_forth_and_what_harms_is_undone_to_the_byte(outside: Outside) -> None:
    held = outside.open()
    assert held.mode == "switchback"
    seen = set()
    for _ in range(12):
        outside.run(held.id, 0.9, 0.9, 1)
        seen.add(outside.changed())
    assert seen == {True, False}
    done = outside.run(held.id, 0.9, 0.2, 400)
    assert done.state == "reverted"
    assert outside.file.read_text() == TEXT


def test_what_is_better_by_blocks_is_kept_in_the_file(outside: Outside) -> None:
    done = outside.run(outside.open().id, 0.5, 0.95, 400)
    assert done.state == "kept"
    said = outside.guard.evidence(done.id, now=done.closed_at)
    assert said.new.rate is not None
    assert said.old.rate is not None
    assert said.new.rate > said.old.rate
    assert said.toward >= said.threshold
    assert said.effect.estimate is not None
    assert said.effect.estimate > 0
    assert outside.file.read_text() == TEXT.replace("timeout_s = 30", "timeout_s = 5")


def test_a_persons_edit_of_the_file_during_the_trial_survives_a_revert(outside: Outside) -> None:
    held = outside.open()
    for number in range(40):
        if number == 5:
            outside.file.write_text(outside.file.read_text().replace('"large"', '"small"') + "\n[mine]\nx = 1\n")
        if outside.run(held.id, 0.95, 0.1, 1).closed_at:
            break
    outside.run(held.id, 0.95, 0.1, 400)
    assert trial(outside.world.store, held.id).state == "reverted"
    assert outside.file.read_text() == TEXT.replace('"large"', '"small"') + "\n[mine]\nx = 1\n"


def test_a_key_that_a_person_set_meanwhile_stays_theirs_and_ends_the_trial(outside: Outside) -> None:
    held = outside.open()
    outside.run(held.id, 0.9, 0.9, 2)
    outside.file.write_text(TEXT.replace("30", "77"))
    done = outside.run(held.id, 0.9, 0.9, 2)
    assert done.state == "undecided"
    assert "somebody changed the same keys" in done.reason
    assert "timeout_s = 77" in outside.file.read_text()


def test_advice_without_control_is_labelled_stops_a_catastrophe_and_keeps_nothing(outside: Outside) -> None:
    outside.world.run(lambda version, draw: (draw < 0.95, 1.0), 150)
    held = outside.open("advisory")
    assert outside.changed()
    good = outside.run(held.id, 0.95, 1.0, 30)
    assert good.state == "open"
    assert good.reason.startswith("advisory: ")
    done = outside.run(held.id, 0.95, 0.0, 10)
    assert done.state == "reverted"
    assert "no control arm" in done.reason
    assert outside.file.read_text() == TEXT


def test_a_target_that_cannot_be_changed_opens_no_trial_and_is_left_as_it_was(world: World) -> None:
    outside = Outside(world)
    value: dict[str, Json] = {"limit": 5}

    def refuse(wanted: Json) -> None:
        raise OSError("read-only")

    outside.target = FunctionTarget("limit", get=lambda: dict(value), put=refuse)
    with pytest.raises(BackendError):
        outside.open("advisory", limit=9)
    (held,) = trials(world.store)
    assert held.state == "undecided"
    assert "could not be applied" in held.reason
    assert [str(event["verb"]) for event in events(world.store, held.id)] == ["planned", "decided", "undecided"]
    assert value == {"limit": 5}


def test_a_change_that_only_fails_faster_is_not_reverted_for_being_heard_first(outside: Outside) -> None:
    held = outside.open()
    world = outside.world
    running: list[tuple[float, Row]] = []
    for number in range(3_000):
        world.now += 1.0
        ok = world.chance.random() < 0.8
        seconds = 1.0 if not ok and outside.changed() else 60.0
        row: Row = {"id": f"x{number}", "agent": AGENT, "ok": ok, "started_at": world.now, "duration_s": seconds}
        if not ok:
            row["failure"] = {"message": "refused"}
        running.append((world.now + seconds, row))
        if number % 12 == 0:
            world.rows += [row for ends_at, row in running if ends_at <= world.now]
            running = [each for each in running if each[0] > world.now]
            world.drain()
            if outside.guard.advance(held.id, now=world.now).closed_at:
                break
    assert trial(world.store, held.id).state == "open"
    said = outside.guard.evidence(held.id, now=world.now)
    assert said.new.rate == pytest.approx(0.8, abs=0.1)
    assert said.old.rate == pytest.approx(0.8, abs=0.1)


def test_blocks_without_calls_are_no_evidence(outside: Outside, tmp_path: Path) -> None:
    held = outside.open()
    for _ in range(20):
        outside.world.now += 400
        outside.guard.advance(held.id, now=outside.world.now)
    rows = outside.world.store.find("exposures", {"trial": held.id, "settled": True}).rows
    assert len(rows) >= 19
    assert all(row.get("score") is None for row in rows)
    assert trial(outside.world.store, held.id).state == "open"
