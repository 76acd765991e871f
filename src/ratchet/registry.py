"""Finds providers: built-ins and plugins register by the same entry points; a person may name a class directly. And
names the command that adds an extra (`serve`, `prices`, ...) to this very copy of Ratchet."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from ratchet.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from ratchet.evolving.job import AgentProposer, ProposerOptions
    from ratchet.healing.job import Judge, Solver, SolverOptions
    from ratchet.integrations.clients.client import Client
    from ratchet.ports import Proposer, Sandbox, Source

SOURCES = "ratchet.sources"
PROPOSERS = "ratchet.proposers"
SOLVERS = "ratchet.solvers"
JUDGES = "ratchet.judges"
AGENT_PROPOSERS = "ratchet.agent_proposers"
SANDBOXES = "ratchet.sandboxes"
CLIENTS = "ratchet.clients"

_BUILT_IN: Mapping[str, Mapping[str, str]] = {
    CLIENTS: {
        "aider": "ratchet.integrations.clients.aider:AiderClient",
        "claude-code": "ratchet.integrations.clients.claude_code:ClaudeCodeClient",
        "cline": "ratchet.integrations.clients.cline:ClineClient",
        "codex": "ratchet.integrations.clients.codex:CodexClient",
        "copilot": "ratchet.integrations.clients.copilot:CopilotClient",
        "cursor": "ratchet.integrations.clients.cursor:CursorClient",
        "gemini": "ratchet.integrations.clients.gemini:GeminiClient",
        "openclaw": "ratchet.integrations.clients.openclaw:OpenclawClient",
        "opencode": "ratchet.integrations.clients.opencode:OpencodeClient",
        "pi": "ratchet.integrations.clients.pi:PiClient",
        "qwen": "ratchet.integrations.clients.qwen:QwenClient",
    },
    JUDGES: {
        "command": "ratchet.healing.judges.command:CommandJudge",
        "pytest": "ratchet.healing.judges.pytest:PytestJudge",
    },
    SOLVERS: {
        "auto": "ratchet.healing.solvers.auto:create",
        "repair": "ratchet.healing.solvers.repair:Repair",
        "model": "ratchet.healing.solvers.model:create",
        "command": "ratchet.healing.solvers.command:create",
    },
    SANDBOXES: {
        "bubblewrap": "ratchet.sandbox.bubblewrap:Bubblewrap",
        "landlock": "ratchet.sandbox.landlock:Landlock",
        "seatbelt": "ratchet.sandbox.foreign:Seatbelt",
        "docker": "ratchet.sandbox.foreign:Docker",
    },
    AGENT_PROPOSERS: {
        "settings": "ratchet.evolving.proposers.settings:create",
        "model": "ratchet.evolving.proposers.model:create",
        "command": "ratchet.evolving.proposers.command:create",
        "script": "ratchet.evolving.proposers.script:create",
    },
}
"""Group -> name -> where it is: imported when asked for."""


def entry_points(*, group: str) -> EntryPoints:
    """Find the entry points of a group. Looking costs a tenth of a second of imports: only where a name is not
    one of ours."""
    from importlib.metadata import entry_points as registered

    return registered(group=group)


def named(group: str, name: str) -> object:
    """The provider `name` of an entry point group, or the object at `package.module:Class`.

    Raises UsageError naming the known providers.
    """
    name = _BUILT_IN.get(group, {}).get(name, name)
    if ":" in name:
        module, _, attribute = name.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise UsageError(f"cannot load {name!r}: {error}") from error
    known = {point.name: point for point in entry_points(group=group)}
    if name not in known:
        names = sorted({*known, *_BUILT_IN.get(group, {})})
        raise UsageError(f"no provider {name!r} in {group}; known: {', '.join(names)}, or package.module:Class")
    return known[name].load()


def names(group: str) -> list[str]:
    """The providers of a group that somebody installed here, by name: what a stranger may ask for."""
    return sorted({*_BUILT_IN.get(group, {}), *(point.name for point in entry_points(group=group))})


def plugin_sources() -> Iterator[Source]:
    """Sources that other distributions registered; they are asked before the built-in ones."""
    for point in entry_points(group=SOURCES):
        if not point.value.startswith("ratchet."):
            yield cast("type[Source]", point.load())()


def sandbox(name: str) -> Sandbox:
    """The sandbox of a name: a built-in, a plugin's, or a class at `package.module:Class`, called without arguments.
    Raises UsageError."""
    made = named(SANDBOXES, name)
    if not callable(made):
        raise UsageError(f"sandbox {name!r} cannot be called; name a class that is called without arguments")
    return cast("Sandbox", made())


def plugin_sandboxes() -> list[str]:
    """Names of the sandboxes that other distributions registered."""
    return sorted({point.name for point in entry_points(group=SANDBOXES)} - {*_BUILT_IN[SANDBOXES]})


def proposers(names: str) -> tuple[Proposer, ...]:
    """The proposers of a list of names separated by commas: functions, or classes that are called without arguments.

    Raises UsageError for a name that leads nowhere, or to nothing that can be called.
    """
    found = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        value = named(PROPOSERS, name)
        proposer = value() if isinstance(value, type) else value
        if not callable(proposer):
            raise UsageError(f"proposer {name!r} cannot be called; name a function of a Problem that yields Fixes")
        found.append(cast("Proposer", proposer))
    return tuple(found)


def solver(name: str, options: SolverOptions) -> Solver:
    """The solver of a name: `repair`, `model:NAME`, `command:WORDS`, a plugin's, or `package.module:attribute`; what
    follows the colon of a known name is its argument.

    Raises UsageError for a name that leads nowhere, and what the solver itself raises when it cannot be set up.
    """
    made, argument = _with_argument(SOLVERS, name)
    if not callable(made):
        raise UsageError(f"solver {name!r} cannot be called; name a callable that takes SolverOptions")
    return cast("Solver", made(replace(options, argument=argument)))


def agent_proposer(name: str, options: ProposerOptions) -> AgentProposer:
    """Find who proposes changes of an agent: `settings`, `model:NAME`, `command:WORDS`, `script:FILE`, a plugin's, or
    `package.module:attribute`; what follows the colon of a known name is its argument.

    Raises UsageError for a name that leads nowhere, and what the proposer itself raises when it cannot be set up.
    """
    made, argument = _with_argument(AGENT_PROPOSERS, name)
    if not callable(made):
        raise UsageError(f"proposer {name!r} cannot be called; name a callable that takes ProposerOptions")
    return cast("AgentProposer", made(replace(options, argument=argument)))


def _with_argument(group: str, name: str) -> tuple[object, str]:
    """The provider of `name` or `name:argument`, and its argument; or the object at `package.module:attribute`."""
    head, _, argument = name.partition(":")
    known = head in _BUILT_IN[group] or any(point.name == head for point in entry_points(group=group))
    return (named(group, head), argument) if known else (named(group, name), "")


def client(name: str) -> Client:
    """The coding agent of a name: a built-in, a plugin's, or a class at `package.module:Class`. Raises UsageError."""
    if ":" not in name and name not in _BUILT_IN[CLIENTS] and name not in names(CLIENTS):
        known = names(CLIENTS)
        near = get_close_matches(name, known, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"no coding agent {name!r} is known here; {meant}known: {', '.join(known)}")
    made = named(CLIENTS, name)
    if not callable(made):
        raise UsageError(f"client {name!r} cannot be called; name a class that is called without arguments")
    return cast("Client", made())


