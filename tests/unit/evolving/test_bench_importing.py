"""What others measure with, as frozen benchmarks: all of it or nothing."""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.errors import Conflict, NotFound, RatchetError, StoreError, UsageError
from ratchet.evolving.bench import inspectlog
from ratchet.evolving.bench.benchmark import Benchmark, BenchTask
from ratchet.evolving.bench.importing import read_command, read_folder, read_lines, split_of
from ratchet.evolving.bench.inspectlog import read_log
from ratchet.evolving.bench.shelf import BenchShelf
from support.folders import deeply_nested

LINE = {
    "task_id": "HumanEval/0",
    "prompt": "def add(a, b):\n    '''The sum.'''\n",
    "canonical_solution": "    return a + b\n",
    "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n",
    "entry_point": "add",
}
TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"


def lines(path: Path, *rows: object) -> Path:
    text = "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows)
    path.write_bytes(gzip.compress(text.encode())) if path.suffix == ".gz" else path.write_text(text)
    return path


# -- splits ------------------------------------------------------------------------------------------------------------


def test_a_task_keeps_its_split_in_every_version() -> None:
    kept = {"HumanEval/0": "sealed", "HumanEval/1": "dev", "HumanEval/3": "gate", "add": "gate", "\u00e9": "gate"}
    assert {each: split_of(each) for each in kept} == kept


@given(st.text())
def test_every_id_has_a_split(task_id: str) -> None:
    assert split_of(task_id) in ("dev", "gate", "sealed")


def test_splits_are_a_fifth_a_half_and_the_rest() -> None:
    found = Counter(split_of(f"task-{n}") for n in range(2_000))
    assert 330 < found["dev"] < 470
    assert 900 < found["gate"] < 1_100
    assert 500 < found["sealed"] < 700


