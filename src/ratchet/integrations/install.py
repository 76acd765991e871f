"""Install Ratchet into a coding agent: hooks where it has such, and our MCP server."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from ratchet import files, registry
from ratchet.errors import NotFound, RatchetError, Refused, UsageError
from ratchet.improving.targets import json_text
from ratchet.integrations import entries, hook_entries, list_entries, script_entries, server_entries
from ratchet.integrations.clients.client import Client, InstallPlace, SettingsEntry
from ratchet.integrations.settings_file import Installed, InstallScope, read
from ratchet.lessons import notes
from ratchet.lessons.ahead.making import everywhere
from ratchet.records import Json
from ratchet.registry import adding
from ratchet.runtime import Runtime

Parts = Literal["all", "hooks", "mcp"]


def install(
    runtime: Runtime,
    agent: str,
    *,
    scope: InstallScope,
    prevent: bool = False,
    dry_run: bool = False,
    parts: Parts = "all",
) -> list[Installed]:
    """Add the hooks to a coding agent's settings where it has such, and name our MCP server there; return each change.

    Every settings file is changed, or none where one is refused. Without the extra `mcp` there is no server to start,
    so none is named.

    Raises UsageError for an unknown agent, or a part or a place that it does not have; Refused for the server without
    the extra, and as `entries.install` does.
    """
    client = registry.client(agent)
    wanted = _of_part(client, client.entries(_place(scope, os.environ)), parts, scope)
    if scope == "project":  # a clone's settings file may be a link
        for path in _by_file(wanted):
            files.need_inside(path)
    if find_spec("mcp") is None:
        wanted = [entry for entry in wanted if entry.part != "mcp"]
        if not wanted:
            raise Refused(f"the MCP server needs the extra `mcp`: {adding('mcp')}")
    shown = changed(client, wanted, home=runtime.home, prevent=prevent, dry_run=True)
    if dry_run:
        return shown
    done = changed(client, wanted, home=runtime.home, prevent=prevent)
    runtime.publish()
    if any(entry.form == "notes" for entry in wanted):
        notes.make(runtime.home, _noted(scope))
    return done


def _noted(scope: InstallScope) -> str:
    """The project that notes are about; "" for all of them."""
    return _place(scope, os.environ).project or ""


def found_here(environ: Mapping[str, str]) -> list[str]:
    """The coding agents that are on this machine. Raises NotFound where there is none that is known."""
    user = _place("user", environ).user
    found = [name for name in registry.names(registry.CLIENTS) if registry.client(name).is_here(user, environ)]
    if not found:
        known = ", ".join(registry.names(registry.CLIENTS))
        raise NotFound(f"no coding agent that is known is on this machine; name one: {known}")
    return found


def install_all(
    runtime: Runtime,
    agents: Sequence[str],
    *,
    scope: InstallScope,
    prevent: bool = False,
    dry_run: bool = False,
    parts: Parts = "all",
) -> list[Installed]:
    """`install` for several agents, each with what it has of the `parts` at this place: all of them, or none where one
    is refused."""
    fit = [agent for agent in agents if _has(agent, parts, scope)]

    def each(*, dry_run: bool) -> list[Installed]:
        return [
            done
            for agent in fit
            for done in install(runtime, agent, scope=scope, prevent=prevent, dry_run=dry_run, parts=parts)
        ]

    shown = each(dry_run=True)
    return shown if dry_run else each(dry_run=False)


def uninstall_all(
    runtime: Runtime, *, scope: InstallScope, dry_run: bool = False, parts: Parts = "all"
) -> list[Installed]:
    """`uninstall` for every agent that is known; only the files in which anything of ours stood, and those that are
    `refused`: one of them keeps no other."""
    return [
        done
        for agent in registry.names(registry.CLIENTS)
        if _has(agent, parts, scope)
        for done in uninstall(runtime, agent, scope=scope, dry_run=dry_run, parts=parts, goes_on=True)
        if done.changed or done.refused
    ]


def _has(agent: str, parts: Parts, scope: InstallScope) -> bool:
    entries_ = registry.client(agent).entries(_place(scope, os.environ))
    known = ("hooks",) if find_spec("mcp") is None else ("hooks", "mcp")
    return any(parts in ("all", entry.part) and entry.part in known for entry in entries_)


def changed(
    client: Client,
    wanted: Sequence[SettingsEntry],
    *,
    home: Path,
    prevent: bool = False,
    dry_run: bool = False,
    environ: Mapping[str, str] | None = None,
) -> list[Installed]:
    """Bring these entries of a client into their files; return each file's change."""

    def content(entry: SettingsEntry) -> Json:
        if entry.form == "notes":
            project = str(Path(entry.path).parent)
            return json.dumps(str(notes.path_of(home, "" if project == _place("user", os.environ).user else project)))
        if entry.form == "script":
            return client.script(entry.key, hook_entries.commands(client, home=home, environ=environ))
        if entry.part == "hooks":
            grouped = entry.form == "hooks"
            return hook_entries.entry(client, home=home, prevent=prevent, environ=environ, grouped=grouped)
        return server_entries.entry(client, home=home, extra=entry.extra, environ=environ)

    return [
        entries.install(
            path,
            [entries.WantedEntry(form=_form(entry), entry=content(entry)) for entry in ours],
            home=home,
            dry_run=dry_run,
            mode=ours[0].mode,
        )
        for path, ours in _by_file(wanted).items()
    ]


