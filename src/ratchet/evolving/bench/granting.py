"""Asks once for what an agent's own declaration wants beyond its sandbox, for each folder and set of wishes.

A folder may come from anybody, and its `net`, `pass_env` and `readable` would hand whoever wrote it the network, keys
and files. What is given by hand for a run needs no other grant.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ratchet import files
from ratchet.errors import BackendError, Refused, UsageError
from ratchet.evolving.bench.agents import FILE_NAME, declared
from ratchet.evolving.bench.benchmark import Agent
from ratchet.ids import hex_of

_FOLDER = "granted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """Answer about an agent's declaration: its wishes beyond its sandbox, in words, and whether it has them all."""

    folder: str
    asks: tuple[str, ...]
    granted: bool


def wishes(
    agent: Agent, *, net: str | None = None, pass_env: Collection[str] = (), readable: Collection[Path] = ()
) -> tuple[str, ...]:
    """Return the wishes of an agent whose folder declares it, in words, but for what is given besides. Files of the
    folder itself are no wish, unless a link leads out of it; nor are those that a command names which somebody wrote.
    """
    if not agent.folder or not (Path(agent.folder) / FILE_NAME).is_file():
        return ()
    try:
        named = declared(Path(agent.folder)).readable
    except UsageError:  # so it was not read for this agent
        return ()
    top, given = os.path.realpath(agent.folder), {os.path.realpath(each) for each in readable}
    shown = {each: os.path.realpath(each) for each in agent.readable if each in named}
    return (
        *((f"the network ({agent.net})",) if agent.net not in ("none", net) else ()),
        *(f"the variable {each}" for each in agent.pass_env if each not in pass_env),
        *(f"to read {each}" for each, real in shown.items() if not (real in given or _is_beneath(real, top))),
    )


def need_granted(
    home: Path,
    agent: Agent,
    *,
    net: str | None = None,
    pass_env: Collection[str] = (),
    readable: Collection[Path] = (),
) -> None:
    """Raise Refused where an agent's declaration asks for what nobody granted it."""
    asks = wishes(agent, net=net, pass_env=pass_env, readable=readable)
    if asks and not {*asks} <= {*_held(home, agent.folder)}:
        raise Refused(
            f"{Path(agent.folder) / FILE_NAME} asks for {', '.join(asks)}; whoever wrote the agent would have that. "
            f"Look at it, then grant it: ratchet bench grant {agent.folder}"
        )


def grant(home: Path, agent: Agent, *, show: bool = False) -> Granted:
    """Grant a folder what its declaration asks for, until it asks for something else; with `show` only say what that
    is. Raises UsageError for an agent without a declaration, BackendError."""
    if not agent.folder:
        raise UsageError("only a folder with a ratchet-agent.toml asks for anything by itself: name one")
    asks = wishes(declared(Path(agent.folder)))
    place = _place(home, agent.folder, asks)
    if asks and not show:
        told = json.dumps({"folder": agent.folder, "asks": asks}, ensure_ascii=False)
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.settled(place, files.bytes_of(told))
        except OSError as error:
            raise BackendError(f"{place} cannot be written ({error.strerror}); nothing is granted") from error
    return Granted(folder=agent.folder, asks=asks, granted=not asks or place.is_file())


def _held(home: Path, folder: str) -> tuple[str, ...]:
    """Return the granted wishes of a folder, as far as its declaration has them now."""
    asks = wishes(declared(Path(folder)))
    return asks if _place(home, folder, asks).is_file() else ()


def _place(home: Path, folder: str, asks: tuple[str, ...]) -> Path:
    return home / _FOLDER / f"{hex_of(json.dumps([os.path.realpath(folder), *asks]))}.json"


def _is_beneath(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder
