"""How soon a page begins, on a large home: every page, a search, and a session of 50,000 steps.

    python benchmarks/page.py [--home DIR] [--outcomes 1000000] [--looks 40]

The home is made by `large_home.py` unless one is named. Each page is asked for 40 times over one kept connection; one
look in ten comes after something has happened. First byte is the time until the head of the answer is here. The first
look at a page, which nobody had prepared, counts among the 40, and the longest of those is shown. Baselines of the same
run: a bare Starlette page that fills a template with 100 rows, and the bare full-text query of the store's own index
for the same words.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import large_home
from figures import Figure, at_most, publish
from ratchet.failures.searching import mark
from ratchet.runtime import Runtime
from serve import Process, free_port, running

PAGE_MS, SEARCH_MS, SESSION_MS = 200.0, 100.0, 300.0
SETTLED_S = 1.0  # until the process beside the server has stored what happened
ONE_IN = 10  # looks that come after something has happened

PAGES = (
    *("/", "/?range=7d", "/?range=all", "/ui/live"),
    *("/ui/sessions", "/ui/sessions?project=/srv/work/shop", "/ui/sessions?agent=codex"),
    *("/ui/patterns", "/ui/patterns?q=stage", "/ui/patterns?kind=timeout", "/ui/patterns?sort=-cost"),
    *("/ui/fails", "/ui/fails?by=file", "/ui/fails?by=project&range=all", "/ui/fails?by=hour"),
    *("/ui/cost", "/ui/cost?by=session&range=all", "/ui/cost?by=pattern&range=all", "/ui/cost?by=day"),
    *("/ui/lessons", "/ui/lessons?state=candidate", "/ui/skills", "/ui/recall", "/ui/backtest", "/ui/report"),
    *("/ui/proposals", "/ui/trials", "/ui/settings", "/ui/episodes", "/ui/evolve", "/ui/bench"),
)
RARE, COMMON = large_home.word(1_234), "pytest"
SEARCHES = (
    f"q={RARE}",
    f"q={COMMON}",
    f"q={COMMON}+{RARE}",
    f"q={COMMON}&kind=timeout",
    f"q={COMMON}&project=/srv/work/shop&failed=on",
    "q=stage+could+not+be+read",
    "q=&tool=Bash&failed=on",
    "q=&kind=timeout",
    "q=&command=pytest",
)

BARE = """
import sys
import uvicorn
from jinja2 import Environment
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

page = Environment(autoescape=True).from_string(
    "<!doctype html><title>t</title><table>{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>"
    "{% endfor %}</tr>{% endfor %}</table>"
)
rows = [[f"cell {n} of {row}" for n in range(8)] for row in range(100)]
uvicorn.run(Starlette(routes=[Route("/", lambda request: HTMLResponse(page.render(rows=rows)))]), port=int(sys.argv[1]),
            log_level="error", access_log=False)
"""


FIRST: list[tuple[float, str]] = []
"""Milliseconds of the first look at each page."""


class Client:
    """A kept connection to a server; `happen` says that something has."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._happened = 0

    def first_byte_ms(self, address: str) -> float:
        began = time.perf_counter()
        self._connection.request("GET", address, headers={"Accept": "text/html"})
        answer = self._connection.getresponse()
        took = (time.perf_counter() - began) * 1e3
        told = answer.read()
        assert answer.status == 200, (address, told[:300])
        return took

    def happen(self) -> None:
        self._happened += 1
        body = json.dumps([{"id": f"look-{self._happened}-{time.time()}", "agent": "codex", "ok": True}])
        self._connection.request("POST", "/v1/outcomes", body, {"Content-Type": "application/json"})
        self._connection.getresponse().read()
        time.sleep(SETTLED_S)


def looked_at(client: Client, address: str, looks: int) -> list[float]:
    """Milliseconds of each look at a page; the first one, which nobody prepared, counts, too."""
    found = []
    for n in range(looks):
        if n % ONE_IN == 0:
            client.happen()
        found.append(client.first_byte_ms(address))
    return found


def p95(taken: Sequence[float]) -> float:
    return statistics.quantiles(taken, n=20)[-1] if len(taken) > 1 else taken[0]


