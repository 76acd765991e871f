"""`ratchet settings` as a person uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ratchet
from ratchet.cli.app import cli


@pytest.fixture
def bot(home: Path) -> Iterator[ratchet.Ratchet]:
    """A home in which an agent has declared its settings."""
    with ratchet.Ratchet() as r:
        settings = r.settings(
            "bot",
            model=ratchet.Choice("large", "small", "4"),
            timeout_s=ratchet.Range(1, 60, default=30),
            chain=ratchet.Choice([], ["small"]),
        )
        settings.current()
        yield r


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["settings", *arguments])


def said(*arguments: str) -> str:
    result = ran(*arguments)
    assert result.exception is None, result.exception
    return result.output


def test_what_is_in_force_is_shown_with_its_bounds(bot: ratchet.Ratchet) -> None:
    shown = said("show", "bot")
    assert "timeout_s = 30  (default)  1 to 60" in shown
    assert "one of large, small" in shown
    (found,) = json.loads(said("show", "--json"))
    assert (found["agent"], found["version"]) == ("bot", 0)
    assert [knob["name"] for knob in found["knobs"]] == ["chain", "model", "timeout_s"]


def test_setting_takes_json_and_plain_text_and_keeps_who_and_why(bot: ratchet.Ratchet) -> None:
    said("set", "bot", "timeout_s=45", "model=small", 'chain=["small"]', "--why", "slow today")
    (version,) = json.loads(said("history", "bot", "--json"))
    assert version["values"] == {"timeout_s": 45, "model": "small", "chain": ["small"]}
    assert version["why"] == "slow today"
    assert version["who"]
    said("set", "bot", "model=4")
    assert json.loads(said("history", "bot", "--json"))[0]["values"]["model"] == "4"


def test_a_secret_in_a_value_is_not_printed(home: Path) -> None:
    key = "sk-ant-api03-" + "Ab1" * 20 + "-AA"
    with ratchet.Ratchet() as r:
        r.settings("bot", key=ratchet.Choice("none", key)).current()
        said("set", "bot", f"key={key}")
        printed = "".join(said(*asked) for asked in (("show", "bot"), ("history", "bot"), ("history", "bot", "--json")))
        printed += said("show", "bot", "--json")
    assert key not in printed
    assert printed.count("[redacted:") >= 4


def test_a_knob_can_have_its_default_again(bot: ratchet.Ratchet) -> None:
    said("set", "bot", "timeout_s=45", "model=small")
    said("set", "bot", "--default", "timeout_s")
    assert json.loads(said("history", "bot", "--json"))[0]["values"] == {"model": "small"}


def test_one_can_go_back_one_step_or_to_any_version(bot: ratchet.Ratchet) -> None:
    for value in (40, 50, 60):
        said("set", "bot", f"timeout_s={value}")
    said("revert", "bot")
    assert "timeout_s = 50" in said("show", "bot")
    said("revert", "bot", "--to", "0")
    assert "timeout_s = 30  (default)" in said("show", "bot")
    assert said("history", "bot").count("\n") == 5


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("set", "bot", "timeout_s=99"), 2, "1 to 60"),
        (("set", "bot", "timeout=9"), 2, "it has chain, model, timeout_s"),
        (("set", "bot", "timeout_s"), 2, "KNOB=VALUE"),
        (("set", "bot"), 2, "KNOB=VALUE"),
        (("set", "bot", "timeout_s=9", "--expect", "7"), 4, "not 7"),
        (("show", "nobody"), 3, "ratchet.settings"),
        (("history", "nobody"), 3, "ratchet.settings"),
        (("revert", "nobody"), 3, "ratchet.settings"),
        (("revert", "bot"), 2, "never changed"),
        (("revert", "bot", "--to", "9"), 3, "no version 9"),
    ],
)
def test_what_cannot_be_done_says_why(
    bot: ratchet.Ratchet, arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = ran(*arguments)
    error = result.exception
    assert getattr(error, "exit_code", getattr(error, "code", None)) == code
    assert message in f"{error} {result.output}"


def test_without_any_settings_it_says_how_to_get_some(home: Path) -> None:
    assert "ratchet.settings" in said("show")
