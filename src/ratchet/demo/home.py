"""Fills a home with something on every page: `ratchet demo --serve`, pictures and tests look at it.

The sessions, the support agent and its provider are made up; reading, mining, grouping, trials, healing and measuring
are the product's own.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ratchet import Ratchet, tasks
from ratchet.demo.laying import lay_out
from ratchet.evolving.bench.agents import agent_of
from ratchet.evolving.bench.book import BenchAsked
from ratchet.evolving.bench.shipped import shipped
from ratchet.evolving.request import EvolveAsked
from ratchet.healing.book import HealRequest
from ratchet.healing.episode import Budget
from ratchet.improving.settings.knob import Choice, Range
from ratchet.recording.sources.calls import step_of
from ratchet.runtime import Runtime
from ratchet.team import Handed, Orchestrator, TeamBudget, TeamTask, Worker

HISTORY = Path(__file__).parent / "history"
AGENT = "support"
_DAYS = 21
_SUBJECTS = (
    *("coupon", "gift", "basket", "price", "refund", "parcel", "stock", "login", "order", "tax", "mail", "review"),
    *("search", "filter", "export", "import", "wishlist", "payment", "address", "banner"),
)
_FINDS_OUT = 0.3  # of the sessions that are told nothing, how many find out by themselves
_DAY_S = 86_400.0
_SEED = 7
_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_MADE = re.compile(r"toolu_\w{20,}|msg_\w{20,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Copy:
    """A shipped session told again: so many days ago, in another project, about something else."""

    file: str
    days_ago: float
    project: str
    subject: str


COPIES = (
    Copy("a-monday.jsonl", 19.2, "shop", "cart"),
    Copy("b-tuesday.jsonl", 17.9, "shop", "checkout"),
    Copy("c-thursday.jsonl", 15.1, "shop", "invoice"),
    Copy("a-monday.jsonl", 12.4, "billing", "dunning"),
    Copy("b-tuesday.jsonl", 9.3, "shop", "stock"),
    Copy("c-thursday.jsonl", 8.8, "billing", "ledger"),
    Copy("a-monday.jsonl", 6.2, "shop", "voucher"),
    Copy("b-tuesday.jsonl", 4.1, "billing", "payout"),
    Copy("c-thursday.jsonl", 2.3, "shop", "returns"),
    Copy("a-monday.jsonl", 0.4, "shop", "wishlist"),
)
_FAULTS = (  # what the provider of the support agent says, and how often in a thousand runs
    ("429 Too Many Requests: rate limit reached, try again in 2s", 90),
    ("ReadTimeout: no answer from api.example.test within 30 s", 30),
    ("json.JSONDecodeError: Expecting ',' delimiter: line 4 column 7 (char 88)", 22),
    ("400 context_length_exceeded: this model's maximum context length is 128000 tokens", 12),
    ("401 Unauthorized: the API key has expired", 4),
)


def furnish(runtime: Runtime, scratch: Path, told: Callable[[str], None] = lambda _: None) -> None:
    """Fill an empty home with what takes seconds. `told` hears what is done next."""
    told("sessions of coding agents")
    runtime.learn([written(scratch / "histories", time.time())])
    runtime.lessons.backtest()
    told("three weeks of a support agent")
    _support(runtime)
    told("agents that are told what was learnt, and some that are not")
    _tell(runtime)
    told("decisions of a person, a trial, a team")
    _decide(runtime)
    _skills(runtime)
    _team(runtime)
    with Ratchet(home=runtime.home) as ratchet:
        _on_trial(runtime, ratchet)
    runtime.lessons.backtest()  # again: what was recorded since then counts, too


def run(runtime: Runtime, scratch: Path) -> None:
    """Add what runs in a sandbox, and takes minutes: healed tasks, a measured and an evolved agent. Raises Refused
    where no sandbox holds."""
    for name in ("towers", "table_text"):
        folder = tasks.task(name).lay_out(scratch / name)
        budget = Budget(attempts=1, seconds=300.0, candidates=60)
        runtime.episodes.run(HealRequest(check=tasks.CHECK, folder=folder, solver="repair", budget=budget))
    agent = lay_out(scratch / "agent", shipped("quick"))
    for seed in (0, 1):
        runtime.benchmarks.run(BenchAsked(agent=str(agent), bench="quick", split="gate", parallel=2, seed=seed))
    runtime.evolutions.run(
        EvolveAsked(
            agent=agent_of(str(agent), cwd=scratch),
            benchmark=runtime.benchmarks.benchmark("quick"),
            proposals=2,
            parallel=2,
            repeats=1,
        )
    )


def written(folder: Path, now: float) -> Path:
    """Write all sessions into a folder, dated back from `now`; return it."""
    folder.mkdir(parents=True)
    for number, each in enumerate(COPIES):
        (folder / f"{number:02d}-{each.subject}.jsonl").write_text(_copied(each, now), encoding="utf-8")
    return folder


def _copied(copy: Copy, now: float) -> str:
    text = (HISTORY / copy.file).read_text(encoding="utf-8")
    moved_s = now - copy.days_ago * _DAY_S - _seconds(_TIME.findall(text)[0])
    made = random.Random(copy.subject)  # noqa: S311  (made-up runs)
    ids: dict[str, str] = {}

    def other(found: re.Match[str]) -> str:
        old = found[0]
        letters = "0123456789abcdef" if "-" in old else "0123456789abcdefghijklmnopqrstuvwxyz"
        start = len(old) if "_" not in old else len(old) - old.index("_") - 1
        return ids.setdefault(
            old, old[: len(old) - start] + "".join(c if c == "-" else made.choice(letters) for c in old[-start:])
        )

    text = _TIME.sub(lambda found: _written(_seconds(found[0]) + moved_s), text)
    text = _MADE.sub(other, text).replace("/home/dev/shop", f"/home/dev/{copy.project}")
    return text if copy.subject == "cart" else re.sub(r"\bcart\b", copy.subject, text)


def _seconds(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()


def _written(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _support(runtime: Runtime) -> None:
    """Runs of an agent that answers tickets, more by day than by night; its provider limits it more and more."""
    chance, now = random.Random(_SEED), time.time()  # noqa: S311  (made-up runs)
    for hour in range(_DAYS * 24):
        at = now - (_DAYS * 24 - hour) * 3_600
        busy = 4 if 7 <= time.gmtime(at).tm_hour <= 18 else 1
        for _ in range(chance.randint(0, busy)):
            error = next(_fault(chance, grown=hour / (_DAYS * 24)), "")
            runtime.record(
                AGENT,
                task=chance.choice(("answer ticket", "summarise thread", "draft reply")),
                session=f"ticket-{hour // 4 * 2 + chance.randint(1, 400) % 2}",
                started_at=at + chance.random() * 3_000,
                duration_s=round(chance.gammavariate(3, 1.2) + (25 if "Timeout" in error else 0), 2),
                tokens=chance.randint(600, 4_000),
                cost_usd=round(chance.uniform(0.002, 0.03), 4),
                model="gpt-4o-mini",
                **({"error": error} if error else {"ok": True}),
            )
    runtime.drain()


def _fault(chance: random.Random, *, grown: float) -> Iterator[str]:
    for error, per_thousand in _FAULTS:
        if chance.random() * 1_000 < per_thousand * (0.4 + 1.2 * grown if "429" in error else 1):
            yield error


def _tell(runtime: Runtime) -> None:
    """Sessions of a coding agent that test a new module: those that are told a lesson follow it, the others try what
    they usually try."""
    chance = random.Random(_SEED)  # noqa: S311  (made-up runs)
    error = (
        "ImportError while loading conftest '/home/dev/shop/tests/conftest.py'.\n"
        "tests/conftest.py:3: in <module>\n    from shop.app import create_app\n"
        "E   ModuleNotFoundError: No module named 'flask'\n"
    )
    file = next((each.target for each in runtime.lessons.list() if each.head == "pytest"), "tests")
    for subject in _SUBJECTS:
        session = f"Work on the {subject} page, and test it"

        def ran(command: str, *, ok: bool, session: str = session) -> None:
            runtime.record(
                "claude-code",
                task="Bash",
                session=session,
                project="/home/dev/shop",
                step=step_of("Bash", {"command": command}),
                **({"ok": True} if ok else {"error": error}),
            )

        ran(f"pytest {file} -q", ok=False)
        lessons = runtime.recall(error, session=session, project="/home/dev/shop").lessons
        if lessons or chance.random() < _FINDS_OUT:
            ran(f"uv run pytest {file} -q", ok=True)
        else:
            ran(f"python -m pytest {file} -q", ok=False)
        runtime.settle(session, ())


def _team(runtime: Runtime) -> None:
    """A run of a team: two readers, one of which is down, and a writer who needs both."""

    def read(topic: str) -> str:
        return f"three complaints about {topic}"

    def down(topic: str) -> str:
        raise ConnectionRefusedError(f"the archive is down: nothing about {topic}")

    def write(title: str, context: Handed) -> str:
        return f"{title}: {'; '.join(map(str, context.results.values()))}"

    team = Orchestrator(
        "weekly report",
        [Worker("archive", down, skills=["read"]), Worker("reader", read, skills=["read"]), Worker("writer", write)],
        ratchet=Ratchet(home=runtime.home),
        budget=TeamBudget(seconds=30.0),
    )
    topics = [TeamTask(id=topic, work=topic, skill="read") for topic in ("delivery", "refunds")]
    asyncio.run(team.run([*topics, TeamTask(id="report", work="This week", needs=("delivery", "refunds"))]))


def _decide(runtime: Runtime) -> None:
    patterns = {each.kind: each.id for each in reversed(runtime.patterns())}
    decisions = (
        ("auth", {"state": "resolved", "note": "A new key is in the vault; it expires in March."}),
        ("context_overflow", {"state": "muted", "until": time.time() + 7 * _DAY_S, "note": "Next sprint."}),
        ("timeout", {"assigned": "Kim", "note": "Ask the provider for the timings."}),
    )
    for kind, decision in decisions:
        if kind in patterns:
            runtime.failing.triage(patterns[kind], **decision)
    runtime.lessons.add(
        when="429 Too Many Requests: rate limit reached, try again in 2s",
        do="Wait as long as the answer says, then send the same request once more.",
        scope="global",
        state="active",
    )
    runtime.lessons.add(
        when="json.JSONDecodeError: Expecting ',' delimiter: line 4 column 7 (char 88)",
        do="Ask the model for the `json` response format instead of mending its text.",
        scope="global",
    )


def _skills(runtime: Runtime) -> None:
    """A skill of a lesson that was seen to work."""
    for lesson in runtime.lessons.list():
        if lesson.state == "active" and lesson.worked:
            runtime.cures.make_skill(lesson.id)
            return


def _on_trial(runtime: Runtime, ratchet: Ratchet) -> None:
    """An agent whose settings are live: one change was kept, another is on trial, one is proposed."""
    settings = ratchet.settings(
        AGENT,
        max_retries=Range(0, 5, default=0),
        timeout_s=Range(5.0, 120.0, default=30.0),
        tone=Choice("plain", "warm"),
    )
    settings.set(timeout_s=45.0, why="the night batch is slow")
    settings.set(timeout_s=30.0, why="it made tickets wait; back to what it was")
    runtime.tick()
    runtime.trials.open(
        f"settings:{AGENT}", {"max_retries": 2}, reason="most rate limits pass by themselves", deadline_s=0.05
    )
    chance = random.Random(_SEED)  # noqa: S311  (made-up runs)

    @ratchet.watch(AGENT, task="answer ticket")
    def answer() -> None:
        tries = 1 + settings.current().max_retries
        if all(chance.random() < 0.35 for _ in range(tries)):
            raise ConnectionError(_FAULTS[0][0])

    for _ in range(60):
        try:
            answer()
        except ConnectionError:
            continue
    runtime.drain()
