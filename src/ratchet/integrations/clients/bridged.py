"""Clients that load a plugin of ours: it speaks Claude Code's dialect to the hook, whatever the client's own is.

A plugin is `bridge.js` and the script beside the client's module. What a lesson is, it says where a request is made,
not where a call ends: there calls that were refused before they ran are not told of. So what is added reaches the
model and is not written into the history. A call in its batches may say `is_error` and `exit_code`.
"""

from __future__ import annotations

from ratchet.integrations.clients.client import Client, ClientCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ratchet.integrations.clients.client import Role
    from ratchet.records import Row

_EVENTS: Mapping[str, Role] = {"SessionStart": "start", "PostToolBatch": "finished", "Stop": "turn"}
_FAILED = (b'"is_error":true', b'"exit_code":')


class BridgedClient(Client):
    """A client with a plugin of ours."""

    events = _EVENTS
    shell = "bash"

    def script(self, key: str, commands: Mapping[str, str]) -> str:
        """The plugin, with the hook's commands in it."""
        import inspect
        import json
        from pathlib import Path

        del key
        own = Path(inspect.getfile(type(self))).with_suffix(".js")
        code = "".join(path.read_text(encoding="utf-8") for path in (Path(__file__).with_name("bridge.js"), own))
        code = code.replace('"COMMANDS"', json.dumps(commands, ensure_ascii=False, indent=2))
        return f"// ratchet: begin (`ratchet uninstall {self.name}` takes it out)\n{code}// ratchet: end\n"

    def is_worth_reading(self, role: Role, data: bytes) -> bool:
        """A call that the plugin says failed is, whatever it said."""
        return (role == "finished" and any(mark in data for mark in _FAILED)) or super().is_worth_reading(role, data)

    def call(self, role: Role, data: Row) -> ClientCall:
        """A call with what the client says of it."""
        call = super().call(role, data)
        code = data.get("exit_code")
        call.flag = True if data.get("is_error") is True else None
        call.exit_code = code if type(code) is int else None
        return call
