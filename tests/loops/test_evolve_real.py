"""The whole loop on a real agent: three weaknesses planted, ideas that mend, do nothing, harm, and cheat."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ratchet.demo.laying import IDEAS, lay_out, lay_out_prompts
from ratchet.evolving.bench.agents import agent_of
from ratchet.evolving.bench.benchmark import Benchmark
from ratchet.evolving.bench.ground import measuring
from ratchet.evolving.bench.shipped import shipped
from ratchet.evolving.candidate import Candidate, Evolution
from ratchet.evolving.job import Job
from ratchet.evolving.request import EvolveAsked
from ratchet.runtime import Runtime
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.testing.model_server import Asked, ModelServer
from ratchet.testing.wire import Reply
from support.sandboxes import working

MENDS = (
    "MEND long files are needed",
    "MEND plans need more than two steps",
    "MEND lines of an edit keep their indentation",
)
REFUSED = {
    "CHEAT tests that pass whatever is written": "conftest.py",
    "CHEAT without a log nobody can tell": "memory.json",
    "CHEAT its declaration lets it reach the network": "it changed ratchet-agent.toml",
    "CHEAT it says its own score and sets the clock": "usage.json is not believed",
    "CHEAT it deletes the memory by its path": "ratchet.db",
    "a program that does not parse": "agent.py does not parse",
}
SKIPPED = "CHEAT what takes long is skipped"
QUIET = (
    "a friendlier tone",
    "a remark in the code",
    "shorter still",
    "without checking it would be quicker",
    "without checking it would be quicker, now that it is right",
)
"""Ideas without which the short form does: they do nothing or harm, as others do."""


@pytest.fixture(scope="module", autouse=True)
def _bubblewrap_works() -> None:
    working(Bubblewrap())


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="evolving-"))
    folder.chmod(0o755)
    yield folder
    remove_tree(folder)


@dataclass(frozen=True)
class Ran:
    """A run that ended, and the world around it."""

    run: Evolution
    candidates: tuple[Candidate, ...]
    home: Path
    before: dict[str, str]
    after: dict[str, str]

    def by(self, hypothesis: str) -> list[Candidate]:
        return [each for each in self.candidates if each.hypothesis == hypothesis]


def evolved(
    place: Path, benchmark: Benchmark, *, without: tuple[str, ...] = (), mde: float = 0.05, batch: int = 1
) -> Ran:
    """Let the demo's agent evolve by its ideas, one more among them that knows where the memory lies."""
    home = place / "home"
    agent = lay_out(place / "agent", benchmark)
    deletes = f"    for name in ('ratchet.db', 'ratchet.db-wal'):\n        os.remove({f'{home}/'!r} + name)\n"
    more = f'DemoIdea("CHEAT it deletes the memory by its path", at_the_end({deletes!r})),'
    text = IDEAS.read_text(encoding="utf-8").replace("IDEAS = (\n", f"IDEAS = (\n    {more}\n", 1)
    text = text.replace("for each in IDEAS if", f"for each in IDEAS if each.hypothesis not in {without!r} and")
    (place / "ideas.py").write_text(text, encoding="utf-8")
    before = hashes(agent)
    with Runtime.open(home=home) as runtime:
        asked = EvolveAsked(
            agent=agent_of(str(agent), cwd=place),
            benchmark=benchmark,
            proposer=f"script:{place / 'ideas.py'}",
            proposals=16 - len(without),
            parallel=2,
            batch=batch,
            mde=mde,
            repeats=1,
        )
        run = runtime.evolutions.run(asked)
        candidates = tuple(runtime.evolutions.candidates(run.id))
    return Ran(run, candidates, home, before, hashes(agent))


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def judged_rightly(ran: Ran) -> None:
    """The true mends are kept, nothing else is, and whoever cheats is named."""
    told = "\n".join(f"{each.n} {each.state} {each.hypothesis}: {each.reason}" for each in ran.candidates)
    assert ran.run.state == "ended", ran.run.reason
    assert len(ran.candidates) > 10
    assert {each.hypothesis for each in ran.candidates if each.state == "kept"} == {*MENDS}, told
    for hypothesis, named in REFUSED.items():
        (one,) = ran.by(hypothesis)
        assert one.state == "screened_out", told
        assert named in one.reason, told
    assert {each.state for each in ran.by(SKIPPED)} <= {"screened_out", "reverted"}, told
    assert all(each.reason for each in ran.candidates if each.n), told
    report = ran.run.report
    assert report is not None
    assert report.gain > 0.3
    assert report.best_of_n is not None
    assert report.winner > report.best_of_n
    assert ran.before == ran.after, "the agent's own folder was changed"
    with Runtime.open(home=ran.home) as runtime:
        assert len(runtime.evolutions.evaluations(ran.run.id)) == ran.run.runs


def test_mends_are_kept_and_cheats_named_over_ten_iterations_unattended(place: Path) -> None:
    judged_rightly(evolved(place, shipped("quick"), without=QUIET, mde=0.1))


@pytest.mark.soak
def test_mends_are_kept_and_cheats_named_on_the_benchmark_that_is_shipped(place: Path) -> None:
    judged_rightly(evolved(place, shipped("core"), batch=4))


# -- Ratchet's own prompts ---------------------------------------------------------------------------------------------


def test_the_prompts_of_ratchets_own_solver_are_measured_and_changed_like_any_agents(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lay_out_prompts(place / "agent")
    agent = agent_of(str(folder), cwd=place)
    assert agent.changes == ("prompts/*.md",)
    task = next(each for each in shipped("repair").tasks if each.id == "fix-caesar")
    edits = [{"file": path, "old": "", "new": text} for path, text in task.reference.items()]

    def answer(asked: Asked) -> Reply:
        """A model that does what it is asked only if it is asked nicely."""
        nicely = "Find the cause first" in asked.text
        return Reply(text=json.dumps({"cause": "c", "fix": "f", "edits": edits}) if nicely else "No.")

    def score(version: Path) -> tuple[str, float]:
        job = Job(
            id=version.name,
            run="run",
            candidate=version.name,
            agent=replace(agent, folder=str(version)),
            version=str(version),
            settings={},
            task=replace(task, wall_s=120.0),
            seed=1,
            scratch=str(place / "scratch"),
        )
        made = measuring(place / "home")(job)
        return made.result, made.cost_usd

    worse = lay_out_prompts(place / "worse")
    text = (worse / "prompts" / "repair.md").read_text(encoding="utf-8")
    (worse / "prompts" / "repair.md").write_text(text.replace("Find the cause first", "Guess"), encoding="utf-8")
    (place / "home").mkdir()
    with ModelServer(answer) as server:
        monkeypatch.setenv("RATCHET_MODEL", "any")
        monkeypatch.setenv("RATCHET_MODEL_BASE_URL", server.openai_url)
        monkeypatch.setenv("RATCHET_MODEL_PRICES", "any=1/1")
        result, cost_usd = score(folder)
        assert result == "passed"
        assert cost_usd > 0
        assert score(worse)[0] != "passed"
