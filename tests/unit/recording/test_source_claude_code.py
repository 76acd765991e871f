"""Claude Code's histories: what each record teaches, and what no odd file may break."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ratchet.recording.sources.claude_code import ClaudeCode
from ratchet.recording.sources.lines import peek
from ratchet.records import Json, Outcome, Row
from ratchet.runtime import Runtime
from support.histories import SESSION, claude, lines, read, result, use

KEY = "toolu_01AbCdEfGhIjKlMnOpQrStUv"
OTHER = "toolu_01ZyXwVuTsRqPoNmLkJiHgFe"
SOURCE = ClaudeCode()


def test_a_flagged_result_is_a_failed_outcome_of_its_tool(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        [
            use(KEY, "Bash", {"command": "git push"}, 1, tokens=120),
            result(KEY, "Exit code 128\nfatal: The current branch x has no upstream branch.", 3.5, is_error=True),
        ],
    )
    found = read(SOURCE, path).only
    assert (found.agent, found.task, found.source, found.session) == ("claude-code", "Bash", "claude-code", SESSION)
    assert (found.ok, found.duration_s, found.tokens, found.model) == (False, 2.5, 120, "claude-opus-4")
    assert found.project == "/home/dev/shop"
    assert found.step is not None
    assert (found.step.head, found.step.input) == ("git push", "git push")
    assert found.failure is not None
    assert found.failure.exit_code == 128
    assert found.failure.flagged
    assert "no upstream branch" in found.failure.message


def test_an_unflagged_failure_is_recognised_by_what_it_says(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        [
            use(KEY, "Bash", {"command": "go test ./... | tail -5"}, 1),
            result(KEY, "--- FAIL: TestCart (0.01s)\nFAIL\nFAIL\tshop/cart\t0.2s", 2, is_error=False),
        ],
    )
    found = read(SOURCE, path).only
    assert not found.ok
    assert found.failure is not None
    assert not found.failure.flagged


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", "cascade"),
        ("The user doesn't want to proceed with this tool use. The tool use was rejected", "user_denied"),
        ("The user doesn't want to take this action right now. STOP", "user_denied"),
        ("[Request interrupted by user for tool use]", "cancelled"),
        ("<tool_use_error>File does not exist.</tool_use_error>", ""),
    ],
)
def test_only_what_the_agents_own_words_say_surely_gets_a_kind(tmp_path: Path, said: str, kind: str) -> None:
    path = lines(tmp_path / "s.jsonl", [use(KEY, "Read", {"file_path": "/x"}, 1), result(KEY, said, 2, is_error=True)])
    failure = read(SOURCE, path).only.failure
    assert failure is not None
    assert failure.kind == kind
    assert "tool_use_error" not in failure.message


def test_the_same_result_in_a_session_a_copy_and_a_progress_line_has_one_id(tmp_path: Path) -> None:
    steps = [use(KEY, "Bash", {"command": "ls"}, 1), result(KEY, "a", 2)]
    whole = lines(tmp_path / "a.jsonl", steps)
    copied = lines(tmp_path / "b.jsonl", [{**step, "sessionId": "another-session"} for step in steps])
    inner: list[Json] = [{"type": "agent_progress", "agentId": "a77", "message": step} for step in steps]
    progress = lines(tmp_path / "c.jsonl", [claude("progress", 3, data=data) for data in inner])
    ids = {read(SOURCE, path).only.id for path in (whole, copied, progress)}
    assert len(ids) == 1
    assert read(SOURCE, progress).only.thread == "a77"


def test_a_subagents_outcomes_bear_the_root_session_and_its_thread(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "agent-a1.jsonl",
        [use(KEY, "Bash", {"command": "ls"}, 1, agentId="a1"), result(KEY, "a", 2, agentId="a1")],
    )
    found = read(SOURCE, path).only
    assert (found.session, found.thread) == (SESSION, "a1")


def test_a_sidechain_of_an_old_file_is_a_thread_of_its_own(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        [
            claude("user", 0, message={"role": "user", "content": "go"}, uuid="root-0001", isSidechain=True),
            use(KEY, "Bash", {"command": "ls"}, 1, uuid="b", parentUuid="root-0001", isSidechain=True),
            use(OTHER, "Bash", {"command": "pwd"}, 1.5, uuid="main"),
            result(KEY, "a", 2, uuid="c", parentUuid="b", isSidechain=True),
            result(OTHER, "/", 3, parentUuid="main"),
        ],
    )
    side_step, main_step = read(SOURCE, path).outcomes
    assert side_step.thread.startswith("sidechain-")
    assert main_step.thread == ""


def test_tokens_count_once_per_message_and_add_up_to_the_session(tmp_path: Path) -> None:
    text: Json = {
        "id": "m0",
        "role": "assistant",
        "content": [{"type": "text", "text": "hm"}],
        "usage": {"input_tokens": 7},
    }
    path = lines(
        tmp_path / "s.jsonl",
        [
            claude("assistant", 0, message=text),
            use(KEY, "Bash", {"command": "ls"}, 1, message="m1", tokens=100),
            use(OTHER, "Bash", {"command": "pwd"}, 1.1, message="m1", tokens=130),  # the last line of a message wins
            result(KEY, "a", 2),
            result(OTHER, "/", 3),
        ],
    )
    taught = read(SOURCE, path)
    assert [outcome.tokens for outcome in taught.outcomes] == [137, None]


@pytest.mark.parametrize(
    ("told", "begun"),
    [
        ([(8, None, {})], 1),
        ([(8, None, {}), (8, None, {})], 1),
        ([(8, None, {}), (8, "tool_use", {})], 0),
        ([(8, None, {}), (299, None, {})], 0),
        ([(81, None, {"iterations": []})], 0),
    ],
)
def test_an_output_that_no_line_counts_to_its_end_is_known_as_it_began(
    tmp_path: Path, told: list[tuple[int, str | None, Row]], begun: int
) -> None:
    def line(at: int, made: int, stop: str | None, more: Row) -> Row:
        usage: Row = {"input_tokens": 2, "output_tokens": made, **more}
        content: Json = [{"type": "text", "text": f"part {at}"}]
        return claude("assistant", at, message={"id": "m", "content": content, "stop_reason": stop, "usage": usage})

    records = [line(at, *each) for at, each in enumerate(told, 1)]
    assert [each.begun for each in read(SOURCE, lines(tmp_path / "whole.jsonl", records)).tokens] == [begun]
    with Runtime.open(home=tmp_path / "home") as runtime:
        for count in range(1, len(records) + 1):  # as it grows, and then again from a copy
            runtime.learn([lines(tmp_path / "grown.jsonl", records[:count])])
        runtime.learn([lines(tmp_path / "copied.jsonl", records)])
        found = runtime.sessions.list().items[0]
        assert (found.tokens.begun, found.tokens.made) == (begun, max(made for made, _, _ in told))
        assert runtime.sessions.costs().total.tokens == found.tokens
        assert bool(found.tokens.caveat) == bool(begun)
        for table in ("message_tokens", "session_models"):  # as a home has it that was made before this was told
            held = runtime.store.find(table).rows
            runtime.store.delete(table, {"session": SESSION})
            put = runtime.store.insert_new if table == "message_tokens" else runtime.store.add
            put(table, [{**row, "begun": None} for row in held])
        runtime.store.delete("cursors", {"path": ("!=", "")})
        runtime.learn([tmp_path / "copied.jsonl"])
        assert runtime.sessions.list().items[0].tokens.begun == begun


def test_a_failed_call_of_the_model_is_an_outcome_of_the_task_model(tmp_path: Path) -> None:
    overloaded: Json = {"status": 529, "error": {"error": {"type": "overloaded_error", "message": "Overloaded"}}}
    said: Json = {"role": "assistant", "content": [{"type": "text", "text": 'API Error: 429 {"type":"error"}'}]}
    path = lines(
        tmp_path / "s.jsonl",
        [
            claude("system", 1, subtype="api_error", error=overloaded, retryAttempt=1, maxRetries=10),
            claude("system", 2, subtype="api_error", error={}, retryAttempt=2, maxRetries=10),
            claude("assistant", 3, message=said, isApiErrorMessage=True),
        ],
    )
    taught = read(SOURCE, path)
    assert {outcome.task for outcome in taught.outcomes} == {"model"}
    assert [outcome.failure.status for outcome in taught.outcomes if outcome.failure] == [529, None, 429]
    assert "overloaded_error: Overloaded (retry 1 of 10)" in str(taught.outcomes[0].failure)
    assert "retry 2 of 10" in str(taught.outcomes[1].failure)


def test_an_edit_keeps_what_it_changed(tmp_path: Path) -> None:
    edit: Json = {"file_path": "/a.py", "old_string": "x = 1\ny = 2", "new_string": "x = 3"}
    path = lines(tmp_path / "s.jsonl", [use(KEY, "Edit", edit, 1), result(KEY, "ok", 2)])
    step = read(SOURCE, path).only.step
    assert step is not None
    assert step.change == "- x = 1\n- y = 2\n+ x = 3"
    assert (step.head, step.target) == ("edit", "/a.py")


def test_secrets_reach_neither_outcome_nor_carry(tmp_path: Path) -> None:
    secret = "sk-ant-api03-" + "Zx9" * 30
    path = lines(
        tmp_path / "s.jsonl",
        [
            use(KEY, "Bash", {"command": f"curl -H 'x-api-key: {secret}' a.example"}, 1),
            result(KEY, f"Exit code 1\nbad key {secret}", 2, is_error=True),
            use(OTHER, "Bash", {"command": f"export KEY={secret}"}, 3),
        ],
    )
    taught = read(SOURCE, path)
    assert secret not in repr(taught)


def test_bad_lines_cost_themselves_and_are_named(tmp_path: Path) -> None:
    good = [json.dumps(record).encode() for record in (use(KEY, "Bash", {"command": "ls"}, 1), result(KEY, "a", 2))]
    deep = b'{"a":' * 100_000
    path = tmp_path / "s.jsonl"
    bad = [b'{"type": "user", "mess', b"null", b"[]", b'""', b"\0\0\0\0", b'{"x": "\xff\xfe"}', deep, b"1" * 5000]
    path.write_bytes(b"\n".join([good[0], b"", *bad, b"   ", good[1]]) + b"\n")
    taught = read(SOURCE, path)
    assert len(taught.outcomes) == 1
    assert [piece.line for piece in taught.bad] == list(range(3, 11))
    assert all(piece.path == str(path) and piece.reason for piece in taught.bad)


def test_both_objects_of_a_joined_line_are_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    joined = json.dumps(use(KEY, "Bash", {"command": "ls"}, 1)) + json.dumps(result(KEY, "a", 2))
    path.write_text(joined + "\n" + joined[:-5] + "\n")
    taught = read(SOURCE, path)
    assert len(taught.outcomes) == 1
    assert [(piece.line, piece.reason.startswith("after 1 good object")) for piece in taught.bad] == [(2, True)]


@pytest.mark.parametrize(
    "message",
    [
        None,
        5,
        "text",
        [],
        {},
        {str(i): letter for i, letter in enumerate("hello")},
        {"content": {"0": "a"}},
        {"content": [1, None]},
    ],
)
def test_a_message_of_any_shape_breaks_nothing(tmp_path: Path, message: Json) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        [
            claude("user", 0, message=message),
            claude("assistant", 0.5, message=message, toolUseResult=[1], timestamp=7, cwd=3, agentId=[]),
            use(KEY, "Bash", {"command": "ls"}, 1),
            result(KEY, [{"type": "text", "text": "a\u2028b"}, {"type": "image"}, 7], 2, toolUseResult="x"),
        ],
    )
    taught = read(SOURCE, path)
    assert len(taught.outcomes) == 1
    assert len(taught.bad) <= 2


def test_a_raw_line_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    records = [use(KEY, "Bash", {"command": "printf 'a\u2028b\u0085c'"}, 1), result(KEY, "a\u2029b\x0cc", 2)]
    path.write_text("\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n", encoding="utf-8")
    taught = read(SOURCE, path)
    assert len(taught.outcomes) == 1
    assert not taught.bad


def test_a_line_of_twenty_megabytes_is_read(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        [
            use(KEY, "Bash", {"command": "cat big"}, 1),
            result(KEY, "x" * 20_000_000, 2),
            use(OTHER, "Bash", {"command": "ls"}, 3),
        ],
    )
    taught = read(SOURCE, path)
    assert len(taught.outcomes) == 1
    assert len(repr(taught.outcomes)) < 10_000


def test_lone_surrogates_can_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    records = [use(KEY, "Bash", {"command": "echo \ud83d"}, 1), result(KEY, "Exit code 1\n\ude00", 2, is_error=True)]
    path.write_text("\n".join(json.dumps(record) for record in records) + "\n")
    json.dumps(repr(read(SOURCE, path).only), ensure_ascii=False).encode()


def test_an_exit_code_that_is_no_number_is_none(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        [use(KEY, "Bash", {"command": "make"}, 1), result(KEY, "Exit code ²\nno", 2, is_error=True)],
    )
    failure = read(SOURCE, path).only.failure
    assert failure is not None
    assert failure.exit_code is None


def test_a_call_without_its_result_waits_for_it_while_the_file_grows(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", [use(KEY, "Bash", {"command": "make"}, 1, tokens=9)])
    first = read(SOURCE, path)
    assert not first.outcomes
    with path.open("a") as file:
        file.write(json.dumps(result(KEY, "Exit code 2\nboom", 4, is_error=True)) + "\n")
    then = read(SOURCE, path, first.offset, first.carry)
    assert (then.only.task, then.only.duration_s, then.only.tokens) == ("Bash", 3.0, 9)
    last = read(SOURCE, path, then.offset, then.carry)
    assert not last.outcomes
    assert not last.bad


def test_reading_in_any_two_parts_gives_what_reading_at_once_gives(tmp_path: Path) -> None:
    steps = [
        use(KEY, "Bash", {"command": "make"}, 1, message="m1", tokens=5),
        use(OTHER, "Read", {"file_path": "/a"}, 2, message="m2", tokens=6),
        result(KEY, "Exit code 2\nboom", 4, is_error=True),
        result(OTHER, "text", 5),
    ]
    data = "".join(json.dumps(step) + "\n" for step in steps).encode()
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    whole = read(SOURCE, path)
    for cut in range(0, len(data), 37):
        path.write_bytes(data[:cut])
        first = read(SOURCE, path)
        path.write_bytes(data)
        then = read(SOURCE, path, first.offset, first.carry)
        assert first.outcomes + then.outcomes == whole.outcomes, cut
        assert not then.bad


def test_a_stop_after_any_piece_resumes_without_loss_or_repetition(tmp_path: Path) -> None:
    steps: list[Json] = []
    for number in range(6):
        key = f"toolu_01AbCdEfGhIjKlMnOpQrSt{number:02}"
        steps += [use(key, "Bash", {"command": f"echo {number}"}, number), result(key, "x", number + 0.5)]
    path = lines(tmp_path / "s.jsonl", steps)
    whole = read(SOURCE, path).ids
    for stop in range(1, 7):
        carry: dict[str, Json] = {}
        got: list[str] = []
        offset = 0
        for count, piece in enumerate(SOURCE.read(str(path), 0, carry), 1):
            got += [item.id for item in piece.items if isinstance(item, Outcome)]
            offset = piece.offset
            if count == stop:
                break
        rest = read(SOURCE, path, offset, carry)
        assert got + rest.ids == whole


def test_a_replaced_or_cut_file_is_read_from_its_start(tmp_path: Path) -> None:
    path = lines(tmp_path / "s.jsonl", [use(KEY, "Bash", {"command": "ls"}, 1), result(KEY, "a", 2)])
    first = read(SOURCE, path)
    lines(
        path, [use(OTHER, "Bash", {"command": "pwd"}, 1), result(OTHER, "/", 2), claude("system", 3, subtype="x" * 400)]
    )
    assert read(SOURCE, path, first.offset, first.carry).only.step.input == "pwd"  # type: ignore[union-attr]
    lines(path, [claude("user", 1, message={"role": "user", "content": "hi"})])
    assert not read(SOURCE, path, first.offset, first.carry).bad


def test_a_conversation_without_a_step_says_so_and_an_alien_file_is_an_error(tmp_path: Path) -> None:
    talk = lines(tmp_path / "talk.jsonl", [claude("user", 1, message={"role": "user", "content": "hi"})])
    assert "none of them a finished step" in read(SOURCE, talk).note
    alien = lines(tmp_path / "alien.jsonl", [{"kind": "unheard of"}] * 3)
    assert [piece.line for piece in read(SOURCE, alien).bad] == [0]


def test_the_stream_of_a_headless_run_is_read_too(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "stream.jsonl",
        [
            {"type": "system", "subtype": "init", "session_id": SESSION, "cwd": "/w", "model": "m"},
            {
                "type": "assistant",
                "session_id": SESSION,
                "message": {
                    "id": "m",
                    "content": [{"type": "tool_use", "id": KEY, "name": "Bash", "input": {"command": "ls"}}],
                },
            },
            {
                "type": "user",
                "session_id": SESSION,
                "message": {"content": [{"type": "tool_result", "tool_use_id": KEY, "content": "a"}]},
            },
            {"type": "result", "subtype": "error_max_turns", "is_error": True, "session_id": SESSION, "uuid": "r"},
        ],
    )
    step, ended = read(SOURCE, path).outcomes
    assert (step.session, step.project, step.ok) == (SESSION, "/w", True)
    assert step.started_at > 1e9
    assert (ended.task, ended.ok) == ("model", False)


def test_claims_are_decided_by_content(tmp_path: Path) -> None:
    mine = lines(
        tmp_path / "rollout-codex.jsonl", [claude("user", 1, message={"role": "user", "content": "x" * 200_000})]
    )
    assert SOURCE.claims(peek(str(mine)))
    assert not SOURCE.claims(b'{"task": "x", "success": true}\n')
    assert not SOURCE.claims(b"plain text")


@pytest.mark.parametrize("place", ["{session}/subagents/agent-a1.jsonl", "agent-a1.jsonl", "other.jsonl"])
def test_a_limit_in_a_subagents_own_file_is_the_cause_of_its_end(tmp_path: Path, place: str) -> None:
    said = "API Error: 429 You've hit your session limit. Resets 3pm"
    own = tmp_path / place.format(session=SESSION)
    own.parent.mkdir(parents=True, exist_ok=True)
    body: Json = {"role": "assistant", "content": [{"type": "text", "text": said}]}
    lines(own, [claude("assistant", 3.0, message=body, isApiErrorMessage=True, isSidechain=True, agentId="a1")])
    main = lines(
        tmp_path / f"{SESSION}.jsonl",
        [
            use("toolu_1", "Task", {"prompt": "x"}, 1.0),
            result("toolu_1", "Error: subagent completed without calling StructuredOutput", 4.0, is_error=True),
            use("toolu_2", "Task", {"prompt": "y"}, 30.0),
            result("toolu_2", "Error: subagent completed without calling StructuredOutput", 40.0, is_error=True),
        ],
    )
    first, later = (outcome.failure for outcome in read(SOURCE, main).outcomes)
    assert first is not None
    assert later is not None
    assert (first.kind, "session limit" in first.message) == ("quota_exhausted", True)
    assert "session limit" not in later.message


def test_a_limit_of_another_session_is_no_cause(tmp_path: Path) -> None:
    body: Json = {"role": "assistant", "content": [{"type": "text", "text": "You've hit your session limit"}]}
    lines(tmp_path / "b.jsonl", [claude("assistant", 3.0, message=body, isApiErrorMessage=True) | {"sessionId": "b"}])
    main = lines(
        tmp_path / "a.jsonl",
        [use("toolu_1", "Task", {}, 1.0), result("toolu_1", "agent ended without output", 4.0, is_error=True)],
    )
    failure = read(SOURCE, main).only.failure
    assert failure is not None
    assert failure.kind != "quota_exhausted"


def test_a_command_that_fails_in_the_background_is_an_outcome_of_its_own_however_often_it_is_told(
    tmp_path: Path,
) -> None:
    notice = (
        f"<task-notification>\n<tool-use-id>{KEY}</tool-use-id>\n<status>failed</status>\n"
        '<summary>Background command "Serve" failed with exit code 3</summary>\n</task-notification>'
    )
    about = {"sessionId": "s-1", "cwd": "/p", "timestamp": "2026-01-01T00:00:00.000Z"}
    call = {
        "type": "tool_use",
        "id": KEY,
        "name": "Bash",
        "input": {"command": "make serve"},
    }
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "Command running in background with ID: b1."}
    records: list[dict[str, object]] = [
        {"type": "assistant", "uuid": "1", "message": {"id": "m", "content": [call]}},
        {"type": "user", "uuid": "2", "message": {"content": [result]}, "toolUseResult": {"backgroundTaskId": "b1"}},
        {"type": "attachment", "uuid": "3", "attachment": {"type": "queued_command", "prompt": notice}},
        {"type": "user", "uuid": "4", "message": {"content": notice}},
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps({**about, **record}) + "\n" for record in records))
    found = [item for read in ClaudeCode().read(str(path), 0, {}) for item in read.items if isinstance(item, Outcome)]
    assert [outcome.ok for outcome in found] == [True, False, False]
    assert len({outcome.id for outcome in found}) == 2
    assert found[1].failure is not None
    assert (found[1].failure.exit_code, found[1].step and found[1].step.head) == (3, "make serve")


def test_the_lines_of_an_answer_count_once_and_wait_for_what_its_call_brought(tmp_path: Path) -> None:
    records = [
        use("toolu_1", "Bash", {"command": "ls"}, 1, tokens=40),
        use("toolu_2", "Bash", {"command": "pwd"}, 2, tokens=70),
        result("toolu_1", "a.py", 3),
        result("toolu_2", "/shop", 4),
        use("toolu_3", "Bash", {"command": "id"}, 5, message="msg_2", tokens=9),
    ]
    path = lines(tmp_path / "one.jsonl", records)
    pieces = [read.items for read in ClaudeCode().read(str(path), 0, {})]
    assert [[type(item).__name__ for item in items] for items in pieces] == [
        ["MessageTokens", "Outcome"],
        ["Outcome"],
        ["MessageTokens"],
    ]
    told = read(ClaudeCode(), path)
    assert [(each.given, each.step) for each in told.tokens] == [(70, told.outcomes[0].id), (9, told.tokens[1].step)]
