"""Kinds: structure before words, never a bare number, the narrowest wins; retry advice is never plainly wrong."""

from __future__ import annotations

import errno
import json
import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.failures.kinds import phrases
from ratchet.failures.kinds.codes import errnos_said
from ratchet.failures.kinds.families import FAMILIES, family_of, gist_of
from ratchet.failures.kinds.kind import is_retry_safe, is_transient, kind_of
from ratchet.failures.kinds.phrases import met_by, tiers, words_of
from ratchet.failures.kinds.structure import CLASSES, CODES, EXIT_CODES, NAME_PARTS, STATUSES
from ratchet.failures.kinds.table import KINDS

GROUPS = [group for tier in tiers() for group in tier]
MESSAGES = Path(__file__).parents[3] / "benchmarks" / "data" / "messages.jsonl"


def test_each_kind_says_what_helps() -> None:
    for _, retry_safe, severity, fixes in KINDS.values():
        assert retry_safe in (True, False)
        assert severity in ("critical", "high", "medium", "low")
        assert fixes


def test_what_is_safe_to_retry_is_transient() -> None:
    for kind in KINDS:
        assert is_transient(kind) or not is_retry_safe(kind)


def test_every_rule_names_a_kind() -> None:
    named = (
        {kind for kind, *_ in (*GROUPS, *CLASSES, *NAME_PARTS, *FAMILIES)}
        | set(STATUSES.values())
        | set(EXIT_CODES.values())
        | set(CODES.values()) - {""}
    )
    assert named <= set(KINDS)


def test_the_quick_reading_of_the_phrases_leaves_none_out() -> None:
    with Path(phrases.__file__).with_name("phrases.toml").open("rb") as file:
        held = tomllib.load(file)
    asked = [[(group["kind"], tuple(group["phrases"])) for group in held[name]] for name in held]
    assert [list(tier) for tier in tiers()] == asked
    assert list(held) == ["specific", "general", "last"]


def test_a_phrase_that_the_quick_reading_would_leave_out_is_no_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path(phrases.__file__).with_name("phrases.toml").read_text(encoding="utf-8")
    for wrong in ('phrases = ["no space left on device"]', "phrases = [\n  'no space left'\n]"):
        (tmp_path / "phrases.toml").write_text(f'{real}\n[[general]]\nkind = "other"\n{wrong}\n', encoding="utf-8")
        monkeypatch.setattr(phrases, "__file__", str(tmp_path / "phrases.py"))
        with pytest.raises(ValueError, match="not read: a phrase stands on a line of its own"):
            tiers.__wrapped__()


def test_every_phrase_is_written_as_texts_are_read() -> None:
    for _, held in GROUPS:
        for phrase in held:
            for part in phrase.split(" & "):
                plain = part.removeprefix("!")
                assert words_of(plain).strip() == plain


