"""The repair solver at work, in the sandbox: tasks are fixed, faults come back, odd projects end in a reason."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ratchet import tasks
from ratchet.errors import Refused
from ratchet.healing.episode import Memo
from ratchet.healing.solvers.repair import SearchRequest, SearchResult, doubts, exhausted, files_of, note_of, search
from ratchet.ports import Sandbox
from ratchet.sandbox.choice import Sandboxes
from ratchet.sandbox.command import Command, Limits, Ran, View
from ratchet.sandbox.landlock import Landlock
from ratchet.tasks import CHECK
from support.sandboxes import working


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    try:
        return Sandboxes(tmp_path_factory.mktemp("home")).chosen()
    except Refused as error:
        pytest.skip(f"no sandbox holds here: {error}")


def searched(sandbox: Sandbox, folder: Path, **given: object) -> SearchResult:
    asked = SearchRequest(**{"check": CHECK, "candidates": 400, "cpu_s": 60.0, "seconds": 600.0, **given})  # type: ignore[arg-type]
    return search(asked, sandbox, View(folder=folder), limits=Limits())


def written(folder: Path, files: Mapping[str, str]) -> Path:
    folder.mkdir()
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.mark.parametrize("name", ["bank_account", "common_prefix"])
def test_a_shipped_task_is_fixed_and_its_files_are_as_they_were(sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    task = tasks.task(name)
    folder = task.lay_out(tmp_path / "p")
    found = searched(sandbox, folder, choice=0)
    assert found.patches, found.problem
    assert 0 < found.found_at <= found.tried <= 400
    assert set(files_of(found.patches[0])) <= set(task.sources)
    assert {each.name: each.read_text() for each in folder.glob("*.py")} == dict(task.project)


def test_what_passes_is_not_lost_where_the_choice_is_cut_short(sandbox: Sandbox, tmp_path: Path) -> None:
    class CutShort:
        """Ends where the first patch is told, as the limit of the clock does."""

        def run(self, command: Command, **given: Any) -> Ran:
            ran = sandbox.run(command, **given)
            lines = ran.stdout.splitlines(keepends=True)
            first = next(at for at, line in enumerate(lines) if b'"done": true' in line)
            return replace(ran, stdout=b"".join(lines[: first + 1]), killed="wall", exit_code=124)

    folder = written(tmp_path / "p", {
        "prices.py": "def total(prices):\n    return sum(prices) + 1\n",
        "test_prices.py": "from prices import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    })  # fmt: skip
    found = searched(CutShort(), folder)  # type: ignore[arg-type]
    assert found.patches, found.problem
    assert "not told apart" in doubts(found, found.patches[0])


def test_another_implementation_mends_what_no_small_edit_does_and_is_called_sure(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    wrong = "def first(items):\n    pass\n\n\ndef runs(items):\n    return first(items)\n"
    right = (
        "def first(xs):\n    found = []\n    for x in xs:\n        if not found or found[-1][0] != x:\n"
        "            found.append([x, 0])\n        found[-1][1] += 1\n    return found\n"
    )
    cases = {"[]": [], "[1, 1, 2]": [[1, 2], [2, 1]], "[3]": [[3, 1]], "[4, 5, 5, 5]": [[4, 1], [5, 3]]}
    tests = "".join(f"\n\ndef test_{i}():\n    assert runs({k}) == {v}\n" for i, (k, v) in enumerate(cases.items()))
    folder = written(tmp_path / "p", {"runs.py": wrong, "test_runs.py": "from runs import runs\n" + tests})
    found = searched(sandbox, folder, donors={"other.py": right + "\n\ndef runs(items):\n    return first(items)\n"})
    assert found.patches, found.problem
    assert found.found_at <= 20
    assert b"items" in files_of(found.patches[0])["runs.py"]
    assert found.grounds.asked > 20
    assert not doubts(found, found.patches[0])


def test_what_all_donors_do_otherwise_is_mended_where_no_test_tells_it(sandbox: Sandbox, tmp_path: Path) -> None:
    one = "def is_{0}({0}, rows):\n    count = 0\n    for row in rows:\n        count += row[{1}] == {0}\n"
    wrong = one.format("day", 1) + "    if count <= 1:\n        return true\n    else:\n        return False\n\n\n"
    wrong += one.format("month", 0) + "    return count <= 1\n"
    right = "\n\n".join(one.format(*each) + "    return count == 1\n" for each in (("day", 1), ("month", 0)))
    rows = "[('May', 1), ('June', 1), ('June', 2)]"
    cases = {f"is_day(1, {rows})": False, f"is_day(2, {rows})": True, f"is_day(3, {rows})": False,
             f"is_month('May', {rows})": True, f"is_month('June', {rows})": False}  # fmt: skip
    tests = "".join(f"\n\ndef test_{i}():\n    assert {k} == {v}\n" for i, (k, v) in enumerate(cases.items()))
    folder = written(tmp_path / "p", {"rows.py": wrong, "test_rows.py": "from rows import *\n" + tests})
    found = searched(sandbox, folder, donors={"other.py": right})
    assert b"<=" not in files_of(found.patches[0])["rows.py"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (
            "def count(item, xs):\n    return sum((x == itme) + (x == itme) for x in xs) // 2\n",
            "(x == item) + (x == item)",
        ),
        ("def count(item, xs):\n    for x in xs:\n        n += x == item\n    return n\n", "n = 0\n    for"),
    ],
)
def test_a_name_without_a_value_is_mended_where_it_is_read(
    sandbox: Sandbox, tmp_path: Path, wrong: str, right: str
) -> None:
    tests = "from count import count\n" + "".join(
        f"\n\ndef test_{len(xs)}():\n    assert count(1, {xs}) == {xs.count(1)}\n"
        for xs in ([2, 1, 1], [1], [], [3, 2])
    )
    found = searched(sandbox, written(tmp_path / "p", {"count.py": wrong, "test_count.py": tests}))
    assert right in files_of(found.patches[0])["count.py"].decode()


def test_a_number_is_doubtful_where_a_function_says_true_or_false(sandbox: Sandbox, tmp_path: Path) -> None:
    wrong = "def is_twice(x, xs):\n    n = xs.count(x) - 1\n    if n == 1:\n        return nn\n    return False\n"
    lists = ([1, 1], [2, 1, 1], [1, 1, 3], [1], [2, 2, 2, 1], [4, 5])
    tests = "from twice import is_twice\n" + "".join(
        f"\n\ndef test_{i}():\n    assert is_twice(1, {xs}) == {xs.count(1) == 2}\n" for i, xs in enumerate(lists)
    )
    found = searched(sandbox, written(tmp_path / "p", {"twice.py": wrong, "test_twice.py": tests}))
    said = files_of(found.patches[0])["twice.py"].decode()
    assert "return n\n" not in said or "another type of value" in doubts(found, found.patches[0])


_MIXED = """
import unittest

