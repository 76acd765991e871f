"""What a hook and `import ratchet` may load: start-up is the product."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ratchet
from ratchet.failures.kinds.table import KINDS
from ratchet.lessons import exposure
from ratchet.lessons.ahead.trigger import Trigger
from ratchet.lessons.lookup import KINDS as SIGNED_KINDS
from ratchet.records import Row
from ratchet.store.sqlite import SqliteStore
from support.triggers import trigger_file

SOURCE = str(Path(ratchet.__file__).parent.parent)
LEAN = {
    "errors",
    "failures",
    "failures.diagnostic_forms",
    "failures.diagnostics",
    "failures.circles",
    "failures.excerpt",
    "failures.expressions",
    "failures.failed_tests",
    "failures.features",
    "failures.gated",
    "failures.intent",
    "failures.ours",
    "failures.kinds",
    "failures.kinds.kind",
    "failures.kinds.phrases",
    "failures.kinds.structure",
    "failures.missing_names",
    "failures.programs",
    "failures.redaction",
    "failures.redaction.commands",
    "failures.redaction.values",
    "failures.redaction.forms",
    "failures.redaction.keys",
    "failures.redaction.lines",
    "failures.redaction.literals",
    "failures.redaction.named",
    "failures.redaction.provider_forms",
    "failures.redaction.providers",
    "failures.redaction.text",
    "failures.runner_reports",
    "failures.signature",
    "failures.steps",
    "failures.tool_call",
    "failures.tracebacks",
    "failures.unflagged",
    "failures.verdict",
    "files",
    "hookpath",
    "ids",
    "integrations",
    "integrations.circling",
    "integrations.clients",
    "integrations.clients.claude_code",
    "integrations.clients.client",
    "integrations.clients.codex",
    "integrations.clients.cursor",
    "integrations.detached",
    "lessons",
    "lessons.ahead",
    "lessons.ahead.importing",
    "lessons.ahead.sighted",
    "lessons.ahead.trigger",
    "lessons.exposure",
    "lessons.fence",
    "lessons.finding",
    "lessons.grounding",
    "lessons.lookup",
    "lessons.passages",
    "lessons.paths",
    "lessons.ranking",
    "lessons.ranking_containment",
    "lessons.ranking_words",
    "lessons.reply",
    "lessons.rests",
    "lessons.reviewed",
    "lessons.standing",
    "lessons.told",
    "lessons.tool_names",
    "recording",
    "recording.journal",
    "recording.live",
    "recording.notices",
    "recording.wire",
    "sandbox",
    "sandbox.gitfiles",
}
# `json` needs `re`, and `re` needs `enum`: what Python's own modules load cannot be helped. Ours add none of these.
BARRED = {
    "dataclasses", "typing", "logging", "pathlib", "inspect", "datetime", "hashlib", "_hashlib", "sqlite3",
    "subprocess", "importlib.metadata", "tomllib", "click", "rich", "site",
}  # fmt: skip


def loaded(code: str, stdin: bytes = b"") -> set[str]:
    """Names of the modules that a bare interpreter has loaded after `code`."""
    script = f"import sys;sys.path.insert(0,{SOURCE!r});{code}\nimport json;print(json.dumps(sorted(sys.modules)))"
    bare = [sys.executable, "-I", "-S", "-c", script]
    done = subprocess.run(bare, input=stdin, capture_output=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_ratchet_loads_nothing_else() -> None:
    assert loaded("import ratchet") - loaded("") == {"ratchet"}


def test_a_session_start_without_lessons_loads_neither_json_nor_sqlite(tmp_path: Path) -> None:
    code = f"from ratchet.hookpath import main;main(['SessionStart','--home',{str(tmp_path)!r}]);names=set(sys.modules)"
    bare = [sys.executable, "-I", "-S", "-c", f"import sys;sys.path.insert(0,{SOURCE!r});{code};print(*names)"]
    done = subprocess.run(bare, input=b"{}", capture_output=True, check=True, text=False)
    names = set(done.stdout.decode().split())
    assert not names & (BARRED | {"json", "re", "enum", "_sqlite3", "collections"})
    ours = {name for name in names if name.startswith("ratchet")}
    assert ours == {
        "ratchet",
        "ratchet.hookpath",
        "ratchet.integrations",
        "ratchet.integrations.clients",
        "ratchet.integrations.clients.claude_code",
        "ratchet.integrations.clients.client",
        "ratchet.lessons",
        "ratchet.lessons.exposure",
        "ratchet.ids",
    }


@pytest.mark.parametrize("event", ["SessionStart", "PreToolUse", "PostToolUseFailure"])
def test_an_event_with_lessons_loads_lean_modules_only(tmp_path: Path, event: str) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    row: Row = {
        "id": "l",
        "state": "active",
        "scope": "global",
        "text": "x",
        "tried": 2,
        "worked": 2,
        "when_text": "fatal: no upstream branch here",
        "tool": "Bash",
        "head": "git push",
        "failed": "git push",
    }
    store.insert_new("lessons", [row])
    store.close()
    known = Trigger(needle="push", kind="bare", tool="", head="", word="git", lesson="l", pattern="p", text="x")
    trigger_file(tmp_path, "/p", [known])
    payload = {
        "session_id": "s",
        "cwd": "/p",
        "tool_name": "Bash",
        "tool_input": {"command": "git push"},
        "tool_use_id": "toolu_01ABCDEFGHIJKLMNOPQRSTUV",
        "error": "fatal: no upstream branch here now",
    }
    code = f"from ratchet.hookpath import main;main([{event!r},'--home',{str(tmp_path)!r}])"
    names = loaded(code, json.dumps(payload).encode())
    assert not names & BARRED
    assert {name.removeprefix("ratchet.") for name in names if name.startswith("ratchet.")} <= LEAN
    assert "ratchet.failures.kinds.kind" not in names


@pytest.mark.parametrize("event", ["PostToolUseFailure", "SessionStart"])
def test_an_event_like_one_before_compiles_no_expression_and_loads_no_functools(tmp_path: Path, event: str) -> None:
    store = SqliteStore(tmp_path / "ratchet.db")
    row: Row = {"id": "l", "state": "active", "scope": "global", "text": "push to <branch>", "when_text": "no <name>"}
    store.insert_new("lessons", [row | {"tried": 2, "worked": 2, "tool": "Bash", "head": "git push", "failed": "git"}])
    store.close()
    exposure.publish(str(tmp_path), active=1, withheld=0.0, effects={})  # no coin: every session is told
    code = f"from ratchet.hookpath import main;main([{event!r},'--home',{str(tmp_path)!r}])"
    bare = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys;sys.path.insert(0,{SOURCE!r});{code};print(*({{'re','functools'}}&sys.modules.keys()))",
    ]
    said = []
    for call in ("toolu_1", "toolu_2"):
        told = {"session_id": "s", "cwd": "/p", "tool_name": "Bash", "tool_input": {"command": "git push"},
                "tool_use_id": call, "error": "fatal: no upstream branch here now"}  # fmt: skip
        done = subprocess.run(bare, input=json.dumps(told).encode(), capture_output=True, check=True)
        said.append(done.stdout.decode().splitlines()[-1])
        assert event != "SessionStart" or "<branch>" in done.stdout.decode()
    assert "re" in said[0]
    assert said[1] == ""


def test_what_a_hook_lends_to_sqlite_serves_a_process_that_goes_on() -> None:
    """More statements than a connection remembers, and all of `functools` for whoever asks later."""
    code = (
        "from ratchet.lessons import lookup;import functools,sqlite3;"
        "held=lookup.sqlite3.connect(':memory:');"
        "added=[held.execute(f'SELECT {n} + ?',(n,)).fetchone()[0] for n in range(300)];"
        "more=sqlite3.connect(':memory:').execute('SELECT 1').fetchone();"
        "assert added==[2*n for n in range(300)] and more==(1,) and functools.partial"
    )
    assert "functools" in loaded(code)


def test_a_lean_module_loads_nothing_slow() -> None:
    every = sorted(f"ratchet.{module}" for module in LEAN)
    if loaded("import " + ",".join(every)) & BARRED:
        found = {module: loaded(f"import {module}") & BARRED for module in every}
        raise AssertionError({module: names for module, names in found.items() if names})


def test_a_hook_signs_for_every_kind() -> None:
    assert sorted(SIGNED_KINDS.split()) == sorted(KINDS)
