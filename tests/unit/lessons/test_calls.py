"""One call for programs: what a hook would journal and say, said to any agent's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ratchet
from ratchet import ids
from ratchet.lessons import exposure, reply
from ratchet.recording import recorder
from ratchet.recording.live import failed_row
from ratchet.records import Json, Outcome, Row

ERROR = "fatal: The current branch main has no upstream branch."
ADVICE = "git push --set-upstream origin <branch>"
PUSH: Row = {"command": "git push"}


@pytest.fixture
def r(home: Path) -> Iterator[ratchet.Ratchet]:
    with ratchet.Ratchet(home) as made:
        made.lessons.add(when=ERROR, do=ADVICE, state="active", scope="global")
        yield made


def session(home: Path, *, shown: bool) -> str:
    """A session whose coin falls that way."""
    with ratchet.Ratchet(home) as r:
        pattern = exposure.pattern_of({"id": "", "signature": r.lessons.list()[0].signature})
    salt = exposure.salt_of(str(home))
    return next(name for name in map(str, range(1000)) if ids.toss(salt, name, pattern, share=0.8) is shown)


def outcomes(r: ratchet.Ratchet) -> list[Outcome]:
    return [outcome for outcome in r.outcomes() if outcome.step is not None]


def test_a_failure_is_recorded_and_answered_as_a_hook_does(home: Path, r: ratchet.Ratchet) -> None:
    name = session(home, shown=True)
    said = r.failed("shop", tool="Bash", input=PUSH, error=ERROR, session=name, call="c-1")
    assert ADVICE in said
    assert said.startswith("<ratchet-lessons-")
    (kept,) = outcomes(r)
    assert kept.step is not None
    assert kept.failure is not None
    assert (kept.agent, kept.ok, kept.session, kept.step.head) == ("shop", False, name, "git push")
    given: Json = dict(PUSH)
    live = failed_row("shop", "Bash", given, ERROR, session=name, flag=True, project=str(Path.cwd()))
    assert live is not None
    assert reply.to_failure(str(home), live, lambda row: True) == said


def test_the_coin_withholds_it_from_some_sessions(home: Path, r: ratchet.Ratchet) -> None:
    withheld = session(home, shown=False)
    assert r.failed("shop", tool="Bash", input=PUSH, error=ERROR, session=withheld) == ""
    assert r.report().waiting == 1
    assert ADVICE in r.failed("shop", tool="Bash", input=PUSH, error=ERROR)  # nobody to toss for


def test_a_call_told_twice_is_one_call_with_one_answer(home: Path, r: ratchet.Ratchet) -> None:
    name = session(home, shown=True)
    said = [r.failed("shop", tool="Bash", input=PUSH, error=ERROR, session=name, call="c-1") for _ in range(4)]
    assert set(said) == {said[0]} != {""}
    assert len(outcomes(r)) == 1
    assert r.report().waiting == 1


def test_a_success_is_recorded_and_says_nothing(r: ratchet.Ratchet) -> None:
    assert r.succeeded("shop", tool="Bash", input=PUSH, output="done", session="s") == ""
    assert [outcome.ok for outcome in outcomes(r)] == [True]


def test_a_success_whose_output_tells_of_a_failure_is_one(r: ratchet.Ratchet) -> None:
    assert ADVICE in r.succeeded("shop", tool="Bash", input='{"command": "git push"}', output=ERROR)
    (kept,) = outcomes(r)
    assert kept.failure is not None
    assert (kept.ok, kept.failure.flagged) == (False, False)


@pytest.mark.parametrize(
    "error", ["The user doesn't want to proceed with this tool use.", asyncio.CancelledError(), KeyboardInterrupt()]
)
def test_nothing_is_said_about_what_was_nobodys_mistake(r: ratchet.Ratchet, error: Any) -> None:
    assert r.failed("shop", tool="Bash", input=PUSH, error=error) == ""
    assert len(outcomes(r)) == 1


def test_an_exception_is_taken_as_it_comes(r: ratchet.Ratchet) -> None:
    assert ADVICE in r.failed("shop", tool="push", input={"n": {1, 2}}, error=RuntimeError(ERROR))
    (kept,) = outcomes(r)
    assert kept.failure is not None
    assert kept.failure.type == "RuntimeError"


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
WRONG = [
    ({"error": "boom"}, {"tool"}),
    ({"error": "boom", "tol": "Bash"}, {"tool", "tol"}),
    ({"tool": "Bash"}, {"error"}),
    ({"tool": "Bash", "error": ["boom"]}, {"error"}),
    ({"tool": "Bash", "error": "boom", "status": "late", "session": 7}, {"session", "status"}),
    ({"tool": "Bash", "error": "boom", "input": {"a": CIRCLE}}, {"input.a" + "[0]" * 7}),
    ({"tool": "Bash", "error": "boom", "duration_s": "long", "project": 7}, {"duration_s", "project"}),
]


@pytest.mark.parametrize("ok", [False, True])
@pytest.mark.parametrize(("given", "named"), WRONG)
def test_what_is_wrong_with_an_argument_is_logged_once_and_named_in_the_record(
    home: Path, r: ratchet.Ratchet, caplog: pytest.LogCaptureFixture, given: dict[str, Any], named: set[str], ok: bool
) -> None:
    agent = f"shop-{ok}-{sorted(named)}"
    if ok:
        given, named = {**given, "error": None}, named - {"error"} | {"tool"} - set(given)
    told = r.succeeded if ok else r.failed
    twin = ratchet.AsyncRatchet(home)
    recorder._logged.clear()
    assert [told(agent, **given) for _ in range(2)] == ["", ""]
    assert asyncio.run((twin.succeeded if ok else twin.failed)(agent, **given)) == ""
    asyncio.run(twin.close())
    kept = [outcome for outcome in outcomes(r) if outcome.agent == agent]
    assert [outcome.ok for outcome in kept] == [ok] * 3
    assert [outcome.context.get("invalid") for outcome in kept] == [sorted(named) or None] * 3
    assert not [record for record in caplog.records if record.exc_info]
    assert len([record for record in caplog.records if agent in record.getMessage()]) == bool(named)


@pytest.mark.parametrize("given", [{}, {"tool": "x"}, {"tool": Hostile(), "error": Hostile()}, {"tool": 3, "error": 4}])
def test_nothing_that_a_host_says_raises(r: ratchet.Ratchet, given: dict[str, Any]) -> None:
    assert r.failed("shop", **given) == ""
    assert r.succeeded("shop", **given) == ""


def test_a_home_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with ratchet.Ratchet(tmp_path / "file" / "home") as r:
        assert r.failed("shop", tool="Bash", error=ERROR, session="s") == ""


def test_a_secret_in_a_call_never_reaches_the_disk(home: Path, r: ratchet.Ratchet) -> None:
    secret = "ghp_" + "a1B2" * 9
    r.failed("shop", tool="Bash", input={"command": f"curl -H 'Authorization: Bearer {secret}'"}, error=secret)
    assert all(secret.encode() not in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_the_twin_for_asyncio_says_the_same(home: Path, r: ratchet.Ratchet) -> None:
    async def said() -> tuple[str, str]:
        async with ratchet.AsyncRatchet(home) as twin:
            return await twin.failed("shop", tool="Bash", error=ERROR), await twin.succeeded("shop", tool="Bash")

    assert asyncio.run(said()) == (r.failed("shop", tool="Bash", error=ERROR), "")