import pytest

import prog


@pytest.fixture
def three():
    return 3


def test_plain():
    print("said")
    assert prog.double(2) == 4


@pytest.mark.parametrize("n, twice", [(0, 0), (5, 10)], ids=["none", "ten"])
def test_parameters(n, twice):
    assert prog.double(n) == twice


@pytest.mark.parametrize("three", [7], indirect=True)
def test_indirect(three):
    assert prog.double(three) == 6


def test_fixture(three):
    assert prog.double(three) == 6


@pytest.mark.xfail(strict=True)
def test_expected_to_fail():
    assert prog.double(2) == 5


def test_left_out():
    pytest.skip("not here")


class TestReady:
    def setup_method(self):
        self.number = 4

    def test_method(self):
        assert prog.double(self.number) == 8


class TestCase(unittest.TestCase):
    def test_case(self):
        self.assertEqual(prog.double(1), 2)
"""


_HOOK = "import held\n\n\ndef pytest_runtest_setup():\n    held.ready = True\n"


@pytest.mark.parametrize(
    "plugins", [{}, {"conftest.py": _HOOK}, {"conftest.py": "pytest_plugins = ['around']\n", "around.py": _HOOK}]
)
def test_tests_of_all_sorts_say_the_same_in_a_process_that_holds_them(
    sandbox: Sandbox, tmp_path: Path, plugins: Mapping[str, str]
) -> None:
    body = "import held\n\n\ndef double(n):\n    if not held.ready:\n        raise RuntimeError\n    return n**2\n"
    files = {"prog.py": body, "held.py": f"ready = {not plugins}\n", "test_prog.py": _MIXED, **plugins}
    found = searched(sandbox, written(tmp_path / "p", files))
    assert "return n*2\n" in files_of(found.patches[0])["prog.py"].decode(), found.problem
    assert found.loaded_anew < found.tried / 2


def test_after_a_patch_of_two_edits_one_of_one_edit_is_still_found(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {
        "last.py": "def last(n, k):\n    if n == 1:\n        return 0\n    return (last(n - 1, k) + 1) % n\n",
        "test_last.py": "from last import last\n\n\ndef test_one():\n    assert last(1, 5) == 0\n\n\n"
        "def test_two():\n    assert last(5, 2) == 2\n\n\ndef test_three():\n    assert last(7, 3) == 3\n\n\n"
        "def test_four():\n    assert last(4, 3) == 0\n",  # or `last(n - 2, k) + 1` would pass, too
    }
    found = searched(sandbox, written(tmp_path / "p", files))
    assert len(found.patches[0]["marks"]) == 1  # type: ignore[arg-type]
    assert b"+ k) % n" in files_of(found.patches[0])["last.py"]


def test_what_lies_above_the_project_and_may_not_be_read_is_no_obstacle(tmp_path: Path) -> None:
    working(Landlock())
    with tempfile.TemporaryDirectory() as above:  # that every user may pass, other than what pytest makes
        Path(above).chmod(0o755)
        for name, text in (("pytest.ini", "[pytest]\naddopts = --no-such-option\n"), ("conftest.py", "1 / 0\n")):
            (Path(above) / name).write_text(text)
        folder = tasks.task("counters").lay_out(Path(above) / "p")
        assert searched(Landlock(), folder, choice=0).patches
        (folder / "setup.cfg").write_text("[tool:pytest]\naddopts = -k nothing_has_this_name\n")
        assert searched(Landlock(), folder).problem == "no test could be run"


def test_an_exact_repeat_is_fixed_at_candidate_1_where_it_stands_now(sandbox: Sandbox, tmp_path: Path) -> None:
    first = searched(sandbox, tasks.task("title_case").lay_out(tmp_path / "one"), choice=0)
    held = Memo(solver="repair", signature="v1:s", kind="test_failure", task="t", note=note_of(first.patches[0]))
    folder = tasks.task("title_case").lay_out(tmp_path / "two")
    [(path, content)] = files_of(first.patches[0]).items()
    (folder / path).write_bytes(b"# moved\n" + (folder / path).read_bytes())
    again = searched(sandbox, folder, memos=[held], signature="v1:s")
    assert (again.found_at, again.tried) == (1, 1)
    assert files_of(again.patches[0]) == {path: b"# moved\n" + content}
    [old], [new] = (found.patches[0]["marks"] for found in (first, again))  # type: ignore[str-unpack, misc]
    assert int(new["line"]) == int(old["line"]) + 1  # type: ignore[index, call-overload, arg-type]


PRICES = {
    "prices.py": "def cheapest(prices):\n    return sorted(prices)[1]\n\n\n"
    "def discounted(price, discount):\n    return price * (100 + discount) / 100\n",
    "test_prices.py": "from prices import cheapest, discounted\n\n\ndef test_cheapest():\n"
    "    assert cheapest([3, 1, 2]) == 1\n\n\ndef test_discount():\n    assert discounted(200, 10) == 180\n\n\n"
    "def test_none():\n    assert discounted(50, 0) == 50\n\n\ndef test_half():\n    assert discounted(50, 50) == 25\n",
}


def test_of_two_bugs_the_believable_edits_are_chosen_and_a_check_of_one_is_told_of_one(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    folder = written(tmp_path / "p", PRICES)
    both = searched(sandbox, folder)
    right = PRICES["prices.py"].replace("[1]", "[0]").replace("+", "-").encode()
    assert files_of(both.patches[0]) == {"prices.py": right}
    held = Memo(solver="repair", signature="v1:s", kind="test_failure", task="t", note=note_of(both.patches[0]))
    check = (*CHECK, "test_prices.py::test_discount")
    again = searched(sandbox, folder, check=check, memos=[held], signature="v1:s")
    assert files_of(again.patches[0]) == {"prices.py": PRICES["prices.py"].replace("+", "-").encode()}
    assert len(again.patches[0]["marks"]) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["shop_cart", "stack_machine"])
def test_with_several_processes_the_same_is_found_at_the_same_candidate(
    sandbox: Sandbox, tmp_path: Path, name: str
) -> None:
    one, other = (
        searched(sandbox, tasks.task(name).lay_out(tmp_path / str(n)), processes=n, seed=3, choice=5) for n in (1, 3)
    )
    assert (one.found_at, one.tried, one.patches) == (other.found_at, other.tried, other.patches)
    assert one.found_at


ADD = "def add(a, b):\n    # the sum\n    return a - b\n"


@pytest.mark.parametrize(
    ("check", "files"),
    [
        (("python", "-m", "unittest", "-q"),
         {"test_add.py": "import unittest\nfrom calc import add\nclass T(unittest.TestCase):\n"
                         "    def test_add(self): self.assertEqual(add(1, 2), 3)\n"}),
        (("python", "-m", "unittest"),
         {"test_add.py": "import unittest\nfrom calc import add\nclass T(unittest.TestCase):\n"
                         "    def test_add(self): self.assertEqual(add(1, 2), 3)\n"}),
        (("python", "-m", "unittest", "discover", "-s", "sums/tests", "-t", "."),
         {"sums/__init__.py": "", "sums/tests/__init__.py": "",
          "sums/tests/test_add.py": "import unittest\nfrom calc import add\nfrom .. import tests\n"
                                    "class T(unittest.TestCase):\n"
                                    "    def test_add(self): self.assertEqual(add(1, 2), 3)\n"}),
        (("python", "check.py"), {"check.py": "from calc import add\nassert add(1, 2) == 3\n"}),
        (("python", "-c", "from calc import add; assert add(1, 2) == 3"), {}),
        (("sh", "-c", "python -m pytest -q test_add.py"),
         {"test_add.py": "from calc import add\ndef test_add(): assert add(1, 2) == 3\n"}),
        (("sh", "-c", "python check.py && echo fine"),
         {"check.py": "from calc import add\nassert add(1, 2) == 3\n"}),
        (("python", "-m", "pytest", "-q"),
         {"conftest.py": "import calc\n", "test_add.py": "import calc\ndef test_add(): assert calc.add(1, 2) == 3\n"}),
        (("python", "-m", "pytest", "-q"),
         {"test_run.py": "import subprocess, sys\ndef test_run():\n"
                         "    code = 'import calc; assert calc.add(1, 2) == 3'\n"
                         "    assert subprocess.run([sys.executable, '-c', code]).returncode == 0\n"}),
    ],
    ids=[
        *("unittest", "unittest-alone", "unittest-discover"),
        *("script", "code", "shell", "command", "conftest", "subprocess"),
    ],
)  # fmt: skip
def test_any_way_to_run_the_tests(
    sandbox: Sandbox, tmp_path: Path, check: tuple[str, ...], files: dict[str, str]
) -> None:
    folder = written(tmp_path / "p", {"calc.py": ADD, **files})
    found = searched(sandbox, folder, check=check, choice=0)
    assert found.patches, found.problem
    assert files_of(found.patches[0]) == {"calc.py": ADD.replace("a - b", "a + b").encode()}


def test_a_look_at_others_is_short_where_there_is_little_doubt(sandbox: Sandbox, tmp_path: Path) -> None:
    tests = "from calc import add\ndef test_one(): assert add(1, 2) == 3\ndef test_two(): assert add(5, 4) == 9\n"
    folder = written(tmp_path / "p", {"calc.py": ADD, "test_add.py": tests})
    found = searched(sandbox, folder, candidates=2_000)
    assert found.found_at < 10
    assert 0 < found.tried - found.found_at <= 150
    none = searched(sandbox, folder, candidates=2_000, choice=0)
    assert none.found_at == none.tried == found.found_at


HANGS = """def total(items):
    found = 0
    i = 0
    while i < len(items):
        found += items[i]
    return found
