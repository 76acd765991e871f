"""Our MCP server in a coding agent's settings, JSON or TOML."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ratchet.errors import Refused
from ratchet.improving.targets import json_text
from ratchet.integrations.clients.client import Client
from ratchet.records import Json, Row

NAME = "ratchet"
"""What the server is called in the agent's settings."""
_MODULE = ["-m", "ratchet"]


@dataclass(frozen=True, slots=True)
class ServerForm:
    """A server under `key`: "mcpServers" of a JSON file, "mcp_servers" of a TOML one."""

    key: str

    def held(self, path: Path, text: str) -> Json:
        """Our entry. Raises Refused for one that is somebody else's, or an odd shape."""
        settings = _parsed(path, text)
        servers = settings.get(self.key, {})
        if not isinstance(servers, dict):
            raise Refused(
                f'{path}: "{self.key}" is not an object; the file is left as it is: mend it, then install again'
            )
        found = servers.get(NAME)
        if found is None:
            return None
        words = _words(found)
        if _MODULE[1] not in words or words[-1:] != ["mcp"]:
            raise Refused(
                f"{path} names another server {NAME!r}; it is left as it is: rename that one, then install again"
            )
        return found

    def with_ours(self, path: Path, text: str, wanted: Json) -> str:
        """The text with our entry as the last of the servers."""
        assert isinstance(wanted, dict)
        if _is_toml(path):
            gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
            lines = [
                self._head,
                *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in wanted.items()),
            ]
            return f"{text}{gap}{chr(10).join(lines)}\n"
        text = text if text.removeprefix("\ufeff").strip() else "{\n}\n"
        start = json_text.root(text)
        servers = json_text.member(text, start, self.key)
        if servers is None:
            return json_text.with_item(text, start, {NAME: wanted}, key=self.key)
        return json_text.with_item(text, servers.value_start, wanted, key=NAME)

    def without_ours(self, path: Path, text: str, original: str | None) -> str:
        """The text without our entry; servers that the person had left empty stay so."""
        if self.held(path, text) is None:
            return text
        if _is_toml(path):
            return self._without_table(text)
        start = json_text.root(text)
        servers = json_text.member(text, start, self.key)
        assert servers is not None
        names = [item.key for item in json_text.items(text, servers.value_start)]
        if len(names) > 1 or (original is not None and self.key in _parsed(path, original)):
            return json_text.without_item(text, servers.value_start, names.index(NAME))
        keys = [item.key for item in json_text.items(text, start)]
        return json_text.without_item(text, start, keys.index(self.key))

    @property
    def _head(self) -> str:
        return f"[{self.key}.{NAME}]"

    def _without_table(self, text: str) -> str:
        """The text without our table's lines, and the blank one ahead of them; blank lines and comments behind its last
        value are the person's."""
        lines = text.splitlines(keepends=True)
        starts = [n for n, line in enumerate(lines) if line.strip().replace(" ", "") == self._head]
        if not starts:
            return text  # spelled another way: the check of the result says so
        start = starts[0]
        end = next((n for n in range(start + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines))
        while end > start + 1 and lines[end - 1].lstrip()[:1] in ("", "#"):
            end -= 1
        if start and not lines[start - 1].strip():
            start -= 1
        return "".join(lines[:start] + lines[end:])


def _words(entry: Json) -> list[Json]:
    """The command line of a server: a command with its arguments, or one list."""
    parts = [entry.get(name, []) for name in ("command", "args")] if isinstance(entry, dict) else []
    return [word for part in parts for word in (part if isinstance(part, list) else [part])]


def entry(client: Client, *, home: Path, extra: Row, environ: Mapping[str, str] | None = None) -> Json:
    """Entry that starts the server. `-I`: a project's own `ratchet.py` must not be run in its place."""
    environ = os.environ if environ is None else environ
    command = [sys.executable, "-I", *_MODULE]
    if home.absolute() != Path(environ.get("HOME") or Path.home()).absolute() / ".ratchet":
        command += ["--home", str(home.absolute())]
    return {**extra, **client.server([*command, "mcp"])}


def _parsed(path: Path, text: str) -> Row:
    try:
        return tomllib.loads(text.removeprefix("\ufeff")) if _is_toml(path) else json_text.parsed(text)
    except Refused as error:
        raise Refused(f"{path}: {error}, then install again") from error
    except (ValueError, RecursionError) as error:
        raise Refused(
            f"{path} is not valid TOML ({error}); it is left as it is: mend it, then install again"
        ) from error


def _is_toml(path: Path) -> bool:
    return path.suffix == ".toml"
