"""`ratchet gate` on tables that people have: what is answered, by which exit code, and what is said of bad input."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from ratchet.cli.app import cli

Asked = Callable[..., Result]


@pytest.fixture
def asked() -> Asked:
    """The command as `python -m ratchet` would run it, faults included."""

    def ask(*words: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(cli, ["gate", *words], input=stdin)

    return ask


def rows(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_an_answer_is_a_sentence_and_an_exit_code(asked: Asked, tmp_path: Path) -> None:
    chance = Random(1)
    lines = ["version\tscore"]
    lines += [f"base\t{chance.gauss(0.5, 0.01)}" for _ in range(5)]
    file = rows(tmp_path / "runs.tsv", "\n".join([*lines, "new\t0.51"]))
    again = asked("keep", file)
    assert again.exit_code == 11
    assert again.output.startswith("again new: ")
    assert "Next: run new again, add the row and ask again; " in again.output
    assert "too early to say" in again.output or "more run" in again.output
    better = rows(tmp_path / "better.tsv", "\n".join([*lines, *[f"new\t{chance.gauss(0.6, 0.01)}" for _ in range(5)]]))
    assert asked("keep", better).exit_code == 0
    worse = rows(tmp_path / "worse.tsv", "\n".join([*lines, *[f"new\t{chance.gauss(0.4, 0.01)}" for _ in range(5)]]))
    assert asked("keep", worse).exit_code == 10


@pytest.mark.parametrize(
    "text",
    [
        "version\tscore\na\t1\na\t2\nb\t1.5\n",
        "version,score\na,1\na,2\nb,1.5\n",
        '\ufeffversion,score\r\n"a",1\r\n"a",2\r\n"b",1.5\r\n',
        '{"version": "a", "score": 1}\n{"version": "a", "score": 2}\n\n{"version": "b", "score": 1.5}\n',
        "\n\nversion\tscore\tnote\na\t1\tx\na\t2\nb\t1.5\ty\textra\n",
    ],
    ids=["tsv", "csv", "excel", "jsonl", "ragged"],
)
def test_every_spelling_of_a_table_gives_the_same_answer(asked: Asked, text: str) -> None:
    found = json.loads(asked("keep", "-", "--json", stdin=text).output)
    assert (found["version"], found["incumbent"], found["runs"], found["incumbent_runs"]) == ("b", "a", 1, 2)
    assert found["gain"] == 0


def test_rows_of_several_tasks_are_counted_in_rounds(asked: Asked) -> None:
    runs = [f"{name}\t{task}\t{len(name) / 10}\n" for name in ("a", "new") for task in "xyz"]
    table = "version\ttask\tscore\n" + "".join(runs)
    assert "(1 round of 3 tasks beside 1" in asked("keep", "-", stdin=table).output
    assert json.loads(asked("keep", "-", "--json", stdin=table).output)["tasks"] == 3
    assert "; it is kept at 1 of " in asked("keep", "-", stdin=table).output


def test_an_autoresearch_log_is_read_by_its_own_columns_and_crashes_are_no_scores(asked: Asked) -> None:
    log = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
    log += (
        "a1\t0.9979\t44\tkeep\tbaseline\na1\t0.9981\t44\tkeep\tagain\nb2\t\t0\tcrash\tOOM\nc3\t0.9932\t44\tkeep\tlr\n"
    )
    found = asked("keep", "-", "--by", "commit", "--score", "val_bpb", "--lower", stdin=log)
    assert found.exit_code == 11
    assert "it gains +0.0048 over a1" in found.output
    assert "Without a score: 1 of 1 run of b2; " in found.output


def test_a_crash_that_is_logged_with_the_best_of_scores_is_none(asked: Asked) -> None:
    log = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
    log += "a1\t0.9979\t44\tkeep\tbaseline\na1\t0.9981\t44\tkeep\tagain\nd4\t0.000000\t0.0\tcrash\tOOM\n"
    log += "b2\t0.9932\t44\tkeep\tlr\nd4\t0.000000\t0.0\tcrash\tOOM\n"
    options = ("--score", "val_bpb", "--lower")

    def gains(*words: str, text: str) -> dict[str, tuple[bool, int]]:
        shown = json.loads(asked("status", "-", *options, *words, "--json", stdin=text).output)
        return {each["version"]: (each["gain"] is not None, each["failed"]) for each in shown}

    assert gains(text=log) == {"d4": (False, 2), "b2": (True, 0)}
    asked_about = asked("keep", "-", *options, stdin=log)
    assert asked_about.exit_code == 11
    assert "again d4: no run of d4 has a score yet" in asked_about.output
    other = log.replace("status", "state").replace("crash", "died")
    assert gains(text=other)["d4"] == (True, 0)
    assert gains("--crashed", "state=died", text=other) == gains(text=log)


@pytest.mark.parametrize("good_at", [0, 1, 20, 45])
def test_a_version_that_crashes_is_not_kept_for_its_one_good_run(asked: Asked, good_at: int) -> None:
    chance = Random(1)
    text = "version\tscore\n" + "".join(f"base\t{chance.gauss(0.5, 0.01)}\n" for _ in range(16))
    text += "".join(f"b\t{'0.9' if n == good_at else 'crash'}\n" for n in range(46))
    found = asked("keep", "-", stdin=text)
    assert found.exit_code == 10
    assert "is proven worse" in found.output
    assert " runs of b; a version whose runs fail more often" in found.output
    assert "; base stands." in asked("status", "-", stdin=text).output


def test_the_first_version_stands_though_its_first_run_crashed(asked: Asked) -> None:
    text = "version\tscore\na\tcrash\nb\t.5\nb\t.5\na\t.9\na\t.91\nb\t.51\n"
    found = asked("status", "-", stdin=text).output
    assert "; a stands." in found
    assert "Without a score: 1 of 3 runs of a; " in found
    named = asked("keep", "-", "--incumbent", "b", stdin="version\tscore\na\tcrash\nb\t.5\n")
    assert named.exit_code == 11


def test_a_crash_among_passes_is_the_worst_score_there_is(asked: Asked) -> None:
    text = "version\tscore\na\t1\na\t0\na\t1\nb\tcrash\nb\t1\nb\tcrash\n"
    assert "2 of 3 runs of b; counted as 0, the worst there is." in asked("status", "-", stdin=text).output
    of = [json.loads(asked("keep", "-", "--json", stdin=each).output) for each in (text, text.replace("crash", "0"))]
    assert of[0].pop("failed") == 2
    assert of[1].pop("failed") == 0
    assert of[0] == of[1]


def test_a_crash_of_all_tasks_is_the_worst_score_of_each(asked: Asked) -> None:
    text = "version,task,score\n" + "".join(f"{who},{task},1\n" for who in "ab" for task in "xyz")
    crashed = json.loads(asked("keep", "-", "--json", stdin=f"{text}a,x,1\na,y,1\na,z,1\nb,,crash\n").output)
    assert (crashed["runs"], crashed["failed"]) == (2, 1)
    assert crashed["gain"] == pytest.approx(-0.5)


def test_text_that_is_no_utf_8_says_what_to_do(asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "runs.tsv").write_text("version\tscore\na\t1\n", encoding="utf-16")
    assert "save it as UTF-8" in str(asked("keep", str(tmp_path / "runs.tsv")).exception)
    (tmp_path / "runs.tsv").write_text("version\tscore\na\t1\n", encoding="utf-16-le")
    assert "save it as UTF-8" in str(asked("keep", str(tmp_path / "runs.tsv")).exception)


def test_what_has_no_end_is_no_table(asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in ("/dev/zero", str(tmp_path / "pipe"), str(tmp_path)):
        assert "is no regular file" in str(asked("keep", file).exception), file
    monkeypatch.setattr("ratchet.cli.gate._MOST_BYTES", 1024**2)
    said = "version\tscore\n" + "a\t1\n" * 300_000
    for answer in (asked("keep", "-", stdin=said), asked("keep", rows(tmp_path / "runs.tsv", said))):
        assert "is larger than 1 MB" in str(answer.exception)


def test_quotes_within_a_field_and_over_lines_are_read(asked: Asked) -> None:
    text = 'version\tscore\tnote\na\t1\t"quoted" start\na\t2\t"two\nlines"\nb\t3\tsay "y"\n'
    found = json.loads(asked("keep", "-", "--json", stdin=text).output)
    assert (found["runs"], found["incumbent_runs"]) == (1, 2)


def test_rows_after_a_decision_are_counted_and_said(asked: Asked) -> None:
    chance = Random(1)
    text = "version\tscore\n" + "".join(f"base\t{chance.gauss(0.5, 0.01)}\n" for _ in range(5))
    text += "".join(f"worse\t{chance.gauss(0.4, 0.01)}\n" for _ in range(5))
    decided = asked("status", "-", stdin=text).output
    late = asked("status", "-", stdin=f"{text}worse\t0.9\nworse\t0.9\n").output
    assert "worse (" in decided  # it was told early, and ran on
    assert "changed nothing: worse (" in late
    counts = [
        json.loads(asked("keep", "-", "--json", stdin=each).output)["ignored"] for each in (text, text + "worse\t0.9\n")
    ]
    assert counts[1] == counts[0] + 1
    better = text + "".join(f"better\t{chance.gauss(0.6, 0.01)}\n" for _ in range(5))
    assert "better (" not in asked("status", "-", stdin=better).output  # what stands is run for what comes


def test_rows_after_a_version_was_kept_are_said_as_those_after_a_discard(asked: Asked) -> None:
    chance = Random(1)
    text = "version\tscore\n" + "".join(f"base\t{chance.gauss(0.5, 0.01)}\n" for _ in range(5))
    early = text + "".join(f"new\t{chance.gauss(0.6, 0.01)}\n" for _ in range(5))
    said = asked("keep", "-", "new", stdin=f"{early}new\t0.6\nnew\t0.61\n").output
    kept = json.loads(asked("keep", "-", "new", "--json", stdin=early).output)
    assert kept["decision"] == "keep"
    assert f"{5 + 2 - kept['runs']} rows of new came after it was kept and changed nothing of that" in said


def test_the_plan_that_an_answer_names_is_a_command_that_works(asked: Asked, tmp_path: Path) -> None:
    text = "run,points,seconds\n" + "a b,1,3\na b,2,4\nnew,2,3\n"
    file = rows(tmp_path / "my runs.csv", text)
    options = ("--by", "run", "--score", "points", "--guard", "seconds:lower", "--lower")
    said = asked("keep", file, *options).output
    command = said.replace("\n", " ").partition("`ratchet gate ")[2].partition("`")[0]
    assert command, said
    assert asked(*shlex.split(command)).exit_code == 0
    unknown = asked("keep", "-", stdin="version,score\na,1\nnew,1\n").output
    assert "gate plan" not in unknown
    assert "it gains nothing over a" in unknown


def test_a_plan_of_a_dear_proof_ends_and_says_that_it_takes_more(asked: Asked) -> None:
    text = "version,task,score\n" + "".join(f"a,t,{n % 3 % 2}\n" for n in range(9)) + "b,t,1\n"
    found = json.loads(asked("plan", "-", "--gain", "0.02", "--json", stdin=text).output)
    assert found["bound"] == 1000
    assert found["cut"] > 0.2
    said = " ".join(asked("plan", "-", "--gain", "0.02", stdin=text).output.split())
    assert f"within 1000 runs of 1 task; {found['cut']:.0%} take more" in said
    assert "costs at least" in said


def test_passes_and_fails_need_no_assumption_about_noise(asked: Asked) -> None:
    text = "version,task,score\n"
    for n in range(6):
        text += "".join(f"old,t{k},{int(k % 4 == n % 4)}\nnew,t{k},1\n" for k in range(20))
    found = json.loads(asked("keep", "-", "--json", stdin=text).output)
    assert (found["decision"], found["noise"]) == ("keep", None)


@pytest.mark.parametrize(
    ("words", "text", "said", "code"),
    [
        (
            ["keep", "-"],
            "commit\tnote\tval\na\t-\t1\n",
            "it has commit, note, val: say which one holds it, as --score val",
            2,
        ),
        (["keep", "-"], "run\tscore\na\t1\n", "it has run, score: say which one holds it, as --by COLUMN", 2),
        (["keep", "-"], "version\tscore\na\tcrash\n", "no run with a number", 2),
        (["keep", "-"], "", "has no header", 2),
        (["keep", "-"], '{"version": "a", "score": 1}\n{oops\n', "line 2: no JSON object", 2),
        (["keep", "-"], "version\tscore\n\t1\n", "line 2: no version", 2),
        (["keep", "-"], "version\tscore\na\t1\n", "run the new version", 2),
        (["keep", "-", "z"], "version\tscore\na\t1\nb\t2\n", "no run of z; it has runs of a, b", 2),
        (["keep", "-", "--incumbent", "z"], "version\tscore\na\t1\nb\t2\n", "no run of z; it has runs of a, b", 2),
        (["status", "-", "--incumbent", "z"], "version\tscore\na\t1\nb\t2\n", "no run of z; it has", 2),
        (["keep", "-", "--noise", "bounded"], "version\tscore\na\t1\nb\t2\n", "line 3: score is 2.0", 2),
        (["keep", "-", "--by", "score"], "version\tscore\na\t1\n", "cannot hold both", 2),
        (["keep", "-", "--fdr", "1"], "version\tscore\na\t1\n", "fdr", 2),
        (["plan", "--gain", "1"], "", "give --sd", 2),
        (["keep", "-"], "version\tscore\na\tcrash\nb\t.5\nb\t.5\n", "no run of it has a score", 2),
        (["keep", "-"], "version\tscore\na\t1_000\nb\t2\n", "line 2: score is '1_000', which is no number", 2),
        (["keep", "-"], "version\tscore\na\t0,5\nb\t2\n", "line 2: score is '0,5', which is no number", 2),
        (["keep", "-"], '{"version": "a", "score": "1_0"}\n', "line 1: score is '1_0'", 2),
        (["keep", "-"], "version\tscore\na\t1e999\n", "line 2: score is beyond any number", 2),
        (["keep", "-"], "version\tscore\tscore\na\t1\t2\n", "2 columns 'score'", 2),
        (["keep", "-"], '{"version": "a", "score": 1, "score": 2}\n', "line 1 has 2 columns 'score'", 2),
        (["keep", "-"], "version\tscore\na\t1\nb\0\t1\n", "line 3: holds a NUL", 2),
        (["keep", "-"], '{"version": "a\\u0000", "score": 1}\n', "which holds what does not print", 2),
        (["keep", "-"], 'version,"score\na,1\nb,2\n', "line 1: opens a quote that nothing closes", 2),
        (["keep", "-"], '\nversion,score,note\na,1,x\na,2,"say\nb,2,z\n', "line 4: opens a quote", 2),
        (["keep", "-"], 'version,score,note\na,1,"x\na,2,y\nb,2,"z"\nb,2,z\n', "line 2: opens a quote", 2),
        (["keep", "-"], '["a", 1]\n["b", 2]\n', 'line 1: no JSON object; each line must be one, such as {"version"', 2),
        (["keep", "-"], "version\tscore\na\t1e308\na\t-1e308\nb\t1\n", "line 2: score is 1e+308", 2),
        (["plan", "-", "--gain", "1"], "version\tscore\na\t1e308\na\t-1e308\n", "line 2: score is 1e+308", 2),
        (["keep", "-"], '{"version": "a", "score": 1}\n{"a": ' + "[" * 100_000 + "\n", "line 2: no JSON object", 2),
        (["keep", "-"], "version\tscore\na\t" + "1" * 200_000 + "\n", "line 2: field larger", 2),
        (["keep", "/nowhere/runs.tsv"], "", "there is no file", 3),
    ],
)
def test_bad_input_says_what_where_and_what_to_do(
    asked: Asked, words: list[str], text: str, said: str, code: int
) -> None:
    from ratchet.errors import NotFound, RatchetError

    found = asked(*words, stdin=text)
    told = found.output + str(found.exception or "")
    assert said in told
    if isinstance(found.exception, RatchetError):
        assert isinstance(found.exception, NotFound) == (code == 3)
    else:
        assert found.exit_code == code


def test_a_plan_tells_the_price_of_a_gain_and_of_none(asked: Asked) -> None:
    found = json.loads(asked("plan", "--gain", "3", "--sd", "1", "--json").output)
    assert found["found"] > 0.9
    assert 2 < found["median"] <= found["most"] < 40
    assert found["idle"] < found["most"] * 3


def test_two_columns_of_one_table_guard_each_other(asked: Asked) -> None:
    chance = Random(2)
    text = "version,score,seconds\n"
    text += "".join(
        f"old,{chance.gauss(0, 1)},{chance.gauss(9, 0.1)}\nnew,{chance.gauss(3, 1)},{chance.gauss(30, 0.1)}\n"
        for _ in range(6)
    )
    found = asked("keep", "-", "--guard", "seconds:lower", stdin=text)
    assert found.exit_code == 10
    assert "seconds is proven worse" in found.output