def judge(name: str) -> Judge:
    """The judge of a name. Raises UsageError."""
    made = named(JUDGES, name)
    if not callable(made):
        raise UsageError(f"judge {name!r} cannot be called; name a class that is called without arguments")
    return cast("Judge", made())


# -- extras -----------------------------------------------------------------------------------------------------------


DISTRIBUTION = "ratchet-ai"


def adding(extra: str) -> str:
    """Return the command that adds an extra, with the installer, the Python and the source of this copy as far as they
    are known; else by the released name."""
    from importlib.metadata import PackageNotFoundError, distribution  # 20 ms, for a hint alone

    here = sys.executable
    try:
        held = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return f"pip install '{DISTRIBUTION}[{extra}]'"
    return install_command(
        extra,
        origin=held.read_text("direct_url.json") or "",
        installer=(held.read_text("INSTALLER") or "").strip(),
        prefix=Path(sys.prefix),
        python=here,
        has_pip=find_spec("pip") is not None,
    )


def install_command(extra: str, *, origin: str, installer: str, prefix: Path, python: str, has_pip: bool = True) -> str:
    """Return the command for a copy in the environment `prefix`, of which its metadata say `installer` and `origin`
    (`direct_url.json`, https://packaging.python.org/en/latest/specifications/direct-url-data-structure/). A tool is
    installed anew, so the extras that it has are named again."""
    for name, tool, receipt in _TOOLS:
        if (place := prefix / name).is_file():
            return f"{tool} {_source(origin, [extra, *_extras_in(place.read_text(encoding='utf-8'), receipt)])}"
    here, what = shlex.quote(python), _source(origin, [extra])
    if installer == "uv":
        return f"uv pip install --python {here} {what}"
    return f"{here} -m pip install {what}" if has_pip else f"python3 -m pip --python {here} install {what}"


_TOOLS = (
    ("uv-receipt.toml", "uv tool install --force", "uv"),
    ("pipx_metadata.json", "pipx install --force", "pipx"),
)
"""What lies in the environment of a tool, what installs it anew, and whose receipt it is."""


def _source(origin: str, extras: list[str]) -> str:
    """Return what to install as one word of a shell: a path that is there, a repository, an archive, or the name."""
    named = ",".join(sorted({*extras}))
    try:
        said = json.loads(origin or "{}")
    except ValueError:
        said = {}
    url, vcs = str(said.get("url", "")), said.get("vcs_info") or {}
    path = unquote(urlsplit(url).path) if url.startswith("file:") else ""
    if path and Path(path).exists():
        is_editable = bool((said.get("dir_info") or {}).get("editable"))
        return f"{'-e ' * is_editable}{shlex.quote(f'{path}[{named}]')}"
    if vcs:
        url = f"{vcs.get('vcs')}+{url}@{vcs.get('requested_revision') or vcs.get('commit_id')}"
    where = f" @ {url}" if url and not path else ""
    return shlex.quote(f"{DISTRIBUTION}[{named}]{where}")


def _extras_in(receipt: str, kind: str) -> list[str]:
    """Return the extras with which a tool was installed; none where its receipt cannot be read."""
    import re
    import tomllib

    try:
        if kind == "pipx":
            named = str(json.loads(receipt)["main_package"]["package_or_url"])
            found = re.search(r"\[([\w,. -]+)\]", named)
            return [each.strip() for each in found[1].split(",")] if found else []
        asked = tomllib.loads(receipt)["tool"]["requirements"]
        return [str(extra) for each in asked if each.get("name") == DISTRIBUTION for extra in each.get("extras", ())]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