# -- HumanEval-style lines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tasks.jsonl", "tasks.jsonl.gz"])
def test_lines_become_tasks_whose_tests_no_agent_sees(tmp_path: Path, name: str) -> None:
    found = read_lines(lines(tmp_path / name, LINE, "", {**LINE, "task_id": "HumanEval/1"}), "tasks")
    assert [each.id for each in found.tasks] == ["HumanEval/0", "HumanEval/1"]
    task = found.tasks[0]
    assert task.files == {"solution.py": LINE["prompt"]}
    assert task.reference == {"solution.py": LINE["prompt"] + LINE["canonical_solution"]}
    assert "check(add)" in task.graders["test_solution.py"]
    assert "candidate" not in task.instruction


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([LINE, "{"], "tasks.jsonl:2 is not JSON"),
        ([LINE, "[1]"], "tasks.jsonl:2 is no JSON object"),
        ([{**LINE, "prompt": None}], "tasks.jsonl:1 has no 'prompt'"),
        ([LINE, "", {**LINE, "test": 3}], "tasks.jsonl:3 has an empty or odd 'test'"),
        ([{**LINE, "entry_point": "a b"}], "tasks.jsonl:1: entry_point"),
        ([{**LINE, "test": "def check(x:\n"}], "tasks.jsonl:1: test is no Python"),
        ([{**LINE, "test": "assert True"}], "defines no check"),
        ([{**LINE, "task_id": "a\ud800"}], "tasks.jsonl:1, task_id holds half a letter"),
        ([{**LINE, "prompt": "\udc80"}], "tasks.jsonl:1, prompt holds half a letter"),
        ([{**LINE, "canonical_solution": "\ud800"}], "tasks.jsonl:1, canonical_solution holds half a letter"),
        ([LINE, {**LINE, "task_id": "a\0b"}], "tasks.jsonl:2: 'a\\x00b' names no task"),
        ([{**LINE, "task_id": "\x1b[31mred"}], "names no task"),
        ([{**LINE, "task_id": "x" * 5_000}], "names no task"),
        ([LINE, LINE], "'HumanEval/0' twice"),
        ([], "holds no task"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(tmp_path: Path, rows: list[object], said: str) -> None:
    with pytest.raises(UsageError) as error:
        read_lines(lines(tmp_path / "tasks.jsonl", *rows), "tasks")
    assert said in str(error.value)


def test_a_file_that_is_absent_or_broken_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_lines(tmp_path / "none.jsonl", "x")
    (tmp_path / "broken.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(UsageError, match="unpacked"):
        read_lines(tmp_path / "broken.jsonl.gz", "x")


@given(st.binary(max_size=200))
def test_any_bytes_are_tasks_or_a_refusal(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("lines") / "odd.jsonl"
    path.write_bytes(content)
    with pytest.raises(RatchetError):
        read_lines(path, "odd")


# -- folders of pytest tasks -------------------------------------------------------------------------------------------


def task_folder(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_md", ".md").replace("_toml", ".toml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_each_folder_with_tests_is_a_task_with_its_tests_as_graders(tmp_path: Path) -> None:
    task_folder(
        tmp_path / "adding",
        calc_py="def add(a, b):\n    return a - b\n",
        tests__test_calc_py=TEST,
        tests__conftest_py="",
        solution__calc_py="def add(a, b):\n    return a + b\n",
        instruction_md="Mend add.",
        task_toml='kind = "fix"\nsplit = "dev"\nsmoke = true\nwall_s = 30\ntitle = "Adding"',
    )
    task_folder(tmp_path / "fresh", test_fresh_py="def test_it():\n    import fresh\n")
    task_folder(tmp_path / "docs", notes_md="no tests here")
    found = {each.id: each for each in read_folder(tmp_path, "mine").tasks}
    assert set(found) == {"adding", "fresh"}
    adding = found["adding"]
    assert set(adding.files) == {"calc.py"}
    assert set(adding.graders) == {"tests/test_calc.py", "tests/conftest.py"}
    assert adding.reference["calc.py"].endswith("a + b\n")
    assert (adding.kind, adding.split, adding.smoke, adding.wall_s) == ("fix", "dev", True, 30.0)
    assert (adding.title, adding.instruction) == ("Adding", "Mend add.")
    assert found["fresh"].kind == "code"
    assert "test_fresh.py" in found["fresh"].files  # nothing else says what is asked


def test_a_link_in_place_of_a_task_is_left_out(tmp_path: Path) -> None:
    task_folder(tmp_path / "private", test_mine_py="def test_x(): ...\n", diary_md="mine alone")
    task_folder(tmp_path / "bench" / "one", test_one_py="def test_it(): ...\n")
    (tmp_path / "bench" / "two").symlink_to(tmp_path / "private")
    (tmp_path / "bench" / "all").symlink_to("/")
    (tmp_path / "bench" / "one" / "more").symlink_to(tmp_path / "private")
    (tmp_path / "bench" / "one" / "task.toml").symlink_to(tmp_path / "private" / "diary.md")
    (task,) = read_folder(tmp_path / "bench", "mine").tasks
    assert (task.id, set(task.graders)) == ("one", {"test_one.py"})
    assert "mine alone" not in repr(task)


def test_a_flat_folder_has_a_task_for_each_test_file(tmp_path: Path) -> None:
    task_folder(tmp_path, calc_py="", test_calc_py=TEST, test_more_py=TEST, conftest_py="")
    found = {each.id: each for each in read_folder(tmp_path, "flat").tasks}
    assert set(found) == {"calc", "more"}
    assert set(found["calc"].graders) == {"test_calc.py", "conftest.py"}
    assert set(found["calc"].files) == {"calc.py", "test_calc.py", "conftest.py"}  # nothing else says what is asked
    (tmp_path / "README.md").write_text("Make it add.")
    told = {each.id: each for each in read_folder(tmp_path, "flat").tasks}
    assert set(told["calc"].files) == {"calc.py"}
    assert told["calc"].instruction == "Make it add."


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("kind = 'odd'", "kind is"),
        ("split = 'test'", "split is"),
        ("wall_s = -1", "wall_s is"),
        ("x = 1", "'x'"),
        ("[", "TOML"),
    ],
)
def test_a_bad_task_file_is_refused_by_its_path(tmp_path: Path, toml: str, said: str) -> None:
    task_folder(tmp_path / "one", test_x_py=TEST, task_toml=toml)
    with pytest.raises(UsageError) as error:
        read_folder(tmp_path, "mine")
    assert said in str(error.value)
    assert "task.toml" in str(error.value)


def test_a_test_that_is_no_python_is_refused_with_its_line(tmp_path: Path) -> None:
    task_folder(tmp_path / "one", test_x_py="def test_x():\n    assert (\n")
    with pytest.raises(UsageError, match=r"one/test_x\.py:\d+"):
        read_folder(tmp_path, "mine")


@pytest.mark.parametrize(
    "content", ["\ufeffdef test_a(): pass\n".encode(), b"# coding: latin-1\ndef test_a(): assert '\xe9'\n"]
)
def test_a_test_is_python_however_it_says_that_it_is_encoded(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "test_a.py").write_bytes(content)
    (task,) = read_folder(tmp_path, "p").tasks
    assert task.graders["test_a.py"].encode("utf-8", "surrogateescape") == content


def test_folders_nested_deeper_than_python_recurses_are_read(tmp_path: Path) -> None:
    (tmp_path / "task").mkdir()
    with deeply_nested(tmp_path / "task"):
        (task,) = read_folder(tmp_path, "p").tasks
    assert [Path(path).name for path in task.graders] == ["test_deep.py"]


@pytest.mark.parametrize("at", [12, 40, 200, -4])
def test_a_packed_file_with_a_wrong_byte_is_refused(tmp_path: Path, at: int) -> None:
    packed = bytearray(gzip.compress(random.Random(1).randbytes(600).hex().encode()))
    packed[at] ^= 0xFF
    (tmp_path / "a.jsonl.gz").write_bytes(packed)
    with pytest.raises(UsageError, match=r"cannot be unpacked|is not JSON"):
        read_lines(tmp_path / "a.jsonl.gz", "p")


def test_a_folder_without_tests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no pytest tests"):
        read_folder(tmp_path, "mine")
    with pytest.raises(NotFound):
        read_folder(tmp_path / "none", "mine")


# -- commands ----------------------------------------------------------------------------------------------------------


def test_a_command_is_one_task_and_the_files_it_names_are_graders(tmp_path: Path) -> None:
    task_folder(tmp_path, score_py="print(1.0)", main_py="", README_md="Make it fast.")
    task = read_command("python score.py --fast", tmp_path, "speed").tasks[0]
    assert task.spec == {"command": ["python", "score.py", "--fast"]}
    assert (set(task.graders), set(task.files), task.instruction) == ({"score.py"}, {"main.py"}, "Make it fast.")
    for bad in ("", "'"):
        with pytest.raises(UsageError):
            read_command(bad, None, "x")


# -- logs of Inspect ---------------------------------------------------------------------------------------------------


def sample(id_: object, value: object = "C", epoch: int = 1, **more: object) -> dict[str, object]:
    scores = {"match": {"value": value, "explanation": "because"}}
    usage = {"openai/gpt": {"total_tokens": 120, "input_tokens": 100, "output_tokens": 20, "total_cost": 0.25}}
    return {
        "id": id_,
        "epoch": epoch,
        "input": "?",
        "target": "!",
        "scores": scores,
        "model_usage": usage,
        "total_time": 1.5,
        **more,
    }


HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "arith", "model": "openai/gpt", "created": "2026-01-02T03:04:05+00:00", "dataset": {"name": "d"}},
}