@pytest.mark.parametrize(
    "text",
    [
        "Order 14290 not found",
        "took 429 ms",
        "processed 503 rows",
        "Ticket 401 was exported",
        "Room 404 is on the fourth floor",
        "wrote 529 bytes in 500 chunks",
        "user 4290 has 503 points",
        "Order 429: failed to ship",
        "order #429 too many items",
        "code 429 red",
        "Batch 500 error: bad row",
        "retry 429 of 500",
        "version 1.1 429 lines",
        "404 items found",
    ],
)
def test_a_bare_number_is_no_status(text: str) -> None:
    assert kind_of(text) in ("other", "resource_missing")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("HTTP 429", "rate_limit"),
        ("HTTP/1.1 429", "rate_limit"),
        ("status code 503", "overloaded"),
        ("429 Too Many Requests", "rate_limit"),
        ("API Error: 529 {}", "overloaded"),
        ('{"statusCode": 502}', "server_error"),
        ("{'code': 429, 'message': 'no'}", "rate_limit"),
        ("Error 500", "server_error"),
        ("Client error '401 Unauthorized' for url 'https://x'", "auth"),
        ("request failed with status 402", "quota_exhausted"),
    ],
)
def test_a_number_that_is_named_a_status_is_one(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("text", "structure", "kind"),
    [
        ("", {"status": 429}, "rate_limit"),
        ("", {"exit_code": 127}, "tool_not_found"),
        ("", {"exit_code": 124}, "timeout"),
        ("", {"exit_code": 130}, "cancelled"),
        ("", {"exit_code": 1}, "command_failed"),
        ("", {"exception": ("TimeoutError", "OSError")}, "timeout"),
        ("no answer in 30 s", {"exception": ("TimeoutError", "OSError")}, "timeout"),
        ("TimeoutError: no response", {}, "timeout"),
        ("boom", {"exception": ("MyTimeout", "ReadTimeout", "Exception")}, "timeout"),
        ("boom", {"exception": ("openai.RateLimitError", "APIStatusError")}, "rate_limit"),
        ("boom", {"code": "insufficient_quota"}, "quota_exhausted"),
        ("boom", {"code": "invalid_request_error"}, "invalid_request"),
        ("boom", {"exception": ("RuntimeError", "Exception"), "tool": "search"}, "tool_error"),
        ("boom", {"exception": ("RuntimeError", "Exception")}, "code_error"),
        ("boom", {"tool": "Bash"}, "command_failed"),
    ],
)
def test_structure_decides_where_the_words_say_nothing(text: str, structure: dict[str, object], kind: str) -> None:
    assert kind_of(text, **structure) == kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "structure", "kind"),
    [
        ("You exceeded your current quota (insufficient_quota)", {"status": 429}, "quota_exhausted"),
        ("prompt is too long: 205004 tokens > 200000 maximum", {"status": 400}, "context_overflow"),
        ("The model `x` does not exist", {"status": 404}, "model_not_found"),
        ("blocked by content management policy", {"status": 400}, "content_filter"),
        ("Your credit balance is too low", {"exception": ("BadRequestError",)}, "quota_exhausted"),
        ("Missing required parameter: 'messages'", {"status": 400}, "invalid_request"),
        ("Request timed out", {"exception": ("McpError", "Exception")}, "timeout"),
    ],
)
def test_the_narrower_kind_wins_over_a_general_structure(text: str, structure: dict[str, object], kind: str) -> None:
    assert kind_of(text, **structure) == kind  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'rate_limit'",
        "NameError: name 'timeout' is not defined",
        "src/a.ts(3,5): error TS2339: Property 'rateLimit' does not exist on type 'Api'.",
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nAttributeError: no quota',
    ],
)
def test_names_that_a_program_error_quotes_do_not_decide(text: str) -> None:
    assert kind_of(text) == "code_error"


def test_a_test_report_is_a_test_failure_whatever_its_assertions_quote() -> None:
    report = (
        "E  AssertionError: 429 Too Many Requests\nFAILED tests/test_api.py::test_limit\n1 failed, 3 passed in 0.2s"
    )
    assert kind_of(report) == "test_failure"


def test_a_passing_report_is_no_test_failure() -> None:
    assert kind_of("12 passed in 0.10s\nok, 0 failed") != "test_failure"


def test_a_long_output_is_decided_by_its_error_lines_and_its_exit_code_header() -> None:
    banner = "\n".join(f"[{i}/400] compiling module_{i} with timeout and quota and retry settings" for i in range(400))
    assert kind_of(f"{banner}\nsrc/x.c:3:5: error: expected ';'") == "code_error"
    assert kind_of(f"Exit code 2\n{banner}\nmake: *** [all] Error 2", tool="Bash") == "command_failed"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("An error occurred (ThrottlingException) when calling the X operation: no", "rate_limit"),
        (
            "An error occurred (ValidationError) when calling the X operation: No updates are to be performed.",
            "invalid_request",
        ),
        ('Error from server (NotFound): secrets "a" not there', "resource_missing"),
        ("Error from server (Invalid): metadata.annotations: Too long", "invalid_request"),
        ("rpc error: code = Unauthenticated desc = no", "auth"),
        ("rpc error: code = DeadlineExceeded desc = no", "timeout"),
        ("ERROR 1045 (28000): Access denied for user 'a'@'b'", "auth"),
        ("curl: (35) handshake odd", "network"),
        ("Connection refused to host abc: port 8080", "network"),
        ("curl: (28) slow", "timeout"),
        ('{"type":"error","error":{"type":"request_too_large","message":"big"}}', "context_overflow"),
        ('{"error":{"type":"billing_error","message":"see the console"}}', "quota_exhausted"),
        ("messages.3.content.0.type: odd", "invalid_request"),
    ],
)
def test_the_name_that_an_api_a_cluster_or_a_database_gives_its_error_decides(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("the key you sent us, an apikey of last year, has expired", "auth"),
        ("we were asked for too many of these queries", "rate_limit"),
        ("the socket to the peer was cut", "network"),
        ("none of the files in that folder, the second path included, exists: gone", "resource_missing"),
        ("a reviewer has vetoed the step", "user_denied"),
        ("its answer could not be parsed", "malformed_output"),
        ("there was no usable answer", "empty_response"),
        ("the replica is still warming up", "overloaded"),
    ],
)
def test_wording_that_nobody_listed_is_known_by_what_befell_what(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_words_far_apart_are_about_different_things() -> None:
    assert kind_of("the wifi was unstable") == "network"
    assert kind_of("the wifi in the kitchen on the second floor of that old house, however unstable") == "other"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Error executing tool fetch: Request timed out", "timeout"),
        ("ToolException: 429 Too Many Requests", "rate_limit"),
        ("Tool execution failed: permission denied", "permission"),
        ("Error executing tool fetch: boom", "tool_error"),
    ],
)
def test_what_is_in_a_tools_envelope_decides_first(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize("text", ["429", " 429 ", "429: wait", "Request rejected (429)", '429 {"detail": "no"}'])
def test_a_status_may_be_the_whole_text_or_lead_it_or_stand_in_brackets(text: str) -> None:
    assert kind_of(text) == "rate_limit"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Please hold on, temporarily out of order", "overloaded"),
        ("the connection did something odd", "network"),
        ("it gave up, stalled", "timeout"),
        ("come back: try again later", "overloaded"),
    ],
)
def test_an_unknown_text_that_says_it_may_pass_is_worth_another_try(text: str, kind: str) -> None:
    assert kind_of(text) == kind
    assert is_retry_safe(kind)


