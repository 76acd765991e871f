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
    """A server under `key`: "mcpServers" of a JSON file, or "mcp.servers", an object within one; "mcp_servers" of a
    TOML one."""

    key: str

    @property
    def _keys(self) -> list[str]:
        return self.key.split(".")

    def held(self, path: Path, text: str) -> Json:
        """Our entry. Raises Refused for one that is somebody else's, or an odd shape."""
        settings = _parsed(path, text)
        servers: Json = settings
        for key in self._keys:
            servers = servers.get(key, {}) if isinstance(servers, dict) else servers
        if not isinstance(servers, dict):
            raise Refused(
                f'{path}: "{self.key}" is not an object; the file is left as it is: mend it, then run this again'
            )
        found = servers.get(NAME)
        if found is None:
            return None
        words = _words(found)
        if _MODULE[1] not in words or words[-1:] != ["mcp"]:
            raise Refused(
                f"{path} names another server {NAME!r}; it is left as it is: rename that one, then run this again"
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
        return json_text.JsonText().put(text, (*self._keys, NAME), wanted)

    def without_ours(self, path: Path, text: str, original: str | None) -> str:
        """The text without our entry; servers that the person had left empty stay so."""
        if self.held(path, text) is None:
            return text
        if _is_toml(path):
            return self._without_table(text)
        was = _parsed(path, original) if original is not None else {}
        kept = 0  # objects on the way to ours that the person had
        for key in self._keys:
            held = was.get(key)
            if not isinstance(held, dict):
                break
            was, kept = held, kept + 1
        path_to = [json_text.root(text)]
        for key in self._keys:
            found = json_text.member(text, path_to[-1], key)
            assert found is not None
            path_to.append(found.value_start)
        for depth in range(len(self._keys), -1, -1):  # from our entry outwards, as far as objects hold nothing else
            names = [item.key for item in json_text.items(text, path_to[depth])]
            if len(names) > 1 or depth <= kept:
                break
        return json_text.without_item(text, path_to[depth], names.index([*self._keys, NAME][depth]))

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
        raise Refused(f"{path}: {error}, then run this again") from error
    except (ValueError, RecursionError) as error:
        raise Refused(
            f"{path} is not valid TOML ({error}); it is left as it is: mend it, then run this again"
        ) from error


def _is_toml(path: Path) -> bool:
    return path.suffix == ".toml"