def as_json(path: Path, samples: list[dict[str, object]]) -> Path:
    path = path / "log.json"
    path.write_text(json.dumps({**HEADER, "samples": samples}))
    return path


def as_eval(path: Path, samples: list[dict[str, object]]) -> Path:
    path = path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as held:
        held.writestr("_journal/start.json", json.dumps(HEADER))
        held.writestr("header.json", json.dumps(HEADER))
        held.writestr("summaries.json", "[]")
        for each in samples:
            held.writestr(f"samples/{each['id']}_epoch_{each['epoch']}.json", json.dumps(each))
    return path


def as_packed(path: Path, samples: list[dict[str, object]]) -> Path:
    """As Inspect writes it today: each member packed with zstandard, as method 93."""
    zstandard = pytest.importorskip("zstandard")
    path = path / "packed.eval"
    texts = {"header.json": json.dumps(HEADER)}
    texts |= {f"samples/{each['id']}_epoch_{each['epoch']}.json": json.dumps(each) for each in samples}
    with zipfile.ZipFile(path, "w") as held:
        for name, text in texts.items():
            held.writestr(name, zstandard.ZstdCompressor().compress(text.encode()))
        for each in held.filelist:
            plain = texts[each.filename].encode()
            each.compress_type, each.file_size, each.CRC = 93, len(plain), zlib.crc32(plain)
    return path