def test_a_command_line_program_without_a_known_reason_is_a_failed_command() -> None:
    assert kind_of("error: the widget is odd") == "command_failed"
    assert kind_of("tar: the widget is odd") == "command_failed"
    assert kind_of("Error: the widget is odd") == "other"
    assert kind_of("aborted: you must first push the current branch to a remote") == "command_failed"


def test_a_bad_request_that_no_api_reports_is_about_what_the_tool_or_the_command_was_given() -> None:
    text = "temperature and top_p cannot be used together"
    assert kind_of(text) == "invalid_request"
    assert kind_of(text, status=400) == "invalid_request"
    assert kind_of(text, tool="mcp__model__ask") == "tool_arguments"
    assert kind_of(text, exit_code=2) == "tool_arguments"


def test_a_status_says_more_than_a_base_class() -> None:
    assert kind_of("", exception=("HTTPError", "URLError", "OSError"), status=404) == "resource_missing"
    assert kind_of("", exception=("InternalServerError", "APIStatusError"), status=503) == "server_error"
    assert kind_of("Error code: 503", exception=("InternalServerError", "APIStatusError")) == "overloaded"


def test_an_open_kind_is_transient_when_its_text_says_so() -> None:
    assert is_transient("tool_error", "database is locked")
    assert is_transient("other", "please try again later")
    assert not is_transient("other", "boom")
    assert not is_retry_safe("tool_error", "database is locked")


def test_at_least_95_of_100_messages_are_right_and_no_retry_advice_is_plainly_wrong() -> None:
    said = [json.loads(line) for line in MESSAGES.read_text(encoding="utf-8").splitlines()]
    assert len(said) >= 150
    kinds = [kind_of(m["text"], status=m.get("status"), exit_code=m.get("exit_code")) for m in said]
    right = sum(kind == m["kind"] for kind, m in zip(kinds, said, strict=True))
    assert right / len(said) >= 0.95
    for kind, message in zip(kinds, said, strict=True):
        assert not (is_retry_safe(kind) and not message["retry"]), message["text"]
        assert is_retry_safe(kind) or message["kind"] != "rate_limit", message["text"]


@given(st.text(), st.text(max_size=20))
def test_any_text_has_a_kind(text: str, tool: str) -> None:
    assert kind_of(text, tool=tool) in KINDS


@given(st.text(alphabet=" \n:.'\"{}[]()0123459EFailerotx/\\-", max_size=300))
def test_error_like_noise_has_a_kind(text: str) -> None:
    assert kind_of(text) in KINDS


@given(st.lists(st.sampled_from(sorted({word for _, held in GROUPS for phrase in held for word in phrase.split()}))))
def test_the_first_texts_and_later_ones_meet_the_same_phrases(pieces: list[str]) -> None:
    words = words_of(" ".join(pieces))
    assert met_by(words) == tuple(
        next((kind for kind, held in tier if any(meets(phrase, words) for phrase in held)), "") for tier in tiers()
    )


def meets(phrase: str, words: str) -> bool:
    return all((f" {part.removeprefix('!')} " in words) != part.startswith("!") for part in phrase.split(" & "))