"""


def test_a_program_that_never_ends_is_fixed(sandbox: Sandbox, tmp_path: Path) -> None:
    test = "from total import total\ndef test_total(): assert total([3, 4, 5]) == 12\n"
    found = searched(sandbox, written(tmp_path / "p", {"total.py": HANGS, "test_total.py": test}), choice=0)
    assert found.patches, found.problem
    assert b"i += 1" in files_of(found.patches[0])["total.py"]


SLOW = """def burn(n):
    if n > 0:
        raise ValueError(n)
    total = 0
    for i in range(3_000_000):
        total += i % 7
    return total > 0
"""


def test_what_takes_longer_once_it_works_is_found_all_the_same(sandbox: Sandbox, tmp_path: Path) -> None:
    test = "from burn import burn\ndef test_burn(): assert burn(1)\n"
    found = searched(
        sandbox, written(tmp_path / "p", {"burn.py": SLOW, "test_burn.py": test}), candidates=120, choice=0
    )
    assert found.patches, found.problem


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"a.py": "x = 1\n"}, "no test could be run"),
        ({"test_a.py": "def test_a(): pass\n"}, "every test passes here"),
        ({"test_a.py": "def test_a(): assert 0\n"}, "the failing tests run no Python file"),
    ],
    ids=["nothing", "passing", "tests only"],
)
def test_what_it_cannot_work_on_is_told(sandbox: Sandbox, tmp_path: Path, files: dict[str, str], problem: str) -> None:
    found = searched(sandbox, written(tmp_path / "p", files))
    assert not found.patches
    assert problem in found.problem


def test_protected_files_stay_out_of_it(sandbox: Sandbox, tmp_path: Path) -> None:
    test = "from calc import add\ndef test_add(): assert add(1, 2) == 3\n"
    folder = written(tmp_path / "p", {"calc.py": ADD, "test_add.py": test})
    assert not searched(sandbox, folder, protected=("calc.py",)).patches


def test_time_that_is_up_ends_it(sandbox: Sandbox, tmp_path: Path) -> None:
    test = "from total import total\ndef test_total(): assert total([1, 2]) == 30\n"
    found = searched(sandbox, written(tmp_path / "p", {"total.py": HANGS, "test_total.py": test}), seconds=4.0)
    assert not found.patches
    assert found.timed_out


def test_cpu_time_that_is_up_ends_it_whatever_the_clock_says(sandbox: Sandbox, tmp_path: Path) -> None:
    test = "from total import total\ndef test_total(): assert total([1, 2]) == 30\n"
    folder = written(tmp_path / "p", {"total.py": HANGS, "test_total.py": test})
    found = searched(sandbox, folder, candidates=100_000, cpu_s=8.0)
    assert not found.patches
    assert found.timed_out
    assert found.tried > 1
    assert 8.0 <= found.cpu_s < 40.0


def test_what_ended_a_search_that_found_nothing_is_told() -> None:
    assert "(there are no others)" in exhausted(SearchResult(tried=7), 2_000)
    assert "none of 2,000 small edits" in exhausted(SearchResult(tried=2_000), 2_000)
    assert "(--candidates allows no more)" in exhausted(SearchResult(tried=2_000), 2_000)
    assert "(the time was up: --budget-s gives more)" in exhausted(SearchResult(tried=2_000, timed_out=True), 2_000)


def test_a_mutant_that_exits_hoards_or_floods_is_only_wrong(sandbox: Sandbox, tmp_path: Path) -> None:
    source = (
        "import os, sys\n\n\ndef pick(n):\n    if n == 1:\n        os._exit(0)\n"
        "    if n == 2:\n        return 'x' * 10**9\n"
        "    if n == 3:\n        sys.stdout.write('y' * 10**7)\n    return n - 5\n"
    )
    test = "from pick import pick\ndef test_pick(): assert pick(5) == 10\n"
    found = searched(sandbox, written(tmp_path / "p", {"pick.py": source, "test_pick.py": test}), choice=0)
    assert files_of(found.patches[0])["pick.py"] == source.replace("n - 5", "n + 5").encode()


TOTAL = "def total(prices):\n    result = 0\n    for price in prices:\n        result -= price\n    return result\n"
TEST_TOTAL = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"


def test_a_src_layout_is_searched_as_it_is_judged(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {"src/shop/__init__.py": TOTAL, "tests/test_shop.py": TEST_TOTAL}
    found = searched(sandbox, written(tmp_path / "p", files), choice=0)
    assert b"result += price" in files_of(found.patches[0])["src/shop/__init__.py"]


def test_a_healthy_test_that_looks_for_an_exception_being_handled_stays_healthy(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    files = {
        "prog.py": "import sys\n\n\ndef current():\n    return sys.exc_info()[0]\n\n\n"
        "def add(a, b):\n    return a - b\n",
        "tests/conftest.py": "import prog\n",
        "tests/test_prog.py": "import prog\n\n\ndef test_add():\n    assert prog.add(1, 2) == 3\n\n\n"
        "def test_none():\n    assert prog.current() is None\n",
    }
    found = searched(sandbox, written(tmp_path / "p", files), choice=0)
    assert [mark["function"] for mark in found.patches[0]["marks"]] == ["add"]  # type: ignore[index, union-attr, call-overload]


def test_one_failing_test_is_told_from_the_others_of_its_file(sandbox: Sandbox, tmp_path: Path) -> None:
    """The whole large file ran before the fault: only the tests that pass tell where it is."""
    text = "".join(
        f"def f{i}(alpha, beta):\n    total = alpha * {i} + beta\n    if total > alpha:\n        total = total - 1\n"
        "    return total\n\n\n"
        for i in range(60)
    )
    calls = "".join(f"    f{i}(n, n + 1)\n" for i in range(60))
    files = {
        "big.py": f"{text}def everything(n):\n{calls}    return n\n\n\n"
        "def last(items):\n    return items[len(items)]\n",
        "test_big.py": "from big import everything, last\n\n\ndef test_all():\n    assert everything(3) == 3\n\n\n"
        "def test_last():\n    everything(3)\n    assert last([1, 2, 3]) == 3\n",
    }
    folder = written(tmp_path / "p", files)
    found = searched(sandbox, folder, check=(*CHECK, "test_big.py::test_last"), choice=0)
    assert [path for path, _, _ in found.places[:1]] == ["big.py"]
    assert found.places[0][1] == len(files["big.py"].splitlines())
    assert found.found_at < 100


def test_candidates_in_functions_need_no_import(sandbox: Sandbox, tmp_path: Path) -> None:
    found = searched(sandbox, tasks.task("walk_tree").lay_out(tmp_path / "p"))
    assert found.patches
    assert found.loaded_anew < found.tried / 4


def test_a_test_that_fails_only_in_the_search_is_none_of_its_affair(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {
        "calc.py": ADD,
        "test_add.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n"
        "def test_other():\n    assert False\n",
    }
    found = searched(sandbox, written(tmp_path / "p", files), failing=("test_add.py::test_add",), choice=0)
    assert b"return a + b" in files_of(found.patches[0])["calc.py"]
    assert not searched(sandbox, written(tmp_path / "q", files), candidates=200).patches


def test_a_search_that_goes_on_tries_nothing_twice_and_finds_the_next(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {"calc.py": ADD, "test_add.py": "from calc import add\ndef test_add(): assert add(2, 2) == 4\n"}
    first = searched(sandbox, written(tmp_path / "p", files), choice=0)
    key = str(first.patches[0]["key"])
    again = searched(sandbox, written(tmp_path / "q", files), choice=0, skip=(key,), spent=first.spent)
    assert str(again.patches[0]["key"]) != key
    assert not set(first.spent) & set(again.spent)


def test_what_breaks_a_test_beside_the_failing_one_is_no_answer(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {
        "stamps.py": "def stamped(event, key):\n    if 'at' not in event:\n        event[key] = 1\n    return event\n",
        "test_stamps.py": "from stamps import stamped\n\n\ndef test_own_key():\n"
        "    assert stamped({'at': 5}, 'when') == {'at': 5, 'when': 1}\n\n\ndef test_kept():\n"
        "    assert stamped({'at': 5}, 'at') == {'at': 5}\n\n\ndef test_added():\n"
        "    assert stamped({}, 'at') == {'at': 1}\n",
    }
    check = ("python", "-m", "pytest", "-q", "test_stamps.py::test_own_key")
    found = searched(sandbox, written(tmp_path / "p", files), check=check)
    assert b"if key not in event" in files_of(found.patches[0])["stamps.py"]
    assert all(b"if 'at' in event" not in files_of(each)["stamps.py"] for each in found.patches)


SPLIT = (
    "def parts(items, most=None):\n"
    '    """The items, in lists.\n\n    >>> parts([1, 2])\n    [[1], [2]]\n    """\n'
    "    if most is not None:\n        most = int(most)\n        if most == 0:\n            return [[items]]\n"
    "    return [[each] for each in items] if most is None else [items]\n"
)


def test_an_example_in_a_docstring_that_came_out_as_told_has_to_after_an_edit(sandbox: Sandbox, tmp_path: Path) -> None:
    test = "from split import parts\n\n\ndef test_none():\n    assert parts([1, 2], 0) == [[1, 2]]\n"
    found = searched(sandbox, written(tmp_path / "p", {"split.py": SPLIT, "test_split.py": test}))
    texts = [files_of(each)["split.py"] for each in found.patches]
    assert texts
    assert not any(b"if most is None:" in each for each in texts), "int(None) breaks the example"
    plain = SPLIT.replace(">>> ", "")
    found = searched(sandbox, written(tmp_path / "q", {"split.py": plain, "test_split.py": test}))
    assert any(b"if most is None:" in files_of(each)["split.py"] for each in found.patches), "no example, no objection"


def test_arguments_of_a_class_that_lies_beside_the_tests_are_varied(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {
        "shop/prices.py": "def total(basket):\n    return basket.price - basket.count\n",
        "tests/baskets.py": "class Basket:\n    def __init__(self, price, count):\n"
        "        self.price, self.count = price, count\n",
        "tests/test_prices.py": "from baskets import Basket\nfrom shop.prices import total\n\n\n"
        "def test_total():\n    assert total(Basket(2, 3)) == 6\n",
    }
    found = searched(sandbox, written(tmp_path / "p", files))
    assert found.grounds.inputs > 20


def test_one_mistake_in_three_places_is_mended_in_all_of_them(sandbox: Sandbox, tmp_path: Path) -> None:
    names = ("first", "second", "third")
    program = "row = None\n\n\n" + "\n\n".join(
        f"def {name}(rows):\n    found = []\n    for at in range(len(rows)):\n        if row[at] > {n}:\n"
        f"            found.append(at * {n})\n    return found\n"
        for n, name in enumerate(names, 1)
    )
    tests = f"from prog import {', '.join(names)}\n\n\n" + "\n\n".join(
        f"def test_{name}():\n    assert {name}([0, 1, 9, 8]) == [{2 * n}, {3 * n}]\n"
        for n, name in enumerate(names, 1)
    )
    files = {"prog.py": program, "test_prog.py": tests}
    found = searched(sandbox, written(tmp_path / "p", files), candidates=1_500, choice=0)
    assert files_of(found.patches[0])["prog.py"] == program.replace("row[at]", "rows[at]").encode()


def weighed(sandbox: Sandbox, folder: Path, name: str, text: str, seed: int = 0) -> str:
    found = searched(sandbox, folder, candidates=0, given={name: text.encode()}, seed=seed)
    assert found.patches, found.problem
    return doubts(found, found.patches[0])


@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_what_tests_want_is_doubtful_and_the_rule_is_sure(
    sandbox: Sandbox, tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    factor = draw.randint(2, 9)
    rule, fault = f"a * {factor} - b", f"b * {factor} - a"
    right, old = (f"def f(a, b):\n    return {each}\n" for each in (rule, fault))
    drawn = draw.sample(range(11, 60), 16)
    pairs = [*zip(drawn[:8], drawn[8:], strict=True)]
    asked = {(a, b): a * factor - b for a, b in pairs}
    failing = {(a, b): each for (a, b), each in asked.items() if a != b}
    tests = "".join(f"\n\ndef test_{at}():\n    assert f{k} == {v}\n" for at, (k, v) in enumerate(asked.items()))
    folder = written(tmp_path / "p", {"rule.py": old, "test_rule.py": "from rule import f\n" + tests})
    table = f"def f(a, b):\n    known = {failing}\n    return known.get((a, b), {fault})\n"
    ladder = "".join(f"    if a == {a}:\n        return {each}\n" for (a, _), each in failing.items())
    assert weighed(sandbox, folder, "rule.py", right, seed) == ""
    assert "spell out" in weighed(sandbox, folder, "rule.py", table, seed)
    assert "spell out" in weighed(sandbox, folder, "rule.py", f"def f(a, b):\n{ladder}    return {fault}\n", seed)


@pytest.mark.parametrize("seed", range(3))
def test_what_one_failing_test_alone_asks_for_is_doubtful_whatever_the_seed(
    sandbox: Sandbox, tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    base, each, more = draw.randint(2, 9), draw.randint(2, 4), draw.randint(5, 20)
    source = f"def cost(n, fast):\n    k = {base} + n * {each}\n    if fast:\n        k = k + {more}\n    return k\n"
    asked = {f"{n}, False": base + n * each for n in range(5)} | {f"{more}, True": 2 * (base + more * each)}
    tests = "".join(f"\n\ndef test_{at}():\n    assert cost({k}) == {v}\n" for at, (k, v) in enumerate(asked.items()))
    text = f"from cost import cost\n{tests}"
    folder = written(tmp_path / "p", {"cost.py": source, "test_cost.py": text})
    assert "only 1 test" in weighed(sandbox, folder, "cost.py", source.replace(f"k + {more}", "k * 2"), seed)


def test_tests_that_run_a_line_only_at_import_do_not_speak_of_it(sandbox: Sandbox, tmp_path: Path) -> None:
    source = "def lines(items, pretty=False, end='x'):\n    return end.join(items) if pretty else ''.join(items)\n"
    tests = "from lines import lines\n\n\ndef test_pretty():\n    assert lines(['a'] * 2, True) == 'aa'\n"
    tests += "".join(f"\n\ndef test_{at}():\n    assert lines(['b'] * {at}) == 'b' * {at}\n" for at in range(6))
    folder = written(tmp_path / "p", {"lines.py": source, "test_lines.py": tests})
    found = searched(sandbox, folder, candidates=0, given={"lines.py": source.replace("end='x'", "end=''").encode()})
    assert found.grounds.passing == 0
    assert "only" in doubts(found, found.patches[0])


def test_tests_beside_the_check_speak_of_a_line_that_runs_at_import_where_they_feel_it(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    source = "LIMIT = 2\n\n\ndef short(text):\n    return len(text) < LIMIT\n"
    tests = "from short import short\n\n\ndef test_two():\n    assert short('ab')\n"
    tests += "".join(f"\n\ndef test_{at}():\n    assert short('a' * {at}) is {at < 3}\n" for at in (0, 1, 3, 4))
    folder = written(tmp_path / "p", {"short.py": source, "test_short.py": tests})
    given = {"short.py": source.replace("= 2", "= 3").encode()}
    found = searched(sandbox, folder, candidates=0, given=given, check=(*CHECK, "test_short.py::test_two"))
    assert 0 < found.grounds.passing < 5, "those that no other limit fails say nothing"


def test_a_default_that_a_call_does_not_give_is_what_a_patch_says(sandbox: Sandbox, tmp_path: Path) -> None:
    source = "def joined(items, *, end='x'):\n    return end.join(items)\n"
    tests = "from joined import joined\n\n\ndef test_two():\n    assert joined(['a', 'b']) == 'ab'\n"
    folder = written(tmp_path / "p", {"joined.py": source, "test_joined.py": tests})
    found = searched(sandbox, folder, candidates=0, given={"joined.py": source.replace("'x'", "''").encode()})
    assert found.grounds.inputs > found.grounds.kept


@pytest.mark.parametrize(
    ("change", "idle"),
    [
        (
            ("FAST and fast:", "FAST or fast:"),
            "`fast` decides nothing any more; nothing runs line 7 of total.py any more",
        ),
        (("total = 0", "total = 0.0"), ""),
    ],
)
def test_what_a_patch_leaves_without_effect_is_never_sure(
    sandbox: Sandbox, tmp_path: Path, change: tuple[str, str], idle: str
) -> None:
    """Tests that give other ways the same answer see no difference where one of them is put out of use."""
    source = (
        "FAST = True\n\n\ndef total(items, fast=True):\n    if FAST and fast:\n        return float(sum(items))\n"
        "    total = 0\n    for each in items:\n        total += each\n    return total\n"
    )
    tests = "from total import total\n\n\ndef test_slowly():\n    assert repr(total([1, 2], fast=False)) == '3.0'\n"
    tests += "".join(
        f"\n\ndef test_{at}():\n    assert total([{at}.5] * {at % 4 + 1}, {at % 2 == 0}) == {at + 0.5} * {at % 4 + 1}\n"
        for at in range(8)
    )
    folder = written(tmp_path / "p", {"total.py": source, "test_total.py": tests})
    found = searched(sandbox, folder, candidates=0, given={"total.py": source.replace(*change).encode()})
    assert found.grounds.idle == idle
    assert idle in doubts(found, found.patches[0])