def test_a_packed_log_says_what_is_missing_or_that_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = as_packed(tmp_path, [sample("a", input="b" * 99_999)])
    whole = path.read_bytes()
    at = whole.index(b"header.json") + len("header.json")
    (tmp_path / "flipped.eval").write_bytes(whole[: at + 30] + b"\xff" * 30 + whole[at + 60 :])
    with pytest.raises(UsageError):
        read_log(tmp_path / "flipped.eval")
    monkeypatch.setattr(inspectlog, "_MOST_MEMBER_BYTES", 9_999)
    with pytest.raises(UsageError, match=r"samples/a_epoch_1\.json is larger than 9,999 bytes"):
        read_log(path)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(UsageError, match=r"\[zstd\].*inspect log convert"):
        read_log(path)


@pytest.mark.parametrize("write", [as_json, as_eval, as_packed])
def test_a_log_of_inspect_becomes_evaluations(
    tmp_path: Path, write: Callable[[Path, list[dict[str, object]]], Path]
) -> None:
    samples = [
        sample(1),
        sample(1, "I", epoch=2),
        sample("two", 0.5),
        sample("err", error={"message": "Connection error.", "traceback": ""}),
        sample("nan", float("nan")),
        sample("cut", "I", limit={"type": "token", "limit": 5}),
    ]
    found = read_log(write(tmp_path, samples))
    by_key = {(each.task, each.seed): each for each in found.evaluations}
    assert (found.task, found.model, found.status) == ("arith", "openai/gpt", "success")
    results = {key: (each.result, each.score) for key, each in by_key.items()}
    assert results == {
        ("1", 1): ("passed", 1.0),
        ("1", 2): ("failed", 0.0),
        ("two", 1): ("partly", 0.5),
        ("err", 1): ("unmeasured", 0.0),
        ("nan", 1): ("unmeasured", 0.0),
        ("cut", 1): ("failed", 0.0),
    }
    assert by_key["err", 1].kind == "network"
    assert by_key["cut", 1].killed == "token"
    assert (by_key["1", 1].tokens, by_key["1", 1].cost_usd, by_key["1", 1].wall_s) == (120, 0.25, 1.5)
    assert by_key["1", 2].reason == "because"


def test_a_sample_with_an_error_counts_where_the_run_scored_errors(tmp_path: Path) -> None:
    broken = {"message": "Connection error.", "traceback": ""}
    samples = [sample("a", error=broken), sample("b", "I", error=broken), sample("c", error=broken, scores=None)]
    path = tmp_path / "log.json"
    for on_error, wanted in ((True, ["passed", "failed", "unmeasured"]), (False, ["unmeasured"] * 3)):
        header = {
            **HEADER,
            "eval": {**cast("dict[str, object]", HEADER["eval"]), "config": {"score_on_error": on_error}},
        }
        path.write_text(json.dumps({**header, "samples": samples}))
        assert [each.result for each in read_log(path).evaluations] == wanted


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"samples": []}, "holds no samples"),
        ({"samples": [sample("a"), sample("b", 7)]}, "sample 2: the score 7"),
        ({"samples": [sample("a", "excellent")]}, "sample 1: the score 'excellent'"),
        ({"samples": [sample("a", {"x": 1})]}, "no single value"),
        ({"samples": [sample("a"), sample("a")]}, "twice"),
        ({"samples": [{"epoch": 1}]}, "sample 1 has no id"),
        ({"samples": [sample("a", epoch="x")]}, "epoch is"),  # type: ignore[arg-type]
        ({"samples": [sample("a", epoch=10**30)]}, "epoch is"),
        ({"samples": [sample("a", epoch=-1)]}, "epoch is"),
        ({"samples": [sample("a\0b")]}, "id is 'a\\x00b'"),
        ({"samples": [sample("\ud800")]}, "id is"),
        ({"samples": [3]}, "sample 1 is no JSON object"),
        ({"eval": {}}, "no eval.task"),
    ],
)
def test_a_bad_log_is_refused_naming_the_sample(tmp_path: Path, change: dict[str, object], said: str) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**HEADER, "samples": [sample("a")], **change}))
    with pytest.raises(UsageError) as error:
        read_log(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_one_of_several_scorers_can_be_chosen(tmp_path: Path) -> None:
    both = sample("a", "I")
    both["scores"] = {"first": {"value": "I"}, "second": {"value": True}}
    path = as_json(tmp_path, [both])
    assert read_log(path).evaluations[0].score == 0
    assert read_log(path, scorer="second").evaluations[0].score == 1
    with pytest.raises(UsageError, match="first, second"):
        read_log(path, scorer="third")


def test_a_log_that_unpacks_without_end_is_refused_and_never_held_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspectlog, "_MOST_LOG_BYTES", 3_000_000)
    path = as_eval(tmp_path, [sample(n, input="a" * 1_000_000) for n in range(9)])
    assert path.stat().st_size < 50_000
    with pytest.raises(UsageError, match="unpacks to more than 3,000,000 bytes"):
        read_log(path)
    monkeypatch.setattr(inspectlog, "_MOST_MEMBER_BYTES", 999_999)
    with pytest.raises(UsageError, match=r"samples/0_epoch_1\.json is larger than 999,999 bytes"):
        read_log(path)


