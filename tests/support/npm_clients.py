"""More real coding agents for tests, by npm in `.clients`; `scripts/clients.sh` brings the smallest two, and all of
them with `--all`. See `support.clients`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from support.clients import ROOT, Machine
from support.provider import Call, Provider

BINARIES = ROOT / ".clients" / "node_modules" / ".bin"


class NpmClient(Machine):
    """A client whose command npm installed."""

    shell = ""
    """Its tool that runs commands."""

    def __init__(self, root: Path) -> None:
        self._binary = BINARIES / self.name
        if not self._binary.exists():
            pytest.skip(f"REAL CLIENT MISSING: no {self.name} here; `scripts/clients.sh --all` brings it")
        super().__init__(root)
        self.settle_down()

    def settle_down(self) -> None:
        """Write the settings that a test needs, before anybody else writes any."""

    def run(self, command: str) -> Call:
        return Call(self.shell, {"command": command, "description": "x"})

    def missing(self) -> Call:
        """Its call that reads a file which is not there."""
        raise NotImplementedError

    def edit(self, old: str) -> Call:
        """Its call that replaces a text in a.txt."""
        raise NotImplementedError

    def _written(self, path: str, settings: object) -> None:
        file = self.user / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings, indent=2))


class Gemini(NpmClient):
    """Gemini CLI."""

    name = "gemini"
    shell = "run_shell_command"

    def settle_down(self) -> None:
        self._written(
            ".gemini/settings.json",
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "general": {"enableAutoUpdate": False},
                "privacy": {"usageStatisticsEnabled": False},
                "telemetry": {"enabled": False},
            },
        )

    def missing(self) -> Call:
        return Call("read_file", {"file_path": str(self.project / "nowhere.txt")})

    def edit(self, old: str) -> Call:
        path = str(self.project / "a.txt")
        return Call("replace", {"file_path": path, "old_string": old, "new_string": "bye", "instruction": "x"})

    def start(self, provider: Provider, *more: str, prompt: str = "go") -> subprocess.Popen[str]:
        environ = {
            "GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": provider.url, "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }  # fmt: skip
        return self._begun([str(self._binary), "-p", prompt, "--yolo", "-m", "gemini-2.5-flash", *more], environ)


class Qwen(NpmClient):
    """Qwen Code."""

    name = "qwen"
    shell = "run_shell_command"

    def settle_down(self) -> None:
        quiet = {"privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}}
        self._written(".qwen/settings.json", quiet)

    def run(self, command: str) -> Call:
        return Call(self.shell, {"command": command, "description": "x", "is_background": False})

    def missing(self) -> Call:
        return Call("read_file", {"file_path": str(self.project / "nowhere.txt")})

    def edit(self, old: str) -> Call:
        path = str(self.project / "a.txt")
        return Call("edit", {"file_path": path, "old_string": old, "new_string": "bye"})

    def start(self, provider: Provider, *more: str, prompt: str = "go") -> subprocess.Popen[str]:
        environ = {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{provider.url}/v1", "OPENAI_MODEL": "fake"}
        return self._begun([str(self._binary), "-p", prompt, "--yolo", "--auth-type", "openai", *more], environ)


class Copilot(NpmClient):
    """Copilot CLI."""

    name = "copilot"
    shell = "bash"

    def missing(self) -> Call:
        return Call("view", {"path": str(self.project / "nowhere.txt")})

    def edit(self, old: str) -> Call:
        return Call("edit", {"path": str(self.project / "a.txt"), "old_str": old, "new_str": "bye"})

    def start(self, provider: Provider, *more: str, prompt: str = "go") -> subprocess.Popen[str]:
        environ = {
            "COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": f"{provider.url}/v1", "COPILOT_MODEL": "gpt-5",
            "COPILOT_PROVIDER_TYPE": "openai", "COPILOT_PROVIDER_API_KEY": "dummy",
        }  # fmt: skip
        words = [str(self._binary), "-p", prompt, "--allow-all-tools", "--allow-all-paths", *more]
        return self._begun(words, environ)


class Opencode(NpmClient):
    """opencode."""

    name = "opencode"
    shell = "bash"

    def missing(self) -> Call:
        return Call("read", {"filePath": str(self.project / "nowhere.txt")})

    def edit(self, old: str) -> Call:
        return Call("edit", {"filePath": str(self.project / "a.txt"), "oldString": old, "newString": "bye"})

    def start(self, provider: Provider, *more: str, prompt: str = "go") -> subprocess.Popen[str]:
        model = {"name": "m", "tool_call": True, "limit": {"context": 100_000, "output": 8_000}}
        fake = {
            "npm": "@ai-sdk/openai-compatible", "name": "fake", "models": {"m": model},
            "options": {"baseURL": f"{provider.url}/v1", "apiKey": "dummy"},
        }  # fmt: skip
        settings = {"autoupdate": False, "share": "disabled", "provider": {"fake": fake}}
        environ = {"OPENCODE_CONFIG_CONTENT": json.dumps(settings)}
        return self._begun([str(self._binary), "run", "-m", "fake/m", *more, prompt], environ)


class Cline(NpmClient):
    """Cline. It leaves a daemon of its own, which is ended with the session."""

    name = "cline"
    shell = "run_commands"

    def run(self, command: str) -> Call:
        return Call(self.shell, {"commands": [command]})

    def missing(self) -> Call:
        return Call("read_files", {"files": [{"path": str(self.project / "nowhere.txt")}]})

    def edit(self, old: str) -> Call:
        return Call("editor", {"path": str(self.project / "a.txt"), "old_text": old, "new_text": "bye"})

    def start(self, provider: Provider, *more: str, prompt: str = "go") -> subprocess.Popen[str]:
        url = f"{provider.url}/v1"
        self.sh(str(self._binary), "auth", "openai-compatible", "-k", "dummy", "-m", "fake", "-b", url)
        return self._begun([str(self._binary), "--json", *more, f"please do {prompt}"], {})

    def session(self, provider: Provider, *more: str, prompt: str = "go") -> str:
        printed = super().session(provider, *more, prompt=prompt)
        lock = self.user / ".cline/data/locks/hub/production.json"
        if lock.exists():
            os.kill(int(json.loads(lock.read_text())["pid"]), signal.SIGTERM)
        return printed


class Pi(NpmClient):
    """pi."""

    name = "pi"
    shell = "bash"

    def settle_down(self) -> None:
        self._written(".pi/agent/settings.json", {"quietStartup": True})

    def missing(self) -> Call:
        return Call("read", {"path": str(self.project / "nowhere.txt")})

    def edit(self, old: str) -> Call:
        return Call("edit", {"path": str(self.project / "a.txt"), "edits": [{"oldText": old, "newText": "bye"}]})

    def start(self, provider: Provider, *more: str, prompt: str = "go") -> subprocess.Popen[str]:
        model = {"id": "m", "name": "m", "contextWindow": 100_000, "maxTokens": 8_000}
        fake = {"baseUrl": f"{provider.url}/v1", "api": "openai-completions", "apiKey": "dummy", "models": [model]}
        self._written(".pi/agent/models.json", {"providers": {"fake": fake}})
        words = [str(self._binary), "-p", "--provider", "fake", "--model", "m", *more, prompt]
        return self._begun(words, {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"})


EVERY = (Gemini, Qwen, Copilot, Opencode, Cline, Pi)
