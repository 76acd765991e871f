"""`ratchet gate` on tables that people have: what is answered, by which exit code, and what is said of bad input."""

from __future__ import annotations

import json
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
    assert "Next: run new once more." in again.output
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


def test_an_autoresearch_log_is_read_by_its_own_columns_and_crashes_are_no_scores(asked: Asked) -> None:
    log = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
    log += (
        "a1\t0.9979\t44\tkeep\tbaseline\na1\t0.9981\t44\tkeep\tagain\nb2\t\t0\tcrash\tOOM\nc3\t0.9932\t44\tkeep\tlr\n"
    )
    found = asked("keep", "-", "--by", "commit", "--score", "val_bpb", "--lower", stdin=log)
    assert found.exit_code == 11
    assert "it gains +0.0048 over a1" in found.output
    assert "line 4" in found.output


def test_a_crash_that_is_logged_with_the_best_of_scores_is_none(asked: Asked) -> None:
    log = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
    log += "a1\t0.9979\t44\tkeep\tbaseline\na1\t0.9981\t44\tkeep\tagain\nd4\t0.000000\t0.0\tcrash\tOOM\n"
    log += "b2\t0.9932\t44\tkeep\tlr\nd4\t0.000000\t0.0\tcrash\tOOM\n"
    options = ("--score", "val_bpb", "--lower")
    assert [each["version"] for each in json.loads(asked("status", "-", *options, "--json", stdin=log).output)] == [
        "b2"
    ]
    assert asked("keep", "-", *options, stdin=log).exit_code not in (0, 10, 11)
    other = log.replace("status", "state").replace("crash", "died")
    assert len(json.loads(asked("status", "-", *options, "--json", stdin=other).output)) == 2
    named = asked("status", "-", *options, "--crashed", "state=died", "--json", stdin=other)
    assert len(json.loads(named.output)) == 1


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


def test_passes_and_fails_need_no_assumption_about_noise(asked: Asked) -> None:
    text = "version,task,score\n"
    for n in range(6):
        text += "".join(f"old,t{k},{int(k % 4 == n % 4)}\nnew,t{k},1\n" for k in range(20))
    found = json.loads(asked("keep", "-", "--json", stdin=text).output)
    assert (found["decision"], found["noise"]) == ("keep", None)


@pytest.mark.parametrize(
    ("words", "text", "said", "code"),
    [
        (["keep", "-"], "commit\tval\na\t1\n", "has no column 'score'; it has commit, val", 2),
        (["keep", "-"], "version\tscore\na\tcrash\n", "no run with a number", 2),
        (["keep", "-"], "", "has no header", 2),
        (["keep", "-"], '{"version": "a", "score": 1}\n{oops\n', "line 2: no JSON object", 2),
        (["keep", "-"], "version\tscore\n\t1\n", "line 2: no version", 2),
        (["keep", "-"], "version\tscore\na\t1\n", "run the new version", 2),
        (["keep", "-", "z"], "version\tscore\na\t1\nb\t2\n", "no run of z", 2),
        (["keep", "-", "--noise", "bounded"], "version\tscore\na\t1\nb\t2\n", "line 3: score is 2.0", 2),
        (["keep", "-", "--by", "score"], "version\tscore\na\t1\n", "cannot hold both", 2),
        (["keep", "-", "--fdr", "1"], "version\tscore\na\t1\n", "fdr", 2),
        (["plan", "--gain", "1"], "", "give --sd", 2),
        (["keep", "-"], "version\tscore\na\t1\na\t2\nb\t5\nb\tcrash\nc\tcrash\n", "a run of c without a score", 2),
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
