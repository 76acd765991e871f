"""Grouping: other parameters, same group; other causes, other groups; a merge can be undone for good."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.failures.grouping import Grouper, group
from ratchet.failures.signature import template_of
from ratchet.records import Row

# Per block one message with other parameters. Written for these tests after the styles of many programs.
SAME = """
429 Too Many Requests: retry in 2s
429 Too Many Requests: retry in 30s

prompt is too long: 203,456 tokens > 200,000 maximum
prompt is too long: 1200345 tokens > 1000000 maximum

cat: /home/alice/x.txt: No such file or directory
cat: ../notes.md: No such file or directory

ModuleNotFoundError: No module named 'requests'
ModuleNotFoundError: No module named 'yaml'

fatal: The current branch feature-x has no upstream branch.
fatal: The current branch main has no upstream branch.
fatal: The current branch fix/login-2 has no upstream branch.

Connection to 10.0.0.5 port 5432 refused
Connection to db-1.internal.example.com port 5432 refused

job 7 (nightly) moved from queue low to queue high by alice@example.com
job 12 (nightly) moved from queue batch to queue low by bob@example.org

accepted key for alice from 10.1.2.3 port 22
accepted key for bob from ::1 port 4222
accepted key for carol9 from 10.1.2.4 port 99

lease granted: host=db1 ttl=30s owner=alice renewable=true tags=[]
lease granted: host=web ttl=5s owner=svc-2 renewable=false tags=[3]

client www.example.com:443 closed, 451 bytes sent, lifetime <1 sec
client 10.0.0.1:80 closed, 0 bytes sent, lifetime 00:17

deleted blocks blk_-12 blk_77 blk_9
deleted blocks blk_5

event received: com.acme.mail.action.SYNC_DONE
event received: com.acme.mail.action.SYNC_LATE

fan speeds ( 3552 3534 **** 4245 )
fan speeds ( 3552 **** 3375 4245 3515 )

drain of node-[40-63] finished after 3 attempts
drain of node-D[0-3] finished after 1 attempt
"""
# Per block messages of different causes.
DIFFERENT = """
Connection refused
Connection reset by peer

error TS2345: bad argument
error TS2304: bad argument

ENOENT: no such file or directory, open '/a'
EACCES: permission denied, open '/a'

java.lang.NullPointerException: null
java.lang.IllegalStateException: null

{"type":"error","error":{"type":"overloaded_error"}}
{"type":"error","error":{"type":"rate_limit_error"}}

session opened for user root
session closed for user root

state=LEADING my id = 3
state=FOLLOWING my id = 3

command failed: lint
command failed: build

status=failed reason=timeout job=4
status=failed reason=oom job=4

timed out waiting for lock
timed out waiting for response

