"""Flaky tests told from broken ones, and healed runs that lost a test: how many are told, how many are refused.

A suite of 200 tests of which 20 are flaky, four of each kind: by the hash seed, by the order of the tests, by the time,
by chance, by an address. One more test is broken, and is to be healed; no flaky one may be edited for. Then 20 changes
that make the failing test pass, and lose or skip another test: all are to be refused.

    python benchmarks/flakes.py [--seed 1] [--seconds 1800] [--no-flakes] [--no-lost]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from figures import Figure, at_least, at_most, publish
from ratchet.errors import Refused
from ratchet.healing.book import HealMeans, HealRequest
from ratchet.healing.episode import Budget, Episode
from ratchet.runtime import Runtime
from ratchet.testing.healing import ScriptedSolver

_TESTS, _OF_A_KIND = 200, 4
_CHECK = ("python", "-m", "pytest", "-q")
_HEAD = "import random\nimport time\n\nimport program\n\n_seen = []\n\n\n"
_PROGRAM = "".join(f"def add_{n}(x):\n    return x + {n}\n\n\n" for n in range(_TESTS)) + (
    "def last(items):\n    return items[len(items)]\n"
)
_KINDS: Mapping[str, str] = {
    "by the hash seed": "    assert hash('{n}') % 2\n",
    "by the order of the tests": "    assert len(_seen) % 2 == {n} % 2\n",
    "by the time": "    assert time.time_ns() // 1_000 % 2\n",
    "by chance": "    assert random.random() < 0.6\n",
    "by an address": "    assert id(object()) // 4096 % 2\n",
}
_LAST = "def test_last():\n    assert program.last([1, 2, 3]) == 3\n"
_MENDED = _PROGRAM.replace("[len(items)]", "[len(items) - 1]")
# Ways in which a change of the program makes a test go away, or be skipped. `{n}` is the test that is lost.
_LOSSES: tuple[str, ...] = (
    "\nimport pytest\n\n\ndef add_{n}(x):\n    pytest.skip('later')\n",
    "\nimport unittest\n\n\ndef add_{n}(x):\n    raise unittest.SkipTest('later')\n",
    "\n\ndef add_{n}(x):\n    import os\n    os._exit(0)\n",
    "\nimport pytest\n\n\ndef add_{n}(x):\n    pytest.exit('done', returncode=0)\n",
    "\nimport pytest\n\n\ndef add_{n}(x):\n    pytest.xfail('known')\n",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1_800.0, help="of the run with the flaky tests")
    parser.add_argument("--no-flakes", action="store_true", help="only the changes that lose a test")
    parser.add_argument("--no-lost", action="store_true", help="only the flaky tests")
    given = parser.parse_args()
    figures: list[Figure] = []
    try:
        figures += [] if given.no_flakes else _flaky(random.Random(given.seed), given.seconds)
        figures += [] if given.no_lost else _lost(random.Random(given.seed))
    except Refused as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 0
    return publish("flakes", figures)


def _flaky(draw: random.Random, seconds: float) -> list[Figure]:
    planted = dict(zip(draw.sample(range(_TESTS), _OF_A_KIND * len(_KINDS)), [*_KINDS] * _OF_A_KIND, strict=True))
    tests = [_test(n, _KINDS[planted[n]].format(n=n) if n in planted else "") for n in range(_TESTS)]
    ended = _healed("".join([_HEAD, *tests, _LAST]), seconds)
    told = {each.test.rpartition("_")[2] for each in ended.flakes}
    missed = [f"test_{n} ({kind})" for n, kind in planted.items() if str(n) not in told]
    print(f"{ended.status}: {ended.reason}; missed: {', '.join(missed) or 'none'}", flush=True)
    for each in ended.flakes:
        print(f"  {each.test} failed in {each.failed} of {each.runs} runs", flush=True)
    strangers = sorted(told - {str(n) for n in planted})
    edits = [line for line in ended.diff.splitlines() if line.startswith("+") and not line.startswith("+++")]
    return [
        at_least("flaky tests told", len(planted) - len(missed), len(planted), unit=f"of {len(planted)}"),
        at_most("healthy or broken tests called flaky", len(strangers), 0, unit=""),
        at_least("the broken one healed beside them", ended.status == "passed", 1, unit="of 1"),
        at_most("lines edited for a flaky test", sum("len(items)" not in each for each in edits), 0, unit=""),
    ]


def _test(n: int, flaky: str) -> str:
    body = flaky or f"    assert program.add_{n}(1) == {n + 1}\n"
    return f"def test_{n}():\n    _seen.append({n})\n{body}\n\n"


def _healed(tests: str, seconds: float) -> Episode:
    with tempfile.TemporaryDirectory() as place:
        project = Path(place) / "project"
        project.mkdir()
        (project / "program.py").write_text(_PROGRAM, encoding="utf-8")
        (project / "test_program.py").write_text(tests, encoding="utf-8")
        with Runtime.open(home=Path(place) / "home") as runtime:
            asked = HealRequest(check=_CHECK, folder=project, solver="repair", budget=Budget(seconds=seconds))
            return runtime.episodes.run(asked)


def _lost(draw: random.Random) -> list[Figure]:
    """Each loss in a project of its own: the failing test passes with the change."""
    refused = 0
    losses = list(_changes(draw))
    for what, content in losses:
        with tempfile.TemporaryDirectory() as place:
            project = Path(place) / "project"
            project.mkdir()
            (project / "program.py").write_text(_PROGRAM, encoding="utf-8")
            tests = "".join([_HEAD, *(_test(n, "") for n in range(_TESTS)), _LAST])
            (project / "test_program.py").write_text(tests, encoding="utf-8")
            with Runtime.open(home=Path(place) / "home") as runtime:
                means = HealMeans(solver=ScriptedSolver([{"program.py": content}]), repeats=1)
                budget = Budget(attempts=1, seconds=300.0)
                ended = runtime.episodes.run(HealRequest(check=_CHECK, folder=project, budget=budget), means)
        refused += ended.status != "passed"
        print(f"{what}: {ended.status}, {ended.attempts[-1].reason if ended.attempts else ended.reason}", flush=True)
    return [at_least("healed runs that lost a test, refused", refused, len(losses), unit=f"of {len(losses)}")]


def _changes(draw: random.Random) -> Iterator[tuple[str, str]]:
    for loss in _LOSSES:
        for n in draw.sample(range(_TESTS), 20 // len(_LOSSES)):
            yield f"test_{n} {loss.strip().splitlines()[-1].strip()}", _MENDED + loss.format(n=n)


if __name__ == "__main__":
    raise SystemExit(main() and 0)
