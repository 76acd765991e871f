"""Declares a worker: who does the work, what it can, how much at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ratchet.arguments import need_number
from ratchet.errors import UsageError
from ratchet.team.values import check_name

if TYPE_CHECKING:
    from ratchet.records import Json
    from ratchet.team.hands.reply import Hands


@dataclass(frozen=True, slots=True, kw_only=True)
class _Declared:
    name: str
    function: Callable[..., object] | None = None
    command: tuple[str, ...] = ()
    folder: str = ""
    agent: object | None = None
    url: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # may hold a key
    mcp: str | tuple[str, ...] = ""
    tool: str = ""
    isolated: bool = False


class Worker:
    """Someone who does tasks: a Python function, a command, a framework's agent, an HTTP or an MCP endpoint.

    `function` is called with the task's work, or with (work, context) where it takes two (`Handed`). It runs in this
    process, a coroutine in the loop and any other function in a thread, unless `isolated` gives it processes of its
    own: then a crash, a hang, an exit or a flood ends there, and a result outlives this process. A `command` always has
    one. It reads the work on standard input, and its output is the result. `mcp` is an address or a server's command,
    and `tool` the tool of it that is called.

    `skills` are what it can do, `about` says so to a supervisor's model; `slots` is how many tasks it takes at a time.
    Raises UsageError for what makes no worker.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., object] | None = None,
        *,
        command: Sequence[str] = (),
        folder: str | Path = "",
        agent: object | None = None,
        url: str = "",
        headers: Mapping[str, str] | None = None,
        mcp: str | Sequence[str] = "",
        tool: str = "",
        skills: Sequence[str] = (),
        about: str = "",
        slots: int = 1,
        isolated: bool = False,
    ) -> None:
        check_name("a worker's name", name)
        for skill in skills:
            check_name(f"a skill of worker {name!r}", skill)
        if isinstance(command, str):
            raise UsageError(f"worker {name!r}: command is a text: give its words, such as ['python', 'agent.py']")
        ways = [way for way in (function, command, agent, url, mcp) if way]
        if len(ways) != 1:
            raise UsageError(f"worker {name!r} needs one of function, command, agent, url and mcp; it has {len(ways)}")
        if bool(mcp) != bool(tool):
            raise UsageError(f"worker {name!r}: mcp names the server and tool its tool: give both")
        need_number(f"slots of worker {name!r}", slots, least=1, whole=True)
        if isolated and function is None:
            raise UsageError(f"worker {name!r}: only a function needs isolated=True; leave it out")
        self.name, self.skills, self.about, self.slots = name, frozenset(skills), about, slots
        self._declared = _Declared(
            name=name,
            function=function,
            command=tuple(command),
            folder=str(Path(folder).resolve()) if folder else "",
            agent=agent,
            url=url,
            headers=tuple((headers or {}).items()),
            mcp=mcp if isinstance(mcp, str) else tuple(mcp),
            tool=tool,
            isolated=isolated,
        )
        self._check()

    def __repr__(self) -> str:
        return f"Worker({self.name!r}, skills={sorted(self.skills)})"

    @property
    def outlives(self) -> bool:
        """Tell whether its work goes on to its end where this process dies, and leaves its result behind."""
        return self._declared.isolated or bool(self._declared.command)

    def can(self, skill: str) -> bool:
        return not skill or skill in self.skills

    def hands(self, folder: Path) -> Hands:
        """Make what does its work; `folder` is where processes of its own leave their results."""
        held = self._declared
        if held.mcp:
            from ratchet.team.hands.mcp import McpHands

            return McpHands(held.mcp, held.tool)
        if held.url:
            from ratchet.team.hands.http import HttpHands

            return HttpHands(held.url, held.headers)
        target = self._target()
        if target is not None:
            from ratchet.team.hands.process import ProcessHands

            return ProcessHands(self.name, target, folder)
        from ratchet.team.hands.inline import InlineHands

        return InlineHands(self._function())

    def _function(self) -> Callable[..., object]:
        if self._declared.agent is not None:
            from ratchet.team.hands.agent import agent_function

            return agent_function(self._declared.agent)
        assert self._declared.function is not None
        return self._declared.function

    def _target(self) -> dict[str, Json] | None:
        held = self._declared
        if held.command:
            return {"command": [*held.command], "folder": held.folder}
        if not held.isolated:
            return None
        from ratchet.team.hands.process import target_of

        assert held.function is not None
        return target_of(held.function)

    def _check(self) -> None:
        """Say here what would fail at the first task."""
        if self._declared.url and not self._declared.url.startswith(("http://", "https://")):
            raise UsageError(
                f"worker {self.name!r}: url is {self._declared.url!r:.80}: begin it with http:// or https://"
            )
        if self._declared.agent is not None:
            self._function()
        elif self._declared.isolated:
            self._target()