def timed_ms(function: Callable[[], object], rounds: int) -> float:
    """The p95 of a call, in milliseconds."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        function()
        taken.append((time.perf_counter() - began) * 1e3)
    return p95(taken)


def bare_query_ms(home: Path, words: str, rounds: int) -> float:
    """The full-text query of the steps' index alone, for 20 rows."""
    connection = sqlite3.connect(f"file:{home / 'ratchet.db'}?mode=ro", uri=True)
    asked = 'SELECT rowid FROM "steps_having" WHERE "steps_having" MATCH ? ORDER BY rowid DESC LIMIT 20'
    found = timed_ms(lambda: connection.execute(asked, (words,)).fetchall(), rounds)
    connection.close()
    return found


def noted(home: Path) -> dict[str, str]:
    """An address for one record of each noun that the home has."""
    with Runtime.open(home=home) as runtime:
        runtime.drain()
        outcome = runtime.sessions.outcomes(ok=False, limit=1).items[0]
        return {
            "pattern": f"/ui/patterns/{runtime.patterns(limit=1)[0].id}",
            "pattern's company": f"/ui/patterns/{runtime.patterns(limit=1)[0].id}/together",
            "lesson": f"/ui/lessons/{runtime.lessons.list()[0].id}",
            "step": f"/ui/outcomes/{outcome.id}",
            "session": f"/ui/sessions/{outcome.session}",
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="a home that `large_home.py` made")
    parser.add_argument("--outcomes", type=int, default=large_home.Size().outcomes)
    parser.add_argument("--looks", type=int, default=40, help="at each page")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = given.home
        if home is None:
            home = Path(folder)
            scale = given.outcomes / large_home.Size().outcomes
            large_home.build(home, large_home.Size(outcomes=given.outcomes, sessions=max(1, int(10_000 * scale))))
        publish("page", measured(home, given.looks))


def measured(home: Path, looks: int) -> list[Figure]:
    details = noted(home)
    port, bare_port = free_port(), free_port()
    command = [sys.executable, "-m", "ratchet", "--home", str(home), "serve", "--port", str(port), "--workers", "0"]
    with running(command, port) as server, running([sys.executable, "-c", BARE, str(bare_port)], bare_port):
        bare = Client(bare_port)
        template_ms = p95([bare.first_byte_ms("/") for _ in range(looks)])
        client = Client(port)
        client.first_byte_ms("/ui/live")  # the server has begun
        pages = [_figure(client, each, looks, PAGE_MS, f"bare template {template_ms:.1f} ms") for each in PAGES]
        pages += [
            _figure(client, address, looks, PAGE_MS, f"bare template {template_ms:.1f} ms", name=f"a {noun}")
            for noun, address in details.items()
        ]
        searches = [_search(client, home, each, looks) for each in SEARCHES]
        long = f"/ui/sessions/{large_home.LONG}"
        middle = f"{long}?at={large_home.LONG}-{_steps(home) // 2}"
        sessions = [
            _figure(client, each, looks, SESSION_MS, f"bare template {template_ms:.1f} ms", name=name)
            for name, each in (("session of 50,000 steps", long), ("the same from its middle on", middle))
        ]
        slowest_ms, slowest = max(FIRST)
        first = Figure(name="  the longest first look", measured=f"{slowest_ms:,.0f} ms", baseline=slowest)
        return [*pages, *searches, *sessions, first, _memory(server)]


def _steps(home: Path) -> int:
    with Runtime.open(home=home) as runtime:
        return runtime.sessions.show(large_home.LONG, limit=1).summary.calls


def _figure(client: Client, address: str, looks: int, most_ms: float, baseline: str, name: str = "") -> Figure:
    taken = looked_at(client, address, looks)
    FIRST.append((taken[0], name or address))
    said = f"{name or address}, p95"
    return at_most(said, p95(taken), most_ms, unit="ms", baseline=f"{baseline}; median {statistics.median(taken):.0f}")


def _search(client: Client, home: Path, query: str, looks: int) -> Figure:
    words = query.partition("&")[0].removeprefix("q=").replace("+", " ") or mark("ok", "no")
    bare = bare_query_ms(home, words, looks)
    return _figure(client, f"/ui/search?{query}", looks, SEARCH_MS, f"bare FTS query {bare:.1f} ms", f"search {query}")


def _memory(server: Process) -> Figure:
    return Figure(name="memory of the server afterwards", measured=f"{server.rss_mb()[0]:.0f} MB")


if __name__ == "__main__":
    main()
