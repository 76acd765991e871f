"""A task in words: understand, plan, carry out in the sandbox, say what is left; and go on with what a person says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.errors import Refused, UsageError
from ratchet.healing.book import HealMeans, HealRequest
from ratchet.healing.episode import Budget, Episode, PlanStep
from ratchet.healing.landing.destination import Landing
from ratchet.healing.planning.plan import TaskPlan, check_text, plan_of, plan_text
from ratchet.sandbox.beneath import remove_tree
from ratchet.testing.healing import ScriptedSolver
from ratchet.testing.model_server import ModelServer
from ratchet.testing.wire import Reply
from support.healing import Bench, needs_sandbox

SHOP = '''"""A till."""


def subtotal(prices):
    return sum(prices)


def total(prices, discount=0):
    return subtotal(prices) * discount / 100
'''
TEST = "from shop import subtotal\n\n\ndef test_subtotal():\n    assert subtotal([1, 2]) == 3\n"
DISCOUNT = "from shop import total; assert total([200], 10) == 180, total([200], 10)"
RECEIPT = "from shop import receipt; assert receipt([200], 10) == 'total 180.00', receipt([200], 10)"
REFUSED = "import shop\ntry:\n    shop.total([1], 101)\nexcept ValueError:\n    pass\nelse:\n    assert False"
HALF = ("subtotal(prices) * discount / 100", "subtotal(prices) * (100 - discount) / 100")
NEW = '\n\ndef receipt(prices, discount=0):\n    return f"total {total(prices, discount)}"\n'
RIGHT = SHOP.replace(*HALF) + NEW.replace("discount)}", "discount):.2f}")


def program(text: str) -> str:
    return shlex.join(("python", "-c", text))


def reply(**said: object) -> Reply:
    return Reply(text=json.dumps(said))


def steps(*held: tuple[str, str], beyond: str = "") -> Reply:
    return reply(steps=[{"do": do, "check": check} for do, check in held], beyond=beyond)


def edit(old: str, new: str) -> Reply:
    return reply(cause="wrong", fix="right", edits=[{"file": "shop.py", "old": old, "new": new}])


@pytest.fixture
def shop() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="words-"))
    folder.chmod(0o755)
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_shop.py").write_text(TEST)
    yield folder
    remove_tree(folder)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    needs_sandbox(tmp_path)
    made = Bench(tmp_path)
    (made.project / "calc.py").unlink()
    (made.project / "shop.py").write_text(SHOP)
    (made.project / "test_shop.py").write_text(TEST)
    yield made
    made.runtime.close()


def ratchet(home: Path, *words: str, server: ModelServer | None = None) -> subprocess.CompletedProcess[str]:
    named = {"RATCHET_MODEL": "any", "RATCHET_MODEL_BASE_URL": server.openai_url} if server else {}
    return subprocess.run(
        [sys.executable, "-m", "ratchet", *words],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home.parent),
            "RATCHET_HOME": str(home),
            "COLUMNS": "200",
            **named,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_words_become_steps_that_are_done_corrected_and_gone_on_with(home: Path, shop: Path) -> None:
    """The whole way: a plan with a check that fails for its own text (told back), two steps and one for a person, a
    first edit that does not do, a follow-up in words, and the project changed only when that is asked for."""
    bad = steps(("Discount", 'python -c "assert totl([200], 10) == 180"'))
    plan = steps(
        ("Take the discount off.", program(DISCOUNT)),
        ("Add a receipt.", program(RECEIPT)),
        ("Deploy it.", ""),
        beyond="How it looks.",
    )
    wrong = edit("", SHOP.replace(*HALF) + NEW)
    more = steps(("Refuse a discount above 100.", program(REFUSED)))
    guard = "0):\n    if discount > 100:\n        raise ValueError(discount)\n    return sub"
    guarded = RIGHT.replace("0):\n    return sub", guard)
    words, wish = "Fix and deploy it: discount off, print a receipt", "a discount above 100 must be refused"
    with ModelServer(bad, plan, edit(*HALF), wrong, edit("", RIGHT), more, edit("", guarded)) as server:
        ran = ratchet(home, "run", words, "--in", str(shop), "--solver", "model", server=server)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "is itself wrong" in server.asked[1].text
        for line in (
            "plan     4 steps",
            "for you: nothing",
            "AssertionError: 20.0",
            "How it looks.",
            "for you  4 Deploy",
        ):
            assert line in ran.stdout, ran.stdout
        assert "step 2 of 4" in ran.stdout  # the second try was judged, and corrected
        episode = ran.stdout.split("--resume ")[1].split()[0]
        assert (shop / "shop.py").read_text() == SHOP
        again = ratchet(home, "run", "--resume", episode, wish, "--apply", "--doubtful", server=server)
        assert again.returncode == 0, again.stdout + again.stderr
        asked = server.asked[5].text
        assert "Take the discount off." in asked
        assert wish in asked
    assert (shop / "shop.py").read_text() == guarded


def test_a_model_that_writes_no_plan_is_asked_for_one_test(home: Path, shop: Path) -> None:
    code = "import shop\n\n\ndef test_total():\n    assert shop.total([200], 10) == 180\n"
    idle, plainly = steps(("Look at it.", "true")), Reply(text=f"```python\n{code}```")
    with ModelServer(idle, idle, plainly, edit(*HALF)) as server:
        words = ("run", "10 percent off 200 is 180", "--in", str(shop), "--solver", "model", "--json")
        ran = ratchet(home, *words, server=server)
        found = json.loads(ran.stdout)
        assert (found["status"], ran.returncode) == ("passed", 0), ran.stdout + ran.stderr
        assert "test_shop.py" not in server.asked[2].text  # it would write that down again
    assert found["steps"][0]["now"] == "fails"  # what it wrote as a function is called


def test_without_a_model_it_says_so_and_repairs_what_the_own_check_shows(bench: Bench) -> None:
    asked = HealRequest(check=(), folder=bench.project, instruction="ship it", solver="repair")
    with pytest.raises(Refused, match=r"only a model understands words .* own check .* passes.*--check"):
        bench.book.run(asked, HealMeans())
    assert bench.book.list()[0].status == "refused"
    (bench.project / "test_shop.py").write_text(TEST + "\n\ndef test_none():\n    assert subtotal([]) == 0\n")
    (bench.project / "shop.py").write_text(SHOP.replace("sum(prices)", "sum(prices[1:])"))
    seen: list[TaskPlan] = []

    def shown(plan: TaskPlan) -> TaskPlan:
        seen.append(plan)
        return plan

    ended = bench.book.run(asked, HealMeans(shown=shown))
    assert ended.status == "passed"
    assert "only a model understands words" in ended.task.beyond
    assert [each.now for each in seen[0].steps] == ["fails"]


def test_an_example_in_the_words_is_a_check_where_no_model_is_and_where_one_writes_it_as_a_check(
    bench: Bench, home: Path, shop: Path
) -> None:
    """The wanted value is the one that does not hold now."""
    words = "total([200], 10) gives 20.0 instead of 180.0"
    asked = HealRequest(check=(), folder=bench.project, instruction=words, solver="repair")
    ended = bench.book.run(asked, HealMeans(solver=ScriptedSolver([{"shop.py": SHOP.replace(*HALF)}])))
    assert ended.status == "passed"
    assert [each.do for each in ended.task.steps] == [words, "What passed before still passes."]
    assert "== 180.0" in ended.task.steps[0].check[2]
    assert "only the examples were looked at: only a model understands words" in ended.task.beyond
    with ModelServer(steps(("Take the discount off.", "total([200], 10) should be 180"))) as server:
        only = ("run", "take it off", "--in", str(shop), "--solver", "model", "--plan-only")
        first, _own = plan_of(ratchet(home, *only, server=server).stdout).steps
    assert first.do == "Take the discount off."
    assert "assert total([200], 10) == 180, total([200], 10)" in first.check[2]


def test_an_example_in_a_follow_up_is_the_check_and_no_model_is_asked_for_a_plan(home: Path, shop: Path) -> None:
    """Its value takes the place of another one that was wanted of the same call."""
    plan = steps(("Take the discount off.", program(DISCOUNT)))
    half = SHOP.replace("* discount / 100", "- discount / 2")
    with ModelServer(plan, edit(*HALF), edit("", half)) as server:
        asked = ("run", "discount off", "--in", str(shop), "--solver", "model")
        episode = ratchet(home, *asked, server=server).stdout.split("--resume ")[1].split()[0]
        wish = "It is half of it: total([200], 10) should be 195"
        again = ratchet(home, "run", "--resume", episode, wish, "--apply", "--doubtful", server=server)
        assert len(server.asked) == 3, "a plan and two edits"
    assert again.returncode == 0, again.stdout + again.stderr
    assert "dropped  Take the discount off." in again.stdout
    assert "only the examples were looked at: they fail now" in again.stdout
    assert "discount off. Then the person said: It is half of it" in again.stdout, "a sentence ends before the next"
    assert re.search(r"at most \d+ attempts?, [\d.]+ USD, \d+ (s|min)\n", again.stdout), again.stdout
    assert (shop / "shop.py").read_text() == half


def test_an_example_that_holds_already_is_kept_and_alone_is_named(bench: Bench) -> None:
    def run(words: str) -> Episode:
        asked = HealRequest(check=(), folder=bench.project, instruction=words, solver="repair")
        return bench.book.run(asked, HealMeans(solver=ScriptedSolver([{"shop.py": SHOP.replace(*HALF)}])))

    ended = run("subtotal([1, 2]) must be 3, and total([200], 10) should be 180.")
    held = [(each.do, each.now) for each in ended.task.steps[:2]]
    assert held == [("total([200], 10) should be 180.", "fails"), ("subtotal([1, 2]) must be 3", "passes")]
    with pytest.raises(Refused, match=r"It holds already: `subtotal\(\[1, 2\]\) must be 3`\."):
        run("subtotal([1, 2]) must be 3")
    with pytest.raises(Refused, match=r"There is no `subtotl` in the project\."):
        run("subtotl([1, 2]) must be 3")


def test_a_line_that_the_planner_was_shown_is_nothing_that_nobody_looks_at(home: Path, shop: Path) -> None:
    only = ("run", "take the discount off, and deploy it", "--in", str(shop), "--solver", "model", "--plan-only")
    for said, kept in (
        ("The project's own check: `python -m pytest -q` passes now.", ""),
        ("Deploy it.", "Deploy it."),
    ):
        with ModelServer(steps(("Take the discount off.", program(DISCOUNT)), beyond=said)) as server:
            assert plan_of(ratchet(home, *only, server=server).stdout).beyond == kept


def test_words_that_leave_open_what_is_wanted_make_no_check_and_the_run_says_how_to_say_it(bench: Bench) -> None:
    for words in ("total([200], 10) is off by 40; it should be 180", "total([200], 10) should not raise ValueError"):
        asked = HealRequest(check=(), folder=bench.project, instruction=words, solver="repair")
        with pytest.raises(Refused, match=r"say it as `total\(\[200\], 10\) == VALUE`"):
            bench.book.run(asked, HealMeans(solver=ScriptedSolver([{}])))


def test_a_plan_is_written_edited_and_carried_out_later(bench: Bench) -> None:
    plan = TaskPlan(steps=(PlanStep(do="discount", check=("python", "-c", DISCOUNT)),), beyond='a "quoted" word')
    assert plan_text(plan_of(plan_text(plan))) == plan_text(plan)
    asked = HealRequest(check=(), folder=bench.project, instruction="words", budget=Budget(attempts=2))
    left = bench.book.run(asked, HealMeans(solver=ScriptedSolver([{}]), plan=plan, shown=lambda _plan: None))
    assert left.status == "planned"
    assert left.reason == "nothing was done yet"
    solver = ScriptedSolver([{"shop.py": SHOP.replace(*HALF)}])
    ended = bench.book.resume(left.id, HealMeans(solver=solver))
    assert (ended.status, len(ended.task.steps)) == ("passed", 2)  # and what passed before still passes
    job = solver.jobs[0]
    assert job.task.check == ("python", "-c", DISCOUNT)
    assert job.task.instruction == "words\n\nNow: discount"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("step = 1", "holds no"),
        ("[[step]]\ncheck = 'x'", "step 1 does not say what to do"),
        ("[[step]]\ndo = 'x'\nwhen = 'y'", "'when' is no part of a step"),
        ("[[step", "is no TOML"),
        ("a = " + "[" * 5_000, "too deeply"),
        ('[[step]]\ndo = "x"\ncheck = "a\\u0000b"', "no command can have"),
    ],
)
def test_a_plan_that_cannot_be_read_says_where(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan_of(text)


def passed(bench: Bench, landing: Landing | None = None) -> Episode:
    plan = TaskPlan(steps=(PlanStep(do="discount", check=("python", "-c", DISCOUNT)),))
    asked = HealRequest(check=(), folder=bench.project, instruction="words")
    solver = ScriptedSolver([{"shop.py": SHOP.replace(*HALF)}])
    return bench.book.run(asked, HealMeans(solver=solver, plan=plan), landing=landing)


@pytest.mark.parametrize("check", [("python", "done.py"), ("sh", "done.sh"), ("python", "-c", "import done")])
def test_a_check_that_an_empty_file_would_pass_shows_nothing(bench: Bench, check: tuple[str, ...]) -> None:
    plan = TaskPlan(steps=(PlanStep(do="discount", check=check),))
    asked = HealRequest(check=(), folder=bench.project, instruction="take the discount off")
    with pytest.raises(Refused, match=r"passes with an empty done\.(?:py|sh)"):
        bench.book.run(asked, HealMeans(solver=ScriptedSolver([{"done.py": "", "done.sh": ""}]), plan=plan))


def test_words_that_come_to_nothing_leave_the_episode_as_it_was(bench: Bench) -> None:
    held = passed(bench)
    nothing = TaskPlan(steps=(PlanStep(do="again", check=("python", "-c", DISCOUNT)),))
    with pytest.raises(Refused, match="fails on the files as they are"):
        bench.book.follow(held.id, "again", HealMeans(solver=ScriptedSolver([{}]), plan=nothing))
    now = bench.book.show(held.id)
    assert (now.status, now.diff, now.task.steps) == ("passed", held.diff, held.task.steps)
    with pytest.raises(Refused, match=r"only a model understands words .*--check"):
        bench.book.follow(held.id, "the receipt is missing", HealMeans(solver=ScriptedSolver([{}])))


@pytest.mark.parametrize("applied", [False, True])
def test_a_person_goes_on_from_the_result_with_a_check_of_their_own(bench: Bench, applied: bool) -> None:
    held = passed(bench, Landing(to="apply", doubtful=True) if applied else None)
    more = TaskPlan(steps=(PlanStep(do="receipt", check=("python", "-c", RECEIPT)),), adds=True)
    solver = ScriptedSolver([{"shop.py": RIGHT}])
    ended = bench.book.follow(
        held.id, "no receipt", HealMeans(solver=solver, plan=more), landing=Landing(to="apply", doubtful=True)
    )
    assert ended.status == "passed"
    assert (ended.id == held.id) is not applied
    assert (bench.project / "shop.py").read_text() == RIGHT
    assert "no receipt" in solver.jobs[0].task.instruction


def test_a_follow_up_takes_a_step_back_and_writes_it_anew(home: Path, shop: Path) -> None:
    """The whole plan is shown with what each check says now; what contradicts the person's words goes."""
    euro = "from shop import receipt; assert receipt([200], 10) == '180.00 EUR', receipt([200], 10)"
    plan = steps(("Take the discount off.", program(DISCOUNT)), ("Add a receipt.", program(RECEIPT)))
    changed = reply(steps=[{"do": "The receipt names the currency.", "check": program(euro)}], beyond="", drop=[2, 3])
    right = RIGHT.replace('f"total {total(prices, discount):.2f}"', 'f"{total(prices, discount):.2f} EUR"')
    wish = "the receipt shall say 180.00 EUR, without the word total"
    same = reply(steps=[{"do": "The receipt names the currency.", "check": program(RECEIPT)}], beyond="", drop=[2])
    with ModelServer(plan, edit("", RIGHT), same, changed, edit("", right)) as server:
        asked = ("run", "discount off, and a receipt", "--in", str(shop), "--solver", "model")
        episode = ratchet(home, *asked, server=server).stdout.split("--resume ")[1].split()[0]
        only = ratchet(home, "run", "--resume", episode, wish, "--plan-only", server=server)
        told = server.asked[2].text
        told_back = server.asked[3].text
        found = plan_of(only.stdout)
        again = ratchet(home, "run", "--resume", episode, "--apply", "--doubtful", server=server)
    assert "is the check of a step that you drop" in told_back
    assert "2. Add a receipt. (" in told
    assert told.count("passes now)") == 3
    assert "Take the discount off." in told
    own = ("What passed before still passes.",)  # which no planner drops
    assert tuple(each.do for each in found.steps) == ("Take the discount off.", "The receipt names the currency.", *own)
    assert "# dropped: Add a receipt." in only.stdout
    assert again.returncode == 0, again.stdout + again.stderr
    assert (shop / "shop.py").read_text() == right


def test_a_step_that_a_person_takes_back_no_longer_keeps_the_rest_from_passing(home: Path, shop: Path) -> None:
    plan = steps(("Take the discount off.", program(DISCOUNT)), ("Add a receipt.", program(RECEIPT)))
    off, nothing = edit("", SHOP.replace(*HALF)), edit("", SHOP.replace(*HALF))
    taken_back = reply(steps=[], beyond="", drop=[2])
    # Asked for edits, as a whole file, and for single lines.
    with ModelServer(plan, off, *[nothing] * 7, taken_back) as server:
        words = ("run", "discount off, and a receipt", "--in", str(shop), "--solver", "model", "--attempts", "2")
        ran = ratchet(home, *words, server=server)
        assert ran.returncode == 1, ran.stdout + ran.stderr
        episode = ran.stdout.split("episodes show ")[1].split()[0]
        again = ratchet(
            home, "run", "--resume", episode, "leave the receipt out", "--apply", "--doubtful", server=server
        )
    assert again.returncode == 0, again.stdout + again.stderr
    assert "dropped  Add a receipt." in again.stdout
    assert (shop / "shop.py").read_text() == SHOP.replace(*HALF)


def test_a_coding_agent_plans_where_it_is_the_hands(home: Path, shop: Path) -> None:
    agent = shop.parent / f"{shop.name}-agent.py"
    plan = json.dumps({"steps": [{"do": "discount", "check": program(DISCOUNT)}]})
    agent.write_text(
        f"import sys\nasked = sys.stdin.read()\nif 'JSON object' in asked:\n    print({plan!r})\nelse:\n"
        f"    open('shop.py', 'w').write({SHOP.replace(*HALF)!r})\n"
    )
    try:
        words = ("run", "take the discount off", "--in", str(shop), "--solver", f"command:python {agent}", "--json")
        ran = ratchet(home, *words, "--ro", str(agent))
        found = json.loads(ran.stdout)
        assert (found["status"], ran.returncode) == ("passed", 0), ran.stdout + ran.stderr
        assert found["steps"][0]["do"] == "discount"
    finally:
        agent.unlink()


def test_a_model_whose_check_imports_what_nobody_has_or_looks_at_nothing_is_told_so(home: Path, shop: Path) -> None:
    """As small models write them: a module named after the prompt, and a check that goes by nothing but itself."""
    made_up = "import file_shop; assert file_shop.total([200], 10) == 180"
    copied = "prices, discount = [200], 10\ngot = sum(prices) * discount / 100\nassert got == 180, got"
    wrong = steps(("Discount.", program(made_up)), ("Discount.", program(copied)))
    asked_for = steps(
        ("Take the discount off.", program(DISCOUNT)),
        ("Make the module coupons.", program("from coupons import half; assert half(4) == 2")),
    )
    with ModelServer(wrong, asked_for) as server:
        only = ("run", "10 percent off 200 is 180", "--in", str(shop), "--solver", "model", "--plan-only")
        ran = ratchet(home, *only, server=server)
        told = server.asked[1].text
    assert "imports file_shop, which is not there" in told
    assert "fails in the same way when no file can be read" in told
    assert [each.now for each in plan_of(ran.stdout).steps if each.check][:1] == [""]  # a remark says what it does now
    assert "from coupons import half" in ran.stdout
    assert "left out" not in ran.stdout


def test_a_check_that_holds_a_copy_of_the_program_tries_the_program(home: Path, shop: Path) -> None:
    """Small models write down in it what they were shown, or what they would write into the project."""
    copied = f"{SHOP}\nassert total([200], 10) == 180, total([200], 10)"
    new = "def receipt(prices):\n    return 'total 1'\nassert receipt([1]) == 'total 1.00', receipt([1])"
    words = ("run", "10 percent off 200 is 180, and add a receipt", "--in", str(shop), "--solver", "model")
    with ModelServer(steps(("Discount.", program(copied)), ("Receipt.", program(new)))) as server:
        ran = ratchet(home, *words, "--plan-only", server=server)
    found = [shlex.split(check_text(each.check))[2] for each in plan_of(ran.stdout).steps if each.check[1] == "-c"]
    assert [each.splitlines()[0] for each in found] == ["from shop import subtotal", "from shop import receipt"]
    assert all("def " not in each for each in found)


def test_words_that_came_to_the_step_before_once_more_came_to_nothing(home: Path, shop: Path) -> None:
    """A step that fails still says nothing of what the person wants now."""
    plan = steps(("Take the discount off.", program(DISCOUNT)))
    quoted = f'python -c "{DISCOUNT}"'
    again = Reply(text=f"```python\n{DISCOUNT}\n```")
    wanted = Reply(text="```python\nfrom shop import subtotal\nassert subtotal([]) == 1, subtotal([])\n```")
    same = steps(("Take the discount off.", quoted))
    with ModelServer(plan, edit(*HALF), same, same, again, wanted, edit("", SHOP)) as server:
        asked = ("run", "discount off", "--in", str(shop), "--solver", "model", "--attempts", "1")
        episode = ratchet(home, *asked, server=server).stdout.split("--resume ")[1].split()[0]
        told = ratchet(home, "run", "--resume", episode, "nothing is worth one", "--plan-only", server=server)
    steps_now = [each.check for each in plan_of(told.stdout).steps if each.check[1] == "-c"]
    assert len(steps_now) == 2, told.stdout + told.stderr
    assert "subtotal([]) == 1" in steps_now[1][2]


def test_a_plan_says_of_its_own_steps_that_nobody_looks_at_them_in_no_case(home: Path, shop: Path) -> None:
    only = ("run", "take the discount off", "--in", str(shop), "--solver", "model", "--plan-only")
    with ModelServer(steps(("take the discount off", program(DISCOUNT)), beyond="take the discount off")) as server:
        assert plan_of(ratchet(home, *only, server=server).stdout).beyond == ""
