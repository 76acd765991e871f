"""Real histories of Claude Code: every result is read once, and what they teach is what a person would say."""

from __future__ import annotations

import json
from pathlib import Path

from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons import lessons
from ratchet.lessons.mined import mine_session
from ratchet.ports import Read
from ratchet.recording.sources.calls import UNRETURNED
from ratchet.recording.sources.claude_code import ClaudeCode
from ratchet.recording.sources.lines import peek
from ratchet.records import Outcome, Quarantined, to_row
from ratchet.runtime import Runtime
from ratchet.testing.stores import open_store
from support.histories import read

SOURCE = ClaudeCode()


def _all(folder: Path) -> tuple[list[Outcome], list[Read], int]:
    outcomes: list[Outcome] = []
    pieces: list[Read] = []
    files = sorted(folder.rglob("*.jsonl"))
    for path in files:
        assert SOURCE.claims(peek(str(path)))
        pieces += list(SOURCE.read(str(path), 0, {}))
    for piece in pieces:
        outcomes += [item for item in piece.items if isinstance(item, Outcome)]
    return outcomes, pieces, len(files)


def test_the_real_histories_give_every_tool_result(shared: Path) -> None:
    outcomes, pieces, files = _all(shared / "data" / "claude-code")
    assert files == 13
    assert len(outcomes) == len({outcome.id for outcome in outcomes}) == 697 + 7
    flagged = [outcome.failure for outcome in outcomes if outcome.failure and outcome.failure.flagged]
    assert len(flagged) == 36 + 3
    assert sum(failure.kind == "cascade" for failure in flagged) == 7 + 2
    assert sum(failure.kind == "user_denied" for failure in flagged) == 3
    assert len({outcome.session for outcome in outcomes}) == 7
    assert all(len(piece.items) < 100 and not piece.note.startswith("0") for piece in pieces)


def test_more_real_histories_give_every_result_and_a_doubled_session_once(shared: Path) -> None:
    outcomes, pieces, files = _all(shared / "data" / "claude-code-more")
    assert files == 97
    answered = [outcome for outcome in outcomes if UNRETURNED not in outcome.context]
    assert len(answered) == 7527
    assert {outcome.id for outcome in outcomes} == {outcome.id for outcome in answered}  # another file has each result
    assert len({outcome.id for outcome in outcomes}) == 7467  # sixty results stand in two files of one session
    assert len({session for piece in pieces for session in piece.sessions}) == 95
    assert not [item for piece in pieces for item in piece.items if isinstance(item, Quarantined)]


def test_the_tokens_of_a_real_session_add_up_to_its_messages(shared: Path) -> None:
    for path in sorted((shared / "data" / "claude-code").rglob("*.jsonl")):
        messages: dict[str, int] = {}
        for line in path.read_bytes().split(b"\n"):
            record = json.loads(line) if line else {}
            inner = record.get("data", {}).get("message", {}) if record.get("type") == "progress" else record
            message = inner.get("message")
            if inner.get("type") == "assistant" and isinstance(message, dict):
                usage = message["usage"]
                names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
                messages[message["id"]] = sum(usage.get(name) or 0 for name in names)
        taught = read(SOURCE, path)
        waiting = taught.carry.get("waiting")
        left = sum(int(str(tokens)) for tokens in waiting.values()) if isinstance(waiting, dict) else 0
        assert sum(outcome.tokens or 0 for outcome in taught.outcomes) + left == sum(messages.values())


def test_real_histories_teach_the_push_and_no_lesson_of_theirs_switches_a_check_off(
    tmp_path: Path, shared: Path
) -> None:
    store = open_store(tmp_path)
    names: set[str] = set()
    for path in sorted((shared / "data").glob("claude-code*/**/*.jsonl")):
        rows = [to_row(outcome) for outcome in read(SOURCE, path).outcomes]
        ingest(store, rows)
        names |= {str(row["session"]) for row in rows if row.get("session")}
    for name in sorted(names):
        mine_session(store, name)
    offered = lessons.listed(store, states=("active", "candidate"))
    assert any(each.state == "active" and "git push --set-upstream origin" in each.text for each in offered)
    assert not [each for each in offered if "--no-verify" in each.text + each.example]
    assert not [each for each in offered if "git add -f" in each.text + each.example]
    assert sum(each.state == "active" for each in offered) >= 10
    assert all(len(each.text) <= 1_000 or each.unsaid for each in offered)  # a table is told a few lines at a time
    store.close()


def test_the_replay_of_real_sessions_is_mostly_right(shared: Path, home: Path) -> None:
    with Runtime.open(home=home) as runtime:
        runtime.learn([shared / "data" / "claude-code-more" / "cli"])
        found = runtime.lessons.backtest()
        assert runtime.lessons.backtest() == found == runtime.lessons.replayed()
    assert found.failures == found.offered + found.silent
    assert found.right >= 16
    assert found.right >= 2.5 * found.wrong
    assert found.wrong <= 0.04 * found.failures
    assert found.saved_before.turns > found.saved.turns >= 0