Instance spawned successfully.
Instance destroyed successfully.
"""


def blocks(text: str) -> list[list[str]]:
    return [block.split("\n") for block in text.strip().split("\n\n")]


@pytest.mark.parametrize("texts", blocks(SAME), ids=lambda texts: texts[0][:30])
def test_messages_that_differ_in_parameters_are_one_group(texts: list[str]) -> None:
    assert len(set(group(texts))) == 1


@pytest.mark.parametrize("texts", blocks(DIFFERENT), ids=lambda texts: texts[0][:30])
def test_messages_that_differ_in_the_cause_are_different_groups(texts: list[str]) -> None:
    assert len(set(group(texts))) == len(texts)


def test_a_heading_that_a_later_command_printed_is_no_part_of_the_cause() -> None:
    said = ["(eval):1: permission denied:", "(eval):1: permission denied:\n\n=== COMMIT 1: df4989c (more logging) ==="]
    assert len(set(group(said))) == 1
    headed = ["=== COMMIT 1: df4989c ===\npermission denied", "=== COMMIT 1: df4989c ===\nno such branch"]
    assert len(set(group(headed))) == 2, "above an error it is what tells two apart, as is the error"


def test_all_of_them_together_fall_into_the_same_groups() -> None:
    texts = [text for block in blocks(SAME) for text in block]
    wanted = [i for i, block in enumerate(blocks(SAME)) for _ in block]
    assert len(set(zip(group(texts), wanted, strict=True))) == len(set(wanted)) == len(set(group(texts)))


@given(st.randoms(use_true_random=False))
def test_the_order_of_texts_does_not_change_their_ids(chance: random.Random) -> None:
    texts = [text for block in blocks(SAME + DIFFERENT) for text in block]
    texts += [f"shard {word} lost its primary copy" for word in ("amber", "birch", "cedar", "delta", "ember", "flint")]
    expected = dict(zip(texts, group(texts), strict=True))
    chance.shuffle(texts)
    assert dict(zip(texts, group(texts), strict=True)) == expected


@given(st.lists(st.text(max_size=60), max_size=20))
def test_any_texts_get_one_id_each_and_equal_texts_the_same(texts: list[str]) -> None:
    ids = group(texts + texts)
    assert len(ids) == 2 * len(texts)
    assert ids[: len(texts)] == ids[len(texts) :]


WORDS = ("amber", "birch", "cedar", "delta", "ember", "flint")


def message(word: str) -> str:
    return f"shard {word} lost its primary copy"


def test_a_slot_that_took_many_words_is_a_parameter() -> None:
    few, many = [message(word) for word in WORDS[:3]], [message(word) for word in WORDS]
    assert len(set(group(few))) == 3
    assert len(set(group(many))) == 1


def test_what_fills_brackets_is_a_parameter_once_it_took_many_forms() -> None:
    commands = [
        "run-parts /etc/daily",
        "/usr/bin/stat 1 1",
        "echo hello > log",
        "python make report",
        "sync clocks",
        "true",
    ]
    texts = [f"(root) CMD ({command})" for command in [*commands, "find . -name x -delete"]]
    assert len(set(group(texts))) == 1
    assert len(set(group(texts[:3]))) == 3


def test_a_merge_by_evidence_names_the_groups_that_it_took_in() -> None:
    grouper = Grouper()
    first = grouper.add(message(WORDS[0]))
    assert first.is_new
    others = [grouper.add(message(word)).group for word in WORDS[1:5]]
    merging = grouper.add(message(WORDS[5]))
    assert not merging.is_new
    assert merging.group == first.group
    assert set(merging.merged) == set(others)
    assert {grouper.find(other) for other in others} == {first.group}
    after = grouper.add(message("gamma"))
    assert (after.group, after.is_new, after.merged) == (first.group, False, ())


def test_a_template_met_again_changes_nothing() -> None:
    grouper = Grouper()
    first = grouper.add("connection refused by <host>")
    again = grouper.add("connection refused by <host>")
    assert (again.group, again.is_new, again.merged) == (first.group, False, ())
    assert len(list(grouper.rows())) == 1


def test_scopes_never_share_a_group() -> None:
    grouper = Grouper()
    assert grouper.add("it failed <num>", "network").group != grouper.add("it failed <num>", "timeout").group


def test_groups_survive_a_store() -> None:
    live = Grouper()
    for word in WORDS:
        live.add(message(word), "kind")
    restored = Grouper(live.rows())
    assert list(restored.rows()) == list(live.rows())
    assert restored.add(message("gamma"), "kind").group == live.add(message("gamma"), "kind").group
    assert not restored.add(message("theta"), "kind").is_new


def test_evidence_survives_a_store() -> None:
    live = Grouper()
    first = live.add(message(WORDS[0]))
    for word in WORDS[1:5]:
        live.add(message(word))
    merging = Grouper(live.rows()).add(message(WORDS[5]))
    assert merging.group == first.group
    assert len(merging.merged) == 4


def test_restoring_merges_nothing_by_itself() -> None:
    rows: list[Row] = [{"template": message(word), "scope": "", "group": f"g{word}"} for word in WORDS]
    assert len({row["group"] for row in Grouper(rows).rows()}) == len(WORDS)


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "through a store"])
def test_what_was_split_is_never_merged_again(stored: bool) -> None:
    grouper = Grouper()
    merged = [grouper.add(message(word)).group for word in WORDS][-1]
    changed = grouper.split(merged)
    assert len({row["group"] for row in changed}) == len(WORDS)
    if stored:
        grouper = Grouper(list(grouper.rows()))
    kept = {row["template"]: row["group"] for row in changed}
    assert grouper.add(message("gamma")).is_new
    assert {row["template"]: row["group"] for row in grouper.rows() if row["template"] in kept} == kept


@pytest.mark.parametrize("stored", [False, True], ids=["in memory", "through a store"])
def test_templates_of_one_key_can_be_split_too(stored: bool) -> None:
    grouper = Grouper()
    one, other = grouper.add("took <num> from user bob"), grouper.add("took <hex> from user ann")
    assert one.group == other.group
    changed = grouper.split(one.group)
    if stored:
        grouper = Grouper(list(grouper.rows()))
    assert len({row["group"] for row in changed}) == 2
    assert grouper.add("took <id> from user eve").is_new


def test_splitting_a_group_nobody_knows_changes_nothing() -> None:
    grouper = Grouper()
    grouper.add("connection refused")
    assert grouper.split("p0") == []


def test_memory_is_bounded_and_the_newest_is_kept() -> None:
    grouper = Grouper(capacity=100)
    for i in range(1_000):
        grouper.add(f"part {chr(97 + i % 26)}{i} of the machine broke in an unforeseen way number{i * 7}")
    rows = list(grouper.rows())
    assert len(rows) <= 100
    assert "number6993" in str(rows[-1]["template"])


def test_an_exception_is_no_parameter_however_many_there_are() -> None:
    names = ["KeyError", "ValueError", "TypeError", "OSError", "IndexError", "NameError", "EOFError", "IOError"]
    assert len(set(group([f"{name} raised while the plan was read" for name in names]))) == len(names)


def test_frames_of_tracebacks_are_no_parameters() -> None:
    def raised(function: str) -> str:
        return f"Traceback (most recent call last):\n  File \"/a/b.py\", line 3, in {function}\n    x()\nKeyError: 'id'"

    names = ("alpha", "beta", "gamma", "delta", "omega", "sigma")
    assert len(set(group([raised(name) for name in names]))) == len(names)


def test_grouping_public_logs_is_exact_for_nine_messages_in_ten(shared: Path) -> None:
    """The full figures, with a baseline beside them, come from benchmarks/grouping.py."""
    import csv

    with (shared / "data/loghub/BGL_2k.log_structured_corrected.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    members: dict[str, set[int]] = {}
    true: dict[str, set[int]] = {}
    for i, (found, row) in enumerate(zip(group([row["Content"] for row in rows]), rows, strict=True)):
        members.setdefault(found, set()).add(i)
        true.setdefault(row["EventId"], set()).add(i)
    exact = [messages for messages in members.values() if messages in true.values()]
    assert sum(map(len, exact)) >= 0.9 * len(rows)


def test_a_group_takes_its_templates_from_the_texts_alone() -> None:
    text = "lost connection to node 7 after 3 retries"
    assert template_of(text) == "lost connection to node <num> after <num> retries"
    assert group([text]) == group([text.replace("7", "9")])
