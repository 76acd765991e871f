"""The lesson reaches the model of each framework in its next request: real packages, a scripted model on loopback.

`scripts/frameworks.sh` installs them beside the project; without, these tests are skipped.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import ratchet
from support.provider import Call, Provider, Step

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tests" / "support" / "frameworks"
ERROR = "HTTP 429 from weather.example: slow down"
ADVICE = "ask for at most one city a minute"
TOOL = "fetch mcp__weather__fetch"
SCRIPT: list[Step] = [Call(TOOL, {"city": "Oslo"}), Call(TOOL, {"city": "Rome"}), "done"]
FAILED_RUNS = 12  # with nine in ten withheld, all are shown once in a million million

NEWEST = ["openai_agents", "langchain", "langgraph", "pydantic_ai", "claude_agent_sdk", "google_adk"]
OLDEST = ["openai_agents", "langchain", "langgraph", "pydantic_ai", "google_adk"]
RUNS = [
    *(pytest.param(name, "newest", id=f"{name} newest") for name in NEWEST),
    *(pytest.param(name, "oldest", id=f"{name} oldest", marks=pytest.mark.soak) for name in OLDEST),
    pytest.param("crewai", "newest", id="crewai newest", marks=pytest.mark.soak),
]


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider({"": SCRIPT}) as held:
        yield held


def python_of(framework: str, age: str) -> Path:
    """The interpreter of the environment that holds a framework."""
    package = "langchain" if framework == "langgraph" else framework  # which brings it
    found = ROOT / ".frameworks" / f"{package}-{age}" / "bin" / "python"
    if not found.exists():
        pytest.skip(f"needs {package}, {age}: bash scripts/frameworks.sh {age} {package}")
    return found


def run(framework: str, age: str, provider: Provider, home: Path) -> str:
    """One run of an agent whose tool fails, then works; what it answers."""
    done = subprocess.run(
        [python_of(framework, age), SCRIPTS / f"{framework}.py", provider.url],
        env={
            "HOME": str(home.parent),
            "RATCHET_HOME": str(home),
            "PATH": os.environ["PATH"],
            "OPENAI_API_KEY": "dummy",
        },
        cwd=home.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("framework", "age"), RUNS)
def test_the_lesson_stands_in_the_next_request_and_one_failure_is_one_outcome(
    framework: str, age: str, home: Path, provider: Provider
) -> None:
    with ratchet.Ratchet(home, withheld_share=0.0) as r:
        r.lessons.add(when=ERROR, do=ADVICE, state="active", scope="global")
        assert "done" in run(framework, age, provider, home)
        first, second, *_ = provider.texts()
        assert ADVICE not in first
        assert ADVICE in second
        assert "slow down" in second
        kept = [(each.agent, each.ok) for each in r.outcomes() if each.step is not None]
        assert sorted(kept) == [("shop", False), ("shop", True)]
        assert all(each.session for each in r.outcomes())


@pytest.mark.parametrize(("framework", "age"), RUNS)
def test_the_withheld_arm_is_silent(framework: str, age: str, home: Path, provider: Provider) -> None:
    with ratchet.Ratchet(home, withheld_share=0.9) as r:
        r.lessons.add(when=ERROR, do=ADVICE, state="active", scope="global")
        for _ in range(FAILED_RUNS):
            provider.requests.clear()
            run(framework, age, provider, home)
            assert "slow down" in provider.texts()[1]
            if ADVICE not in "".join(provider.texts()):
                return
    pytest.fail("no run withheld the lesson")
