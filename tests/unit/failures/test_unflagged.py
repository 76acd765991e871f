"""A failure that nobody flagged is told by its form, in any language; a text about errors is none."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ratchet.failures.excerpt import error_lines
from ratchet.failures.kinds.kind import is_retry_safe, kind_of
from ratchet.failures.patterns.ingest import ingest
from ratchet.failures.unflagged import says_failure
from ratchet.recording.rows import row_of
from ratchet.recording.sources import source_for
from ratchet.records import Outcome, Row
from ratchet.testing.stores import open_store

CASES = Path(__file__).parents[4] / "shared/cases/histories"
NOT_LATIN = (
    "\u6743\u9650\u88ab\u62d2\u7edd",
    "\u30d5\u30a1\u30a4\u30eb\u304c\u3042\u308a\u307e\u305b\u3093",
    "\ud30c\uc77c\uc744 \ucc3e\uc744 \uc218 \uc5c6\uc2b5\ub2c8\ub2e4",
    "\u041d\u0435\u0442 \u0442\u0430\u043a\u043e\u0433\u043e \u0444\u0430\u0439\u043b\u0430",
    "\u0644\u0627 \u064a\u0648\u062c\u062f \u0645\u0644\u0641",
    "\u0394\u03b5\u03bd \u03b2\u03c1\u03ad\u03b8\u03b7\u03ba\u03b5",
    "\u0e44\u0e21\u0e48\u0e1e\u0e1a\u0e44\u0e1f\u0e25\u0e4c",
)


@pytest.mark.parametrize("text", NOT_LATIN)
@pytest.mark.parametrize("tool", ["", "Bash", "lookup"])
def test_a_text_in_any_script_is_not_an_empty_answer(text: str, tool: str) -> None:
    assert kind_of(text, tool=tool) != "empty_response"
    assert kind_of(text, tool=tool, exit_code=127) == kind_of("?!", tool=tool, exit_code=127)


@pytest.mark.parametrize("message", [*NOT_LATIN, "Datei oder Verzeichnis nicht gefunden", "Aucun fichier ou dossier"])
@pytest.mark.parametrize("program", ["cat", "ls", "cp", "rm", "mkdir", "find"])
def test_a_program_that_names_itself_and_then_what_was_wrong_has_failed(program: str, message: str) -> None:
    assert says_failure(f"{program}: x.txt: {message}", tool="Bash", head=program)
    assert says_failure(f"bash: line 1: {program}x: {message}", tool="Bash", head=f"{program}x")
    assert says_failure(f"bash: Zeile 1: {program}x: {message}", tool="Bash", head=f"{program}x")
    assert not says_failure(f"{program}: x.txt: {message}\n" + "a line of data\n" * 9, tool="Bash", head=program)
    assert not says_failure(f"notes about {program}: x.txt: {message}", tool="Bash", head=program)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The system cannot find the path specified.", "resource_missing"),
        ("File Not Found", "resource_missing"),
        (
            "'nmp' is not recognized as an internal or external command,\r\noperable program or batch file.",
            "tool_not_found",
        ),
        ("Get-Item : Cannot find path 'C:\\x' because it does not exist.\nAt line:1 char:1", "resource_missing"),
        ("In Zeile:1 Zeichen:1\n+ foo\n+ ~~~\n    + CategoryInfo          : X\n    + FullyQualifiedErrorId : Y", ""),
        ("Access is denied.", "permission"),
    ],
)
@pytest.mark.parametrize("tool", ["PowerShell", "Bash"])
def test_what_windows_says_is_a_failure_without_a_flag(text: str, kind: str, tool: str) -> None:
    assert says_failure(text, tool=tool, head=text.split()[0] if "-" in text.split()[0] else "dir")
    assert not kind or kind_of(text, tool=tool) == kind


@pytest.mark.parametrize(
    "text",
    [
        *(
            "File not found",
            "File not found: /srv/x",
            "Request timed out",
            "Request timed out after 30 s",
            "Access denied",
        ),
        *("The page was not found.", "Connection refused", "Issue does not exist", '{"status":"error"}'),
        *('{"status": "error", "message": "boom"}', "Error reading file: x", "Upload failed: quota"),
    ],
)
def test_a_short_sentence_that_says_only_what_went_wrong_counts(text: str) -> None:
    assert says_failure(text, tool="mcp__shop__lookup")


@pytest.mark.parametrize(
    "text",
    [
        *("Error handling in Go", "Error handling: a guide", "No matches found", "0 tests failed", "Nothing failed"),
        *("Error reporting", "Pattern not found", '{"status":"ok"}', '{"status":"failed","id":7,"run":"nightly"}'),
        *("How to handle a request that timed out\nFirst, ...", "Done", "ls: warning: x: y"),
    ],
)
@pytest.mark.parametrize("tool", ["mcp__shop__lookup", "Read", "WebSearch"])
def test_a_text_about_errors_is_none(text: str, tool: str) -> None:
    assert not says_failure(text, tool=tool)


SAID_IN_OTHER_LANGUAGES = (
    "\u043e\u0448\u0438\u0431\u043a\u0430: \u043d\u0435\u0442 y",
    "\u30a8\u30e9\u30fc: pathspec 'y'",
    "\u81f4\u547d\u7684\u30a8\u30e9\u30fc: y",
    "\u9519\u8bef\uff1ay",
    "x.c:3:5: \u9519\u8bef\uff1a\u2018y\u2019",
    "x.c: In Funktion \u00bbmain\u00ab:\nx.c:3:5: Fehler: \u00bby\u00ab nicht deklariert",
    "erreur : impossible, \u00e0 moins que y",
)


@pytest.mark.parametrize("text", SAID_IN_OTHER_LANGUAGES)
@pytest.mark.parametrize("head", ["git push", "gcc x.c", ""])
def test_the_word_error_before_a_colon_counts_in_any_language(text: str, head: str) -> None:
    assert says_failure(text, tool="Bash", head=head)
    assert not says_failure("\n".join(("a line", *text.split("\n"), *["a line"] * 20)), tool="Read")
    assert not says_failure("x.c:3:5: Warnung: \u00bby\u00ab", tool="Bash", head=head)


@pytest.mark.parametrize(
    "said", ["Das Verzeichnis ist nicht leer.", "\u76ee\u5f55\u4e0d\u662f\u7a7a\u7684\u3002", "The x is in use"]
)
@pytest.mark.parametrize("command", ["rd x", "del x", "rm x", "mkdir -p x", "touch x", "ren a b"])
def test_a_program_that_is_silent_when_it_succeeds_has_failed_when_it_speaks(said: str, command: str) -> None:
    assert says_failure(said, tool="cmd", head=command.split()[0], given=command)
    assert not says_failure(said, tool="cmd", head="dir", given=f"{command} & dir")
    assert not says_failure("Shell cwd was reset to /srv/app", tool="Bash", head="mkdir", given=command)
    assert not says_failure(said, tool="Bash", head="rm", given="rm -v x")


@pytest.mark.parametrize(
    "sentence",
    [
        'Der Befehl "foo" ist',
        "'foo' \u4e0d\u662f",
        '"foo" \u043d\u0435 \u044f\u0432\u043b\u044f\u0435\u0442\u0441\u044f',
    ],
)
def test_cmd_quotes_a_program_that_it_does_not_know_in_any_language(sentence: str) -> None:
    assert says_failure(f"{sentence} ...\r\n.", tool="cmd", head="foo", given="foo")
    assert not says_failure("the name of the command is foo", tool="cmd", head="foo", given="foo")


@pytest.mark.parametrize(
    "text",
    [
        *("Unable to connect to the database", "Could not resolve host: x.example", "Invalid API key", "Not found"),
        *(
            "Rate limit exceeded. Try again in 20s.",
            "Quota exceeded for project 12.",
            "ValueError: no int",
            "\u274c Failed to",
        ),
        *("You do not have permission to read this table.", "No such table: users", "404 page not found"),
        *('{"ok": false, "message": "boom"}', '{"success":"false"}', '{"code":"NOT_FOUND","message":"no user"}'),
        *('{"error":true,"message":"boom"}', '{"result":{"status":"error","message":"boom"}}'),
        *('{"code":-32000,"message":"boom"}', "\x1b[31mAccess denied\x1b[0m"),
    ],
)
def test_a_tool_that_says_in_one_sentence_or_object_that_it_could_not_has_failed(text: str) -> None:
    text = text + " create it" if text.endswith("Failed to") else text
    assert says_failure(text, tool="mcp__shop__lookup")
    assert not says_failure(f"1. {text}\n2. another one\n3. a third", tool="mcp__shop__lookup")


@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"ok":true,"message":"x"}',
            '{"code":0,"message":"success"}',
            '{"code":200,"message":"fine"}',
            "no failed jobs",
        ),
        *("Fixed: request timed out", "Error codes in HTTP", "Could the limit be raised?", "The error was fixed"),
        *(
            "All checks passed without errors",
            "Deleted 3 rows; 0 failed",
            '{"title":"Not found","id":4}',
            "Failed logins",
        ),
    ],
)
def test_a_sentence_that_only_names_errors_is_none(text: str) -> None:
    assert not says_failure(text, tool="mcp__shop__lookup")


@pytest.mark.parametrize("said", NOT_LATIN)
def test_a_shell_that_names_one_word_in_another_script_does_not_know_it(said: str) -> None:
    assert kind_of(f"bash: foo: {said}", tool="Bash") == kind_of(f"zsh: {said}: foo", tool="Bash") == "tool_not_found"
    assert kind_of(f"bash: ./foo: {said}", tool="Bash") == kind_of(f"cat: foo: {said}", tool="Bash") == "command_failed"


@pytest.mark.parametrize(
    "payload", ["invalid session ID", "429 Too Many Requests", "prompt is too long", "401 Unauthorized"]
)
@pytest.mark.parametrize("tool", ["Edit", "MultiEdit", "str_replace_editor"])
def test_an_error_quoted_in_a_payload_does_not_decide(payload: str, tool: str) -> None:
    text = f'String to replace not found in file.\nString: return fmt.Errorf("{payload}: %w", err)'
    assert kind_of(text, tool=tool) == "tool_arguments"


def test_usage_below_a_wrong_call_is_not_its_error() -> None:
    options = "\n".join(f"  --{word}  exit with an error when {word} failed" for word in ("strict", "fail", "status"))
    assert error_lines(f"Exit code 1\nunknown flag: --stat\n\nUsage:  gh pr diff [flags]\n\nFlags:\n{options}") == (
        "unknown flag: --stat"
    )
    assert "unrecognized" in error_lines("run\n" * 4 + "usage: x [-h]\n  more\nx: error: unrecognized arguments: -q")


@pytest.mark.parametrize(
    ("name", "failed"), [("not_english", 8), ("windows_unflagged", 6), ("session_limit_37_subagents", 38)]
)
def test_failures_of_recorded_sessions(tmp_path: Path, name: str, failed: int) -> None:
    rows = failures_of(tmp_path, name)
    assert len(rows) == failed
    if name.startswith("session_limit"):
        assert {kind_in(row) for row in rows} == {"quota_exhausted"}
        assert not is_retry_safe("quota_exhausted")


def failures_of(tmp_path: Path, name: str) -> list[Row]:
    case = CASES / f"{name}.jsonl"
    if not case.exists():
        pytest.skip(f"no {case}: clone the shared data beside this repository")
    store = open_store(tmp_path)
    read = [item for each in source_for(str(case)).read(str(case), 0, {}) for item in each.items]
    ingest(store, [row_of(item) for item in read if isinstance(item, Outcome)])
    rows = store.find("outcomes", {"ok": False}).rows
    store.close()
    return rows


def kind_in(row: Row) -> str:
    failure = row["failure"]
    assert isinstance(failure, dict)
    return str(failure["kind"])


SAID = {os.strerror(number) for number in errno.errorcode} - {os.strerror(errno.ENODATA)}
SYSTEM = sorted(words for words in SAID if ": " not in words)
# These count alone in any output of few lines: a file or folder was named wrongly.
FOREMOST = ("No such file or directory", "Permission denied", "Is a directory", "Not a directory")


@pytest.mark.parametrize("words", SYSTEM)
def test_what_the_system_says_of_an_error_is_one_whoever_passes_it_on(words: str) -> None:
    assert says_failure(words, tool="Write")
    assert says_failure(f"/srv/x: {words}", tool="mcp__files__save")
    for program in ("cp", "mytool", "docker"):
        told = f"{program}: /srv/x: {words}"
        assert says_failure(told, tool="Bash", head=program, given=f"{program} a b")
    if words not in FOREMOST:
        assert not says_failure(f"worker 3: {words}", tool="Bash", head="tail", given="tail -1 app.log")
    assert not says_failure(words, tool="Bash", head="test", given=f"test -f x && echo '{words}'")


def test_the_name_of_an_error_says_so_and_an_empty_answer_does_not() -> None:
    assert says_failure("ENOSPC: no space left on device, write", tool="Write")
    assert says_failure("write /x: no space left on device", tool="Bash", head="docker", given="docker build .")
    assert not says_failure("EXAMPLE: how to write", tool="Read")
    assert not says_failure(f"weather: {os.strerror(errno.ENODATA)}", tool="lookup")


@pytest.mark.parametrize("tool", ["", "Bash", "Write"])
@pytest.mark.parametrize(
    "text",
    [
        "cp: error writing 'x': No space left on device",
        "ENOSPC: no space left on device, write",
        "error: failed to write: Disk quota exceeded",
        "There is not enough space on the disk.",
        "mysqld: Disk is full writing 'x' (Errcode: 28)",
    ],
)
def test_a_full_disk_is_no_quota_of_a_provider(text: str, tool: str) -> None:
    assert kind_of(text, tool=tool) == "command_failed"


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ('Exception in thread "main" java.lang.NullPointerException\n\tat A.main(A.java:3)', "java"),
        ("tar: x: Cannot open: No such file or directory\ntar: Error is not recoverable: exiting now", "tar"),
        ("-bash: foo: comando no encontrado", "foo"),
        ("-zsh: foo: Befehl nicht gefunden", "foo"),
        ("fish: Unknown command: foo", "foo"),
        ("E: Impossible de trouver le paquet foo", "apt-get"),
        ("E: Paket foo kann nicht gefunden werden.", "apt"),
        ("Schwerwiegend: Kein Git-Repository", "git"),
        ("fatal : ni ceci ni aucun de ses r\u00e9pertoires parents n'est un d\u00e9p\u00f4t git : .git", "git"),
        ("main.c:3:5: Fehler: x nicht deklariert", "gcc"),
        ("main.c:3:5: errore: x non dichiarato", "gcc"),
        ("command timed out after 120 seconds", "slow"),
        ("PHP Fatal error:  Uncaught Error: x in a.php:3", "php"),
        ("a.rb:1:in `foo': boom (RuntimeError)", "ruby"),
    ],
)
def test_a_shells_failure_counts_whatever_its_words_and_letters(text: str, head: str) -> None:
    assert says_failure(text, tool="Bash", head=head)
    assert says_failure(f"some line\n{text}", tool="Bash", head=head) or text.startswith(("-", "fish"))
    assert not says_failure(f"notes: {text}", tool="Read")
    assert not says_failure(text.replace(":", " "), tool="Bash", head="cat")


@pytest.mark.parametrize("tool", ["Read", "fetch", "WebFetch", "mcp__shop__lookup", "query_db"])
@pytest.mark.parametrize(
    "text",
    ["404 Not Found", "HTTP 500 Internal Server Error", "503 Service Unavailable", "Timeout exceeded",
     "Fehler: nicht da", "deadline exceeded", "erreur : fichier introuvable"],
)  # fmt: skip
def test_a_sentence_that_is_all_of_an_answer_is_its_error(tool: str, text: str) -> None:
    assert says_failure(text, tool=tool)
    assert not says_failure(f"# {text}\n\nHow to handle it in your program.", tool=tool)


def test_a_code_beside_msg_is_a_code_beside_message() -> None:
    assert says_failure('{"code":500,"msg":"fail"}', tool="api")
    assert not says_failure('{"code":0,"msg":"ok"}', tool="api")
    assert not says_failure('{"code":200,"msg":"ok","data":{}}', tool="api")


PASSED = "error: Item 3 failed\nerror: All fail\n[db] Error in POST: gone\n 12 pass\n{}\n 90 calls\nRan 12 tests"


@pytest.mark.parametrize(
    ("report", "then", "failed"),
    [
        (" 0 fail", "", False),
        (" 1 fail", "", True),
        (" 0 fail", '\n\nerror: script "lint" exited with code 1', True),  # another command came after it
        ("test result: ok. 12 passed; 0 failed; 0 ignored", "", False),
        ("# fail 0", "", False),
        ("", "", True),
    ],
)
def test_errors_that_tests_print_before_their_runner_says_that_none_failed_are_none(
    report: str, then: str, failed: bool
) -> None:
    assert says_failure(PASSED.format(report) + then, tool="Bash", head="bun run", given="bun run test") is failed


@pytest.mark.parametrize("said", ["(Bash completed with no output)", "(no output)", "<no output>", "[No content]"])
def test_a_clients_words_for_no_output_break_no_silence(said: str) -> None:
    assert not says_failure(said, tool="Bash", head="rm", given="rm -f /tmp/shop.exe")
    assert says_failure("rm: /tmp/shop.exe: busy", tool="Bash", head="rm", given="rm -f /tmp/shop.exe")


USAGE = "\nusage: cat [-belnstuv] [file ...]"


@pytest.mark.parametrize(
    ("said", "given", "failed"),
    [
        (f"cat: illegal option -- A{USAGE}", "cat -A cart.ts | sed -n '3,9p'", True),
        (f"cat: illegal option -- A{USAGE}", "sed -n '3,9p' cart.ts | cat -A | head -5", True),
        ("error: unexpected argument '-A' found\n\nUsage: shop read <FILE>", "cat -A cart.ts", True),
        (f"cat: illegal option -- A{USAGE}", "cat notes.md", False),
        ("cat: illegal option -- A\nis what it says there", "cat -A notes.md", False),
    ],
)
def test_a_program_of_a_pipe_that_refuses_its_option_has_failed(said: str, given: str, failed: bool) -> None:
    assert says_failure(said, tool="Bash", head=given.split(" ")[0], given=given) is failed