def uninstall(
    runtime: Runtime,
    agent: str,
    *,
    scope: InstallScope,
    dry_run: bool = False,
    parts: Parts = "all",
    goes_on: bool = False,
) -> list[Installed]:
    """Take both out again; return each change. Raises as `install`, but needs no extra; a file that cannot be taken
    care of raises nothing where it `goes_on`."""
    client = registry.client(agent)
    all_ = client.entries(_place(scope, os.environ))
    ours = _of_part(client, all_, parts, scope)
    # A clone may hold a link to the person's own settings.
    inside, home = scope == "project", runtime.home
    done = removed(ours, all_, home=home, dry_run=dry_run, inside=inside, goes_on=goes_on)
    if not dry_run and any(entry.form == "notes" for entry in ours):
        notes.remove(runtime.home, _noted(scope))
    return done


def removed(
    ours: Sequence[SettingsEntry],
    all_: Sequence[SettingsEntry],
    *,
    home: Path,
    dry_run: bool = False,
    inside: bool = False,
    goes_on: bool = False,
) -> list[Installed]:
    """Take these entries out of their files, of which `all_` of the client may stand there; return each change. Files
    that lead out of the folder in which we are are refused where they shall be `inside`. Nothing is changed where one
    is refused, unless it `goes_on`."""

    def each(path: Path, some: Sequence[SettingsEntry], *, dry_run: bool) -> Installed:
        others = [entry for entry in _by_file(all_)[path] if entry not in some]
        try:
            if inside:
                files.need_inside(path)
            return entries.uninstall(path, [*map(_form, some)], [*map(_form, others)], home=home, dry_run=dry_run)
        except RatchetError as error:
            if not goes_on:
                raise
            return Installed(path=str(path), changed=False, diff="", refused=str(error))

    shown = [each(path, some, dry_run=True) for path, some in _by_file(ours).items()]
    return shown if dry_run else [each(path, some, dry_run=False) for path, some in _by_file(ours).items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHooks:
    """Hooks of ours in a settings file, by their events; those that the client skips until the person trusts them;
    `tools` of which something is told before a step."""

    path: str
    events: tuple[str, ...]
    tools: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()


def installed_hooks(agent: str, *, scope: InstallScope, project: Path, environ: Mapping[str, str]) -> list[FoundHooks]:
    """Find the hooks that are ours now. Raises as `entries.install`, UsageError for a place that the agent does not
    have."""
    client = registry.client(agent)
    place = _place(scope, environ, project)
    found = []
    for entry in client.entries(place):
        path = Path(entry.path)
        text = read(path) if entry.part == "hooks" else None
        held = _form(entry).held(path, text) if text is not None else None
        if isinstance(held, str):  # a script, in which the hook's commands stand
            found.append(FoundHooks(path=entry.path, events=tuple(each for each in client.events if each in held)))
        elif text is not None and held is not None:
            skipped = client.untrusted(entry.path, json_text.parsed(text), place)
            events, tools = hook_entries.events_in(held), hook_entries.tools_before(held, client)
            found.append(FoundHooks(path=entry.path, events=tuple(events), tools=tuple(tools), untrusted=skipped))
    return found


def hooked_agents(*, project: Path, environ: Mapping[str, str]) -> list[str]:
    """Name the agents of a project that have hooks of ours. Raises as `installed_hooks`."""
    found = dict[str, None]()
    for agent in registry.names(registry.CLIENTS):
        for scope in get_args(InstallScope):
            with suppress(UsageError):  # a place that it does not have
                if installed_hooks(agent, scope=scope, project=project, environ=environ):
                    found[agent] = None
    return [*found]


def waiting(home: Path, *, project: Path, environ: Mapping[str, str]) -> int:
    """Count the proven lessons that no hook of a project's agents tells before the step that they are about."""
    found = everywhere(home)
    for agent in registry.names(registry.CLIENTS) if found else ():
        client = registry.client(agent)
        for scope in get_args(InstallScope):
            try:
                hooks = installed_hooks(agent, scope=scope, project=project, environ=environ)
            except UsageError:  # a place that it does not have
                continue
            told = {tool for each in hooks for tool in each.tools}
            found = [each for each in found if (each.tool or client.shell) not in told]
    return len({each.lesson for each in found})


def _place(scope: InstallScope, environ: Mapping[str, str], project: Path | None = None) -> InstallPlace:
    user = str(Path(environ.get("HOME") or Path.home()).absolute())
    here = str((project or Path.cwd()).absolute()) if scope == "project" else None
    return InstallPlace(user=user, project=here, environ=environ)


def _of_part(
    client: Client, entries_: Sequence[SettingsEntry], parts: Parts, scope: InstallScope
) -> list[SettingsEntry]:
    wanted = [entry for entry in entries_ if parts in ("all", entry.part)]
    if not wanted:
        if parts == "all":
            raise UsageError(f"{client.name} has no settings of a project; leave --project out")
        lacks = "hooks that tell of a failure" if parts == "hooks" else "MCP servers"
        where = " in settings of a project" if scope == "project" else ""
        raise UsageError(f"{client.name} has no {lacks}{where}; leave --{parts}-only out")
    return wanted


def _by_file(entries_: Sequence[SettingsEntry]) -> dict[Path, list[SettingsEntry]]:
    files: dict[Path, list[SettingsEntry]] = {}
    for entry in entries_:
        files.setdefault(Path(entry.path).expanduser().absolute(), []).append(entry)
    return files


def _form(entry: SettingsEntry) -> entries.Form:
    if entry.form == "hooks":
        return hook_entries.HookForm()
    if entry.form == "handlers":
        return hook_entries.HANDLERS
    if entry.form == "server":
        return server_entries.ServerForm(entry.key)
    if entry.form == "script":
        return script_entries.SCRIPT
    if entry.form == "notes":
        return list_entries.ListForm(entry.key)
    raise UsageError(f"no form {entry.form!r} of an entry; known: hooks, handlers, server, script, notes")
