"""The documented task in a browser, as the page has it: seen to fail in the sandbox, mended, seen to pass."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from ratchet.healing.book import HealMeans, HealRequest
from ratchet.healing.episode import Budget
from ratchet.healing.planning.plan import plan_of
from ratchet.testing.healing import ScriptedSolver
from support.healing import Bench, needs_sandbox

DOC = Path(__file__).parents[2] / "docs" / "how-to" / "do-a-task-in-words.md"
BROWSERS = ("/usr/lib/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser", "/opt/google/chrome/chrome")
_BLOCK = re.compile(r"^```(html|py|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_a_page_is_mended_until_a_browser_shows_the_right_total(tmp_path: Path) -> None:
    browser = next((each for each in BROWSERS if Path(each).exists()), None)
    if browser is None or find_spec("playwright") is None:
        pytest.skip("needs playwright and a browser of the system")
    needs_sandbox(tmp_path)
    section = DOC.read_text().partition("## A task in a browser\n")[2].partition("\n## ")[0]
    page, check, plan = (text for _, text in _BLOCK.findall(section))
    bench = Bench(tmp_path)
    (bench.project / "calc.py").unlink()
    (bench.project / "index.html").write_text(page)
    (bench.project / "check_page.py").write_text(check.replace(BROWSERS[0], browser))
    wrong = page.replace('number("discount") / 100', 'number("discount") / 10')
    right = page.replace('* number("discount") / 100', '* (100 - number("discount")) / 100')
    solver = ScriptedSolver([{"index.html": wrong}, {"index.html": right}])
    asked = HealRequest(
        check=(),
        folder=bench.project,
        instruction="The total on the page is wrong",
        budget=Budget(attempts=3),
        protected=("check_page.py",),
    )
    healed = bench.book.run(asked, HealMeans(solver=solver, plan=plan_of(plan)))
    bench.runtime.close()
    assert healed.first is not None
    assert "a price of 200 with 10 % off is 20" in healed.first.output
    assert [each.status for each in healed.attempts] == ["failed", "passed"]
    assert "is 200" in healed.attempts[0].reason or "is 200" in solver.jobs[1].failure.output
    assert healed.status == "passed"
