"""What every target keeps to, run over every implementation. A new one joins `BUILDERS` and changes nothing else."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratchet.errors import BackendError, Conflict, UsageError
from ratchet.improving.settings.knob import Choice, Range
from ratchet.improving.settings.versions import StoredSettings
from ratchet.improving.targets import edit as edits
from ratchet.improving.targets.file import FileTarget
from ratchet.improving.targets.functions import FunctionTarget
from ratchet.improving.targets.mapping import MappingTarget
from ratchet.ports import Target
from ratchet.records import Json, as_row
from ratchet.store.sqlite import SqliteStore

Person = Callable[[dict[str, Json]], None]
Built = tuple[Target, Person]
"""A target with the keys `timeout` ("30") and `model` ("large") set, `extra` not, and a person who edits beside us."""

KEYS = ("timeout", "model", "extra")
START: dict[str, Json] = {"timeout": "30", "model": "large"}


def _file(folder: Path, name: str, text: str) -> Built:
    path = folder / name
    path.write_text(text)

    def person(values: dict[str, Json]) -> None:
        """Edits by hand: the text of a value, wherever it stands."""
        again = FileTarget(path, KEYS)
        again.apply(again.plan(values))

    return FileTarget(path, KEYS), person


def _stored(folder: Path) -> Built:
    store = SqliteStore(folder / "ratchet.db")
    texts = Choice("30", "40", "50", "60")
    knobs = {"timeout": texts, "model": Choice("large", "small", "tiny"), "extra": texts, "rate": Range(0, 1)}
    target = StoredSettings(store, "bot", knobs=knobs)
    target.change(START, who="test")

    def person(values: dict[str, Json]) -> None:
        StoredSettings(store, "bot", knobs=knobs).change(values, who="person")

    return target, person


def _mapping(folder: Path) -> Built:
    held = {"timeout": "30", "model": "large", "other": "theirs"}
    return MappingTarget("env", held, KEYS), lambda values: held.update({k: str(v) for k, v in values.items()})


def _functions(folder: Path) -> Built:
    held: dict[str, Json] = {**START, "other": "theirs"}

    def put(value: Json) -> None:
        assert isinstance(value, dict)
        held.clear()
        held.update(value)

    return FunctionTarget("pair", get=lambda: dict(held), put=put), held.update


BUILDERS: dict[str, Callable[[Path], Built]] = {
    "stored": _stored,
    "json": lambda folder: _file(folder, "a.json", '{\n  "timeout": "30",\n  "model": "large"\n}\n'),
    "json with comments": lambda folder: _file(
        folder, "a.jsonc", '{\n  // how long\n  "timeout": "30", // seconds\n  "model": "large", /* big */\n}\n'
    ),
    "json on one line": lambda folder: _file(folder, "b.json", '{"timeout": "30", "model": "large"}'),
    "yaml": lambda folder: _file(folder, "a.yaml", "# how long\ntimeout: '30'  # seconds\nmodel: large\n"),
    "yaml in braces": lambda folder: _file(folder, "b.yml", '{timeout: "30", model: large}\n'),
    "toml": lambda folder: _file(folder, "a.toml", '# how long\ntimeout = "30"  # seconds\nmodel = "large"\n\n[x]\n'),
    "mapping": _mapping,
    "functions": _functions,
}


@pytest.fixture(params=sorted(BUILDERS))
def built(request: pytest.FixtureRequest, tmp_path: Path) -> Built:
    return BUILDERS[request.param](tmp_path)


def values_of(target: Target) -> dict[str, Json]:
    held = target.read().values
    return {key: held[key] for key in KEYS if key in held}


def test_it_tells_what_it_holds_and_leaves_absent_keys_out(built: Built) -> None:
    target, _ = built
    assert values_of(target) == START
    assert target.read() == target.read()


def test_a_plan_changes_nothing_and_tells_before_and_after(built: Built) -> None:
    target, _ = built
    before = target.read()
    edit = target.plan({"timeout": "40", "extra": "60"})
    assert target.read() == before
    assert (edit.target, dict(edit.before), dict(edit.after)) == (
        target.name,
        {"timeout": "30"},
        {"timeout": "40", "extra": "60"},
    )
    assert edit.version == before.version


def test_applying_sets_the_keys_and_reaches_the_planned_version(built: Built) -> None:
    target, _ = built
    edit = target.plan({"timeout": "40", "extra": "60"})
    target.apply(edit)
    assert values_of(target) == {**START, "timeout": "40", "extra": "60"}
    assert target.read().version == edit.result


def test_applying_again_is_nothing_more(built: Built) -> None:
    target, _ = built
    edit = target.plan({"timeout": "40"})
    target.apply(edit)
    after = target.read()
    target.apply(edit)
    assert target.read() == after


def test_a_plan_on_an_older_version_is_a_conflict_that_changes_nothing(built: Built) -> None:
    target, person = built
    edit = target.plan({"timeout": "40"})
    person({"model": "small"})
    with pytest.raises(Conflict):
        target.apply(edit)
    assert values_of(target) == {"timeout": "30", "model": "small"}


def test_restoring_puts_back_what_was_there_and_takes_out_what_was_not(built: Built) -> None:
    target, _ = built
    edit = target.plan({"timeout": "40", "extra": "60"})
    target.apply(edit)
    done = target.restore(edit)
    assert values_of(target) == START
    assert set(done.restored) == {"timeout", "extra"}
    assert not done.kept
    assert done.version == target.read().version


def test_a_persons_later_edit_of_another_key_survives_a_restore(built: Built) -> None:
    target, person = built
    edit = target.plan({"timeout": "40", "extra": "60"})
    target.apply(edit)
    person({"model": "small"})
    done = target.restore(edit)
    assert values_of(target) == {"timeout": "30", "model": "small"}
    assert set(done.restored) == {"timeout", "extra"}


def test_a_persons_later_edit_of_our_key_wins_and_is_reported(built: Built) -> None:
    target, person = built
    edit = target.plan({"timeout": "40", "extra": "60"})
    target.apply(edit)
    person({"timeout": "50"})
    done = target.restore(edit)
    assert values_of(target) == {**START, "timeout": "50"}
    assert done.restored == ("extra",)
    assert done.kept == {"timeout": "50"}


def test_restoring_twice_or_what_was_never_applied_is_nothing_more(built: Built) -> None:
    target, _ = built
    edit = target.plan({"timeout": "40"})
    assert not target.restore(edit).restored
    target.apply(edit)
    target.restore(edit)
    before = values_of(target)
    assert not target.restore(edit).restored
    assert values_of(target) == before == START


def test_an_edit_survives_being_written_down(built: Built) -> None:
    target, _ = built
    edit = target.plan({"timeout": "40", "extra": "60"})
    written = edits.edit_of(json.loads(json.dumps(as_row(edit))))
    assert written == edit
    target.apply(written)
    target.restore(written)
    assert values_of(target) == START


def test_a_key_that_is_not_the_targets_own_is_refused(built: Built) -> None:
    target, _ = built
    if isinstance(target, FunctionTarget):
        pytest.skip("a pair of functions says itself which keys there are")
    with pytest.raises(UsageError, match="other"):
        target.plan({"other": "x"})


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    theirs=st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(["40", "50", "60"])), max_size=6),
)
@pytest.mark.parametrize("kind", [kind for kind in sorted(BUILDERS) if kind != "stored"])
def test_whatever_a_person_does_meanwhile_a_restore_undoes_ours_and_only_ours(
    kind: str, theirs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    target, person = BUILDERS[kind](tmp_path_factory.mktemp("t"))
    expected: dict[str, Json] = dict(START)
    edit = target.plan({"timeout": "99", "extra": "98"})
    target.apply(edit)
    for key, value in theirs:
        person({key: value})
        expected[key] = value
    target.restore(edit)
    assert values_of(target) == expected


def test_a_function_that_hangs_costs_its_own_target_a_moment() -> None:
    released = threading.Event()
    target = FunctionTarget("slow", get=lambda: {"n": released.wait(10)}, put=lambda value: None, limit_s=0.05)
    with pytest.raises(BackendError, match=r"get did not return within 0\.05 s"):
        target.read()
    released.set()

    def late() -> object:
        raise TimeoutError("the server behind it is slow")

    with pytest.raises(BackendError, match="get raised TimeoutError: the server"):
        FunctionTarget("late", get=late, put=lambda value: None).read()  # type: ignore[arg-type]