def test_a_log_with_a_password_is_refused(tmp_path: Path) -> None:
    whole = bytearray(as_eval(tmp_path, [sample("a")]).read_bytes())
    for mark, flags in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        for found in re.finditer(re.escape(mark), bytes(whole)):
            whole[found.start() + flags] |= 1  # this member is encrypted
    (tmp_path / "locked.eval").write_bytes(whole)
    with pytest.raises(UsageError, match="unpacked"):
        read_log(tmp_path / "locked.eval")


def test_a_torn_zip_is_refused(tmp_path: Path) -> None:
    whole = as_eval(tmp_path, [sample("a")]).read_bytes()
    at = whole.index(b"header.json") + 20
    (tmp_path / "torn.eval").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "flipped.eval").write_bytes(whole[:at] + b"\xff" * 60 + whole[at + 60 :])
    for name in ("torn.eval", "flipped.eval"):
        with pytest.raises(UsageError):
            read_log(tmp_path / name)


# -- the shelf ---------------------------------------------------------------------------------------------------------


TASKS = (BenchTask(id="a", kind="code", split="dev", instruction="do", scorer="pytest", files={"x": "\udcff"}),)


def test_a_benchmark_comes_back_as_it_was_frozen(tmp_path: Path) -> None:
    shelf = BenchShelf(tmp_path)
    made = Benchmark(name="mine", title="Mine", tasks=TASKS)
    assert shelf.keep(made) is True
    assert shelf.keep(made) is False
    assert shelf.get("mine") == made
    assert shelf.get("mine").hash == made.hash
    assert shelf.names()[-1] == "mine"
    assert "core" in shelf.names()


def test_a_name_stands_for_one_benchmark_for_ever(tmp_path: Path) -> None:
    shelf = BenchShelf(tmp_path)
    shelf.keep(Benchmark(name="mine", title="Mine", tasks=TASKS))
    other = Benchmark(name="mine", title="Mine", tasks=(replace(TASKS[0], instruction="undo"),))
    with pytest.raises(Conflict):
        shelf.keep(other)
    with pytest.raises(Conflict, match="shipped"):
        shelf.keep(replace(other, name="core"))
    for bad in ("", "../x", "A B", "x" * 99):
        with pytest.raises(UsageError):
            shelf.keep(replace(other, name=bad))


def test_a_benchmark_that_was_edited_is_not_used(tmp_path: Path) -> None:
    shelf = BenchShelf(tmp_path)
    shelf.keep(Benchmark(name="mine", title="Mine", tasks=TASKS))
    path = shelf.place("mine")
    path.chmod(0o600)
    path.write_text(path.read_text().replace('"instruction": "do"', '"instruction": "do less"'))
    with pytest.raises(Conflict, match="changed since it was frozen"):
        shelf.get("mine")
    path.write_text("{")
    with pytest.raises(StoreError):
        shelf.get("mine")
    with pytest.raises(NotFound, match="core"):
        shelf.get("none")