HOSTILE = (
    *("a", " ", "\n", "1", "1 ", ".", "a.", "error ", "a:", "\\n", "\x1b[", "fail ", "Error: ", "::", "/", "sh: "),
    *(
        'File "a", line 1\n',
        "Traceback (most recent call last)\n",
        "tool a not found ",
        "exit code ",
        "a.go:1:1",
        "E  ",
    ),
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_huge_hostile_text_has_a_kind(piece: str) -> None:
    assert kind_of(piece * (200_000 // len(piece))) in KINDS


def test_what_redaction_left_behind_is_no_cause() -> None:
    assert kind_of("could not reach [redacted:password]@db") == kind_of("could not reach [redacted]@db")
    assert kind_of("the [redacted:token] job took long") == "other"


def test_a_duration_alone_is_no_timeout() -> None:
    assert kind_of("Analysis took 0.4 seconds") == "other"


# -- the gist: what no rule looks at -------------------------------------------------------------------------------

KNOWN = sorted({word for _, held in GROUPS for phrase in held for word in phrase.replace("!", " ").split()} - {"&"})
SIDES = sorted({word for _, *sides in FAMILIES for side in sides for word in side.split()})


@given(
    st.lists(
        st.one_of(
            st.sampled_from([phrase for _, held in GROUPS for phrase in held]),
            st.sampled_from([*KNOWN, *SIDES]),
            st.sampled_from(["could not", "can t", "does not exist", "ran out", "timed out", "is not in", "logged in"]),
            st.text("0123456789", min_size=1, max_size=5),
            st.text("abcdef0123456789", min_size=4, max_size=10),
        ),
        max_size=20,
    ),
    st.sampled_from(["", "s", "ed", "ing"]),
)
def test_a_gist_meets_what_the_whole_text_meets(pieces: list[str], ending: str) -> None:
    words = words_of(f"{' '.join(pieces)}{ending}")
    assert met_by(gist_of(words)) == met_by.__wrapped__(words)
    assert family_of(gist_of(words)) == family_of.__wrapped__(words)


def test_texts_of_one_cause_have_one_gist() -> None:
    one = words_of("Error 14: could not open unit_47300.py of 3941c1f1: permission denied after 2300 ms")
    other = words_of("Error 7: could not open unit_8.py of 88aa01f0: permission denied after 12 ms")
    assert one != other
    assert gist_of(one) == gist_of(other)


def test_a_name_of_errno_is_said_in_the_words_that_the_system_has_for_it() -> None:
    assert errnos_said("npm ERR! code ENOSPC, ERROR EVERY") == {"ENOSPC": os.strerror(errno.ENOSPC)}


@pytest.mark.parametrize(
    "quoted",
    [
        "\treturn nil\n}",
        '\tif err := run(); err != nil {\n\t\treturn fmt.Errorf("failed to start: %w", err)\n\t}\n' * 3,
        '\tif no || os.Getenv("OPTOUT") != "" {\n\t\tf := false\n\t}\n' * 4,
        "Traceback (most recent call last):\nValueError: bad\n" + "=== 3 failed, 1 passed in 0.2s ===\n",
    ],
)
def test_the_kind_of_a_tools_own_error_does_not_depend_on_the_code_that_it_quotes(quoted: str) -> None:
    own = (
        "Found 2 matches of the string to replace, but replace_all is false. To replace all occurrences, set "
        "replace_all to true. To replace only one occurrence, please provide more context."
    )
    assert kind_of(f"{own}\nString: {quoted}", tool="Edit") == kind_of(own, tool="Edit") == "tool_arguments"


EDITED = "Failed to edit, expected 1 occurrence but found 2 in file: "
ANALYSED = """  error - lib/list.dart:12:5 - The method 'when' isn't defined for the type 'Result'. - undefined_method
warning - lib/list.dart:10:8 - Unused import: 'package:shop/a.dart'. - unused_import

2 issues found."""


@pytest.mark.parametrize(
    ("text", "tool", "kind"),
    [
        (f"{EDITED}/p/app/auth/actions.ts.", "replace", "tool_arguments"),
        (f"{EDITED}C:\\app\\auth\\a.ts.", "replace", "tool_arguments"),
        ("429 Too many requests https://api.shop.com/v1/rate.json", "WebFetch", "rate_limit"),
        (ANALYSED, "Bash", "code_error"),
        ("error: Item 3 failed\nerror: Job queue is at capacity\n1 fail", "Bash", "test_failure"),
    ],
    ids=["a path of a file", "of Windows", "an address", "dart", "bun"],
)
def test_a_path_names_no_cause_and_a_report_says_what_failed(text: str, tool: str, kind: str) -> None:
    assert kind_of(text, tool=tool) == kind
