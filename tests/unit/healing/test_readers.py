"""Who reads a data file decides whether a change of it is an answer: an expectation is a grader."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ratchet.evolving.bench.benchmark import BenchTask
from ratchet.evolving.bench.shipped import shipped
from ratchet.healing.episode import Reads, Task
from ratchet.healing.judges.protection import objection
from ratchet.healing.judges.readers import readers_of
from ratchet.sandbox.command import FileChange

GEN = 'def out():\n    return "a,b\\n1,3\\n"\n'
PYTEST = ("python", "-m", "pytest", "-q")
HEAL = [task for task in shipped("core").tasks if task.id.startswith("heal")]


def changed(path: str, before: bytes | None = b"old\n", after: bytes | None = b"new\n") -> FileChange:
    modes = (0 if before is None else 0o644, 0 if after is None else 0o644)
    return FileChange(path=path, before=before, after=after, before_mode=modes[0], after_mode=modes[1])


def refused(
    files: Mapping[str, str],
    *changes: FileChange,
    check: tuple[str, ...] = PYTEST,
    instruction: str = "",
    reads: Reads | None = None,
) -> str:
    task = Task(id="t", check=check, instruction=instruction)
    held = {path: text.encode() for path, text in files.items()}
    return objection(changes, task) or readers_of(held, task).objection(changes, reads)


def project(read: str) -> dict[str, str]:
    return {
        "gen.py": GEN,
        "test_gen.py": f"import json, pathlib\nfrom gen import out\n\n\ndef test_out():\n    {read}\n",
    }


SHELL = ("sh", "-c", "python gen.py | diff - want.txt")
PLACES: dict[str, tuple[dict[str, str], str, tuple[str, ...]]] = {
    "a folder of what is expected": (
        project('assert out() == pathlib.Path("expected/out.csv").read_text()'),
        "expected/out.csv",
        PYTEST,
    ),
    "golden": (project('assert out() == open("golden/out.txt").read()'), "golden/out.txt", PYTEST),
    "an ending": (project('assert out() == open("out.golden").read()'), "out.golden", PYTEST),
    "a snapshot": (project("assert out() == snapshot"), "__snapshots__/test_gen.ambr", PYTEST),
    "approved": (project("verify(out())"), "test_out.approved.txt", PYTEST),
    "beside the program, named in a test": (project('assert out() == open("want.txt").read()'), "want.txt", PYTEST),
    "JSON named in a test": (
        project('assert out() == json.load(open("answers.json"))["out"]'),
        "answers.json",
        PYTEST,
    ),
    "a name made of the test's own": (
        project('assert out() == pathlib.Path(__file__).with_suffix(".csv").read_text()'),
        "test_gen.csv",
        PYTEST,
    ),
    "a folder that a test goes through": (
        project('for each in pathlib.Path("cases").iterdir(): assert out() == each.read_text()'),
        "cases/one.txt",
        PYTEST,
    ),
    "a name made in a test": (project('assert out() == open(f"{__name__}.out").read()'), "test_gen.out", PYTEST),
    "a table in conftest": (
        {**project("assert out() == row"), "conftest.py": 'ROWS = open("table.yaml").read()\n'},
        "table.yaml",
        PYTEST,
    ),
    "data beside the tests": (project("assert out() == load()"), "tests/data/out.bin", PYTEST),
    "fixtures": (project("assert out() == load()"), "fixtures/out.json", PYTEST),
    "a command that compares": ({"gen.py": GEN}, "want.txt", SHELL),
    "a script that compares": (
        {"gen.py": GEN, "check.sh": "python gen.py > out.txt\ndiff out.txt want.txt\n"},
        "want.txt",
        ("sh", "check.sh"),
    ),
    "a script called by a script": (
        {"gen.py": GEN, "ci.sh": "sh steps/compare.sh\n", "steps/compare.sh": "diff out.txt want.txt\n"},
        "want.txt",
        ("sh", "ci.sh"),
    ),
    "a Makefile": (
        {"gen.py": GEN, "Makefile": "test:\n\tpython gen.py | diff - want.txt\n"},
        "want.txt",
        ("make", "test"),
    ),
    "scripts of npm": (
        {"gen.js": "console.log(1)\n", "package.json": '{"scripts": {"test": "node gen.js | diff - want.txt"}}'},
        "want.txt",
        ("npm", "test"),
    ),
    "a script in Python that imports the program": (
        {"gen.py": GEN, "check.py": 'from gen import out\nassert out() == open("want.json").read()\n'},
        "want.json",
        ("python", "check.py"),
    ),
    "a script in Python that starts the program": (
        {
            "gen.py": GEN,
            "check.py": 'import subprocess\nran = subprocess.run(["python", "gen.py"])\nopen("truth.txt")\n',
        },
        "truth.txt",
        ("python", "check.py"),
    ),
    "unittest": (
        {"gen.py": GEN, "test_gen.py": 'import unittest\nWANT = open("want.tsv").read()\n'},
        "want.tsv",
        ("python", "-m", "unittest"),
    ),
    "checksums": ({"gen.py": GEN}, "SUMS", ("sha256sum", "-c", "SUMS")),
    "the text of a doctest": ({"gen.py": GEN}, "usage.txt", ("python", "-m", "doctest", "usage.txt")),
    "a test of node": (
        {"gen.js": "", "gen.test.js": 'assert.equal(gen(), fs.readFileSync("want.json", "utf8"))\n'},
        "want.json",
        ("node", "--test"),
    ),
    "a test of go": (
        {"gen.go": "package gen\n", "gen_test.go": 'want, _ := os.ReadFile("want.txt")\n'},
        "want.txt",
        ("go", "test", "./..."),
    ),
    "a file without an ending": ({"gen.py": GEN}, "want", ("sh", "-c", "python gen.py | diff - want")),
    "a file without an ending, in a test": (project('assert out() == open("want").read()'), "want", PYTEST),
    "settings that a test alone reads": (project('assert out() == int(open(".env").read())'), ".env", PYTEST),
    "a file that nobody names": (project("assert out() == load()"), "data.bin", PYTEST),
}


UNMET = ("a command that compares", "checksums", "the text of a doctest", "a file without an ending")


@pytest.mark.parametrize("place", PLACES)
def test_an_expectation_is_not_changed(place: str) -> None:
    files, path, check = PLACES[place]
    edited, made, removed = (
        changed(path, b"old\n", b"new\n"),
        changed(path, None, b"new\n"),
        changed(path, b"old\n", None),
    )
    program = changed("gen.py", GEN.encode(), GEN.replace("3", "2").encode())
    assert refused(files, edited, check=check)
    assert refused(files, removed, check=check)
    if place not in UNMET:  # whose check fails at its own missing file: nothing is asked for
        assert refused(files, made, check=check)
    if place != "a file that nobody names":  # as a README is: it is of no account
        assert refused(files, program, edited, check=check)


@pytest.mark.parametrize("place", ["a folder of what is expected", "golden", "an ending", "a snapshot", "fixtures"])
def test_what_is_kept_as_expected_stays_though_the_task_names_it(place: str) -> None:
    files, path, check = PLACES[place]
    assert refused(files, changed(path), check=check, instruction=f"Make the program print what {path} says.")


def test_a_new_file_whose_name_is_a_word_of_the_tests_is_of_no_account() -> None:
    files = {"calc/__init__.py": GEN, "test_calc.py": "import calc\n\n\ndef test_out():\n    assert calc.out()\n"}
    gone = changed("calc/__init__.py", GEN.encode(), None)
    assert refused(files, gone, changed("calc", None), changed("calc.py", None)) == ""


READ: dict[str, tuple[dict[str, str], str]] = {
    "by its name": ({"app.py": 'import json\nC = json.load(open("config.json"))\n'}, "config.json"),
    "in a folder": ({"app.py": 'from pathlib import Path\nD = Path("data")\nR = D / "rates.csv"\n'}, "data/rates.csv"),
    "by its path": ({"app.py": 'open("data/rates.csv")\n'}, "data/rates.csv"),
    "beside its module": ({"pkg/app.py": 'Path(__file__).with_name("table.toml")\n'}, "pkg/table.toml"),
    "as a folder's file": ({"app.py": 'for each in Path("inbox").glob("*.json"): pass\n'}, "inbox/004.json"),
    "below its package": ({"pkg/app.py": 'files("pkg") / "locale" / f"{name}.json"\n'}, "pkg/locale/de.json"),
    "as settings of its own": ({"app.py": 'load_dotenv(".env")\n'}, ".env"),
    "in another language": ({"app.js": "fs.readFileSync('config.yaml')\n"}, "config.yaml"),
    "by a test, too": (
        {"app.py": 'C = open("state.json")\n', "test_app.py": 'assert open("state.json").read() == "{}"\n'},
        "state.json",
    ),
    "by a script that is the program": ({"check.py": 'import json\njson.load(open("config.json"))\n'}, "config.json"),
}


@pytest.mark.parametrize("how", READ)
def test_data_that_the_program_reads_may_be_mended(how: str) -> None:
    files, path = READ[how]
    check = ("python", "check.py") if "check.py" in files else PYTEST
    assert refused(files, changed(path), check=check) == ""


def test_data_that_the_task_names_may_be_mended() -> None:
    files = {"test_state.py": 'assert open("lock.json").read() == WANT\n'}
    for said in ("Mend `lock.json`.", "mend lock.json, please", "Put right what is in `state/`."):
        path = "state/a.json" if "state/" in said else "lock.json"
        assert refused(files, changed(path), instruction=said) == ""
    for said in ("", "Mend what is broken.", "Mend block.json.", "Mend lock.json5."):
        assert "lock.json" in refused(files, changed("lock.json"), instruction=said)


def test_who_opened_a_file_in_the_first_run_decides_where_nothing_names_it() -> None:
    files = {"app.py": "def load(name):\n    return open(PREFIX + name)\n", "test_app.py": "from app import load\n"}
    one = changed("de")
    assert refused(files, one)
    assert refused(files, one, reads=Reads(program=frozenset(["de"]))) == ""
    code = changed("app.py", files["app.py"].encode(), b"x = 1\n")
    assert refused(files, one, code) == ""
    assert "a test reads it" in refused(files, one, code, reads=Reads(tests=frozenset(["de"])))
    assert refused(files, one, code, reads=Reads(frozenset(["de"]), frozenset(["de"]))) == ""


def test_a_program_that_is_changed_to_read_an_expectation_does_not_make_it_its_own() -> None:
    files, path, check = PLACES["beside the program, named in a test"]
    opens = changed("gen.py", GEN.encode(), f'open("{path}")\n{GEN}'.encode())
    assert refused(files, opens, changed(path), check=check)


@pytest.mark.parametrize("path", ["README.md", "CHANGES.rst", "docs/usage.md", "LICENSE"])
def test_what_nobody_reads_may_change_beside_the_program(path: str) -> None:
    code = changed("gen.py", GEN.encode(), GEN.replace("3", "2").encode())
    assert refused(project("assert out()"), changed(path), code) == ""
    assert refused(project("assert out()"), changed(path))


@pytest.mark.parametrize("path", ["requirements.txt", "pyproject.toml", "go.mod", "poetry.lock"])
def test_what_declares_a_project_may_be_all_that_changes(path: str) -> None:
    assert refused(project("assert out()"), changed(path, b"", b"")) == ""


@pytest.mark.parametrize("task", HEAL, ids=lambda task: task.id)
@pytest.mark.parametrize("check", [(*PYTEST, "test_state.py"), ("python", "-m", "pytest")])
def test_the_answer_to_every_task_of_the_benchmark_is_none_of_an_expectation(
    task: BenchTask, check: tuple[str, ...]
) -> None:
    files = {**task.files, **task.graders}
    after = {**task.reference, **dict.fromkeys(task.removes)}
    changes = [
        changed(path, files[path].encode() if path in files else None, None if text is None else text.encode())
        for path, text in after.items()
        if files.get(path) != text
    ]
    assert changes
    assert refused(files, *changes, check=check, instruction=task.instruction) == ""


@pytest.mark.parametrize(
    ("after", "ok"),
    [
        (">>> double(2)\n4\n\nBye.\n", True),
        (">>> double(2)\n4\n>>> double(3)\n6\n\nHello.\n", True),
        (">>> double(2)\n5\n\nHello.\n", False),
        (">>> double(3)\n4\n\nHello.\n", False),
        ("Hello.\n", False),
    ],
)
def test_the_examples_of_a_text_stay_with_what_they_print(after: str, ok: bool) -> None:
    change = changed("usage.txt", b">>> double(2)\n4\n\nHello.\n", after.encode())
    said = refused({"usage.txt": ""}, change, check=("pytest", "--doctest-glob=*.txt"), instruction="Mend usage.txt.")
    assert (said == "") is ok


@pytest.mark.parametrize(
    ("check", "path", "before"),
    [
        ("python -m mypy prog.py", "mypy.ini", b"[mypy]\nstrict = true\n"),
        ("python -m mypy prog.py", "mypy.ini", None),
        ("ruff check .", "src/.ruff.toml", None),
        ("npx vitest run", "vite.config.ts", b"export default {}\n"),
        ("vendor/bin/phpunit", "phpunit.xml", b"<phpunit/>"),
        ("bundle exec rspec", ".rspec", None),
        ("ctest", "CMakeLists.txt", b"add_test(a b)\n"),
        ("cargo test", "build.rs", None),
        ("pylint prog.py", ".pylintrc", None),
        ("npx prettier --check .", ".prettierrc.json", None),
        ("bandit -r .", "bandit.yaml", b"skips: []\n"),
        ("sphinx-build -W . out", "conf.json", b"{}"),
        ("mvn test", ".mvn/maven.config", None),
        ("mvn test", ".mvn/extensions.xml", None),
        ("npx jest", ".node_modules/chai.js", None),
        ("mix credo", ".credo.exs", b"%{}"),
        ("vendor/bin/phpstan", "phpstan.neon", b"level: 9"),
        ("vendor/bin/phpstan", "phpstan-baseline.neon", None),
        ("lein test", "project.clj", b"(defproject a)"),
        ("clj -X:test", "deps.edn", b"{}"),
        ("scons test", "SConstruct", b"x"),
        ("pytest", ".junie/guidelines.md", None),
        ("pytest", ".clinerules/rule.md", None),
        ("pytest", ".a-tool-of-tomorrow/hook.py", None),
        ("pytest", "test.env", b"WANT=4"),
    ],
)
def test_what_a_tool_obeys_is_not_changed_along_with_code(check: str, path: str, before: bytes | None) -> None:
    files = {"prog.py": "x = 1\n", **({path: before.decode()} if before is not None else {})}
    code = changed("prog.py", b"x = 1\n", f'x = 2  # "{path}"\n'.encode())
    found = refused(files, code, changed(path, before), check=tuple(check.split()))
    assert path in found
    named = refused(files, code, changed(path, before), check=tuple(check.split()), instruction=f"mend {path}, too")
    assert named == "", "the task asks for it"


def test_notes_and_a_packages_own_data_come_along_with_code() -> None:
    files = {"pkg/prog.py": "x = 1\n", "README.md": "old\n"}
    code = changed("pkg/prog.py", b"x = 1\n", b'x = open("words.json")\n')
    assert refused(files, code, changed("README.md"), changed("pkg/words.json", None)) == ""
    assert "pkg/ruff.toml" in refused(files, code, changed("pkg/ruff.toml", None))


@pytest.mark.parametrize(
    ("path", "before", "after", "allowed"),
    [
        ("pyproject.toml", b'[tool.ruff.lint]\nselect = ["ALL"]\n', b"[tool.ruff.lint]\nselect = []\n", False),
        ("pyproject.toml", b"[tool.mypy]\nstrict = true\n", b"", False),
        ("pyproject.toml", b'[project]\ndependencies = ["a"]\n', b'[project]\ndependencies = ["a", "b"]\n', True),
        ("pyproject.toml", b"[tool.poetry.dependencies]\na = '1'\n", b"[tool.poetry.dependencies]\na = '2'\n", True),
        ("setup.cfg", b"[flake8]\nmax = 1\n", b"[flake8]\nmax = 9\n", False),
        ("setup.cfg", b"[options]\npackages = a\n", b"[options]\npackages = b\n", True),
        ("package.json", b'{"eslintConfig": {"root": true}}', b'{"eslintConfig": {}}', False),
        ("package.json", b'{"dependencies": {}}', b'{"dependencies": {"a": "1"}}', True),
        ("Cargo.toml", b'[package]\nname = "a"\n', b'[package]\nname = "a"\nautotests = false\n', False),
        ("Cargo.toml", b"[dependencies]\n", b'[dependencies]\na = "1"\n', True),
    ],
)
def test_of_a_declaration_what_tools_are_told_stays(path: str, before: bytes, after: bytes, allowed: bool) -> None:
    found = refused({"prog.py": "x = 1\n", path: before.decode()}, changed(path, before, after))
    assert (found == "") is allowed
