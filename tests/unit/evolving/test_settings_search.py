"""The search of settings without a model, over any knobs that can be declared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from ratchet.evolving.candidate import Candidate, CandidateState
from ratchet.evolving.proposers.settings import SettingsProposer
from ratchet.improving.settings.knob import Choice, Knob, Range, described_knob
from ratchet.ports import Sandbox, Workspace
from ratchet.records import Json
from ratchet.testing.proposing import candidate, proposal_job

NOWHERE = cast("Workspace", None)  # this proposer looks at no file
NO_SANDBOX = cast("Sandbox", None)


def ranges() -> st.SearchStrategy[Range]:
    bounds = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9)

    def made(low: float, high: float, integer: bool) -> Range:
        low, high = min(low, high), max(low, high)
        try:
            return Range(low, high, integer=integer)
        except Exception:  # noqa: BLE001  (no whole number lies between: no such knob can be declared)
            return Range(low, high)

    return st.builds(made, bounds, bounds, st.booleans())


def choices() -> st.SearchStrategy[Choice]:
    values = (
        st.text(max_size=5) | st.integers(-5, 5) | st.booleans() | st.none() | st.lists(st.integers(0, 3), max_size=2)
    )
    return st.lists(values, min_size=1, max_size=5).map(lambda options: Choice(*options))


@given(
    knobs=st.dictionaries(st.sampled_from("abcd"), ranges() | choices(), min_size=1),
    states=st.lists(st.sampled_from(["kept", "reverted", "screened_out", "undecided"]), min_size=1, max_size=12),
    means=st.lists(st.floats(-1, 1), min_size=12, max_size=12),
    seed=st.integers(0, 5),
)
def test_every_proposal_is_one_new_value_that_its_knob_allows(
    knobs: Mapping[str, Knob], states: list[CandidateState], means: list[float], seed: int
) -> None:
    described = {name: knob.described() for name, knob in knobs.items()}
    parent = candidate(0, state="baseline")
    values: dict[str, Json] = {name: each["default"] for name, each in described.items()}
    had = {(name, json.dumps(value)) for name, value in values.items()}
    tried: list[Candidate] = []
    for n, (state, mean) in enumerate(zip(states, means, strict=False), 1):
        asked = proposal_job(NOWHERE, NO_SANDBOX, knobs=described, parent=parent, tried=tuple(tried), seed=seed)
        proposed = SettingsProposer().propose(asked)
        assert proposed == SettingsProposer().propose(asked)
        if proposed.status == "nothing":
            break
        ((name, value),) = proposed.settings.items()
        described_knob(described[name]).check(value)
        assert (name, json.dumps(value)) not in had
        had.add((name, json.dumps(value)))
        after = {**values, name: value}
        tried.append(candidate(n, state=state, settings=after, parent=parent.id, mean=mean))
        if state == "kept":
            parent, values = tried[-1], after


def test_a_setting_that_was_never_heard_of_is_no_obstacle() -> None:
    knobs: Mapping[str, Mapping[str, Json]] = {"odd": {"type": "mine", "default": [1]}, "n": Range(0, 2).described()}
    proposed = SettingsProposer().propose(proposal_job(NOWHERE, NO_SANDBOX, knobs=knobs))
    assert [*proposed.settings] == ["n"]
