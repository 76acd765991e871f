"""Real coding agents for tests: each in a home of its own, talking to a scripted provider on loopback.

Claude Code comes inside the wheel `claude-agent-sdk`, Codex by npm into `.clients`; `scripts/clients.sh` brings both.
Where one cannot be had, its tests are skipped, and say so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from ratchet.hookpath import TIME_LIMIT_S
from support.provider import Call, Provider

ROOT = Path(__file__).parents[2]
LIMIT_S = 120.0
_QUIET = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING")
_SETTINGS = ("settings.json", "hooks.json", "ratchet.json", "ratchet.js")
_RATCHET = (sys.executable, "-m", "ratchet")


def claude_binary() -> Path | None:
    spec = find_spec("claude_agent_sdk")
    places = (spec.submodule_search_locations or []) if spec else []
    return next((path for place in places if (path := Path(place) / "_bundled" / "claude").exists()), None)


def codex_binary() -> Path | None:
    found = (ROOT / ".clients" / "node_modules" / "@openai").glob("codex-*/vendor/*/bin/codex")
    return next(iter(sorted(found)), None)


def eventually(holds: Callable[[], bool], what: str) -> None:
    """Wait for a process that nobody waits for."""
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline, f"it never happened: {what}"
        time.sleep(0.1)


class Machine:
    """A person's home with one coding agent, a project, and Ratchet."""

    name = ""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.user, self.project = root / "user", root / "shop"
        self.home = self.user / ".ratchet"
        self.user.mkdir(parents=True)
        self.project.mkdir()
        (self.project / "a.txt").write_text("hello\nworld\n")
        self.environ = {"HOME": str(self.user), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self.sh("git", "init", "-q", "-b", "fix-login")

    def sh(self, *words: str) -> str:
        done = subprocess.run(words, cwd=self.project, env=self.environ, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def ratchet(self, *words: str) -> str:
        return self.sh(*_RATCHET, *words)

    def run(self, command: str) -> Call:
        """Its call of a shell command."""
        raise NotImplementedError

    def start(self, provider: Provider, *more: str, prompt: str = "go") -> subprocess.Popen[str]:
        """Begin a session of its own."""
        raise NotImplementedError

    def session(self, provider: Provider, *more: str, prompt: str = "go") -> str:
        """Run a session to its end; return what it printed."""
        process = self.start(provider, *more, prompt=prompt)
        printed, _ = process.communicate(timeout=LIMIT_S)
        return printed

    def _begun(self, words: Sequence[str], environ: dict[str, str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            words,
            cwd=self.project,
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


class Claude(Machine):
    """Claude Code."""

    name = "claude-code"

    def __init__(self, root: Path) -> None:
        binary = claude_binary()
        if binary is None:
            pytest.skip("REAL CLIENT MISSING: no Claude Code here; scripts/clients.sh brings it")
        super().__init__(root)
        self._binary = binary

    def run(self, command: str) -> Call:
        return Call("Bash", {"command": command, "description": "x"})

    def start(self, provider: Provider, *more: str, prompt: str = "go") -> subprocess.Popen[str]:
        environ = {
            "ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "dummy", "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1", **dict.fromkeys(_QUIET, "1"),
        }  # fmt: skip
        words = [str(self._binary), "-p", prompt, "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions"]
        return self._begun([*words, "--output-format", "stream-json", "--verbose", *more], environ)


class Codex(Machine):
    """Codex CLI."""

    name = "codex"
    trusting = True
    """Whether hooks run that nobody trusted."""

    def __init__(self, root: Path) -> None:
        binary = codex_binary()
        if binary is None:
            pytest.skip("REAL CLIENT MISSING: no Codex here; scripts/clients.sh brings it")
        super().__init__(root)
        self._binary = binary

    def run(self, command: str) -> Call:
        return Call("exec_command shell", {"cmd": command})

    def configure(self, provider: Provider) -> None:
        """Name the provider in its settings; again for another one."""
        path = self.user / ".codex" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        kept = path.read_text().partition("# ours\n")[2] if path.exists() else ""
        path.write_text(
            f'model = "gpt-5"\nmodel_provider = "fake"\napproval_policy = "never"\n'
            f'sandbox_mode = "danger-full-access"\n[analytics]\nenabled = false\n[model_providers.fake]\n'
            f'name = "fake"\nbase_url = "{provider.url}/v1"\nwire_api = "responses"\nenv_key = "FAKE"\n# ours\n{kept}'
        )

    def start(self, provider: Provider, *more: str, prompt: str = "go") -> subprocess.Popen[str]:
        self.configure(provider)
        trust = ["--dangerously-bypass-hook-trust"] if self.trusting else []
        words = [str(self._binary), "exec", "--json", "--skip-git-repo-check", *trust, *more, prompt]
        return self._begun(words, {"FAKE": "dummy"})

    def trust(self) -> None:
        """Trust its hooks as a person does in /hooks: by the hashes that its own app server tells."""
        asked = [
            {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1", "title": "t"}}},
            {"method": "initialized"},
            {"id": 2, "method": "hooks/list", "params": {"cwds": [str(self.project)]}},
        ]
        server = subprocess.Popen(
            [str(self._binary), "app-server"],
            cwd=self.project, env=self.environ, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        for each in asked:
            server.stdin.write(json.dumps(each) + "\n")
        server.stdin.flush()
        answer = next(told for line in server.stdout if (told := json.loads(line)).get("id") == 2)
        server.kill()
        server.communicate()
        with (self.user / ".codex" / "config.toml").open("a") as file:
            for hook in answer["result"]["data"][0]["hooks"]:
                key, known = json.dumps(hook["key"]), json.dumps(hook["currentHash"])
                file.write(f"[hooks.state.{key}]\ntrusted_hash = {known}\n")


def where(provider: Provider, text: str) -> list[int]:
    """The places of the requests in which a text stands."""
    return [at for at, body in enumerate(provider.texts()) if text in body]


def silence_the_start(machine: Machine) -> None:
    """Have the start of a session told to nobody: what is asked is whether the failure brings the lesson.

    Its hooks get ten times their time, too: on a busy machine a client gives up on one, or the hook itself, and that is
    not what is asked.
    """
    patient = f"import ratchet.hookpath as hook;hook.TIME_LIMIT_S={10 * TIME_LIMIT_S};hook.run()"
    for path in machine.user.rglob("*"):
        if path.name in _SETTINGS and machine.home not in path.parents:
            silent = re.sub(r"\b(?:[sS]ession|[sS]ubagent)Start( --|(?= 2>))", r"Nothing\1", path.read_text())
            silent = silent.replace("from ratchet.hookpath import run;run()", patient)
            path.write_text(re.sub(r'("timeout\w*": \d+)', r"\g<1>0", silent))


def teach(machine: Machine, lessons: Sequence[dict[str, object]]) -> None:
    """Put active lessons into the store, and tell the hooks; nothing is withheld."""
    from ratchet.failures.kinds.kind import kind_of
    from ratchet.failures.signature import sign, template_of
    from ratchet.lessons import exposure
    from ratchet.records import Row
    from ratchet.store.sqlite import SqliteStore

    machine.home.mkdir(exist_ok=True, mode=0o700)
    (machine.home / "ratchet.toml").write_text("withheld_share = 0\n")
    store = SqliteStore(machine.home / "ratchet.db")
    for number, lesson in enumerate(lessons):
        error = str(lesson["error"])
        template = template_of(error)
        row: Row = {
            "id": f"l-{number}", "state": "active", "scope": "global", "signature": sign(kind_of(error), template),
            "pattern": f"p-{number}", "kind": "command_failed", "tool": "", "head": "", "target": "",
            "when_text": template, "text": str(lesson["advice"]), "tried": 5, "worked": 4, "uses": 0, "wins": 0,
            "created_at": 1.0, "updated_at": 1.0, "projects": [], "sessions": ["a", "b"], "failed": "",
            "example": "",
        }  # fmt: skip
        store.insert_new("lessons", [row])
    store.close()
    exposure.publish(str(machine.home), active=len(lessons), withheld=0.0, effects={})


MOVED = "  hello\n  world"
"""The text of `a.txt` as an edit may have it, further right than it stands there."""
MOVED_ANSWER = "The text stands at lines 1 and 2 of this file with 2 blanks less before each line than in the call."


def teach_edits(machine: Machine) -> None:
    """Let an earlier session have failed at an edit."""
    from ratchet.failures.patterns.ingest import ingest
    from ratchet.lessons import exposure
    from ratchet.lessons.mined import mine_session
    from ratchet.records import Row
    from ratchet.store.sqlite import SqliteStore
    from support.sessions import call, session

    teach(machine, [])
    store = SqliteStore(machine.home / "ratchet.db")
    asked: Row = {"file_path": "/w/shop/cart.py", "old_string": "a", "new_string": "b"}
    ingest(store, session([call("Edit", asked, "String to replace not found in file.")]))
    assert mine_session(store, "s1").changed
    store.close()
    exposure.publish(str(machine.home), active=1, withheld=0.0, effects={})
