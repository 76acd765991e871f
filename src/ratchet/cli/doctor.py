"""Looks at everything Ratchet stands on and says what is wrong and what to do about it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from ratchet import registry
from ratchet.config import FILE_NAME, Config, home_of, unknown_environment
from ratchet.errors import RatchetError, Refused, UsageError
from ratchet.gate.deadline import raised
from ratchet.healing.models import choice as modelchoice
from ratchet.healing.models import local
from ratchet.improving.cures.book import FIX
from ratchet.improving.cures.cure import CHECKS_FILE, broken_checks
from ratchet.improving.targets.pieces import piece_named
from ratchet.improving.trials.trials import trials
from ratchet.integrations import install
from ratchet.integrations.settings_file import InstallScope
from ratchet.lessons import exposure, meaning
from ratchet.lessons.ahead.making import everywhere
from ratchet.lessons.calibration import LEAST, LEAST_TRACES, promise_of
from ratchet.recording import journal
from ratchet.recording.sources.homes import known_homes
from ratchet.registry import adding
from ratchet.sandbox.choice import REMEDY, Sandboxes, proves
from ratchet.store import opening as stores
from ratchet.store.address import masked
from ratchet.store.deriving import differing
from ratchet.store.redis.beside import StoreBesideRedis
from ratchet.store.sqlite import SqliteStore
from ratchet.store.sqlite_faults import remedy_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at. `remedy` may stand beside an `ok` one as advice."""

    ok: bool
    found: str
    remedy: str = ""
    name: str = ""


def _good(found: str, advice: str = "") -> Check:
    return Check(ok=True, found=found, remedy=advice)


def _bad(found: str, remedy: str) -> Check:
    return Check(ok=False, found=found, remedy=remedy)


def examine(config: Config, environ: Mapping[str, str], project: Path) -> Iterator[Check]:
    """All checks, in the order in which one would fix them. Changes nothing."""
    home = config.home
    store = home / stores.STORE_NAME
    yield _looked("settings", lambda: _settings(config, environ))
    yield _looked("home", lambda: _home(home))
    yield _looked("store", lambda: _database(config) if config.database_url else _store(store))
    yield _looked("sums", lambda: _sums(config))
    if config.redis_url:
        yield _looked("redis", lambda: _redis(config))
    yield _looked("journal", lambda: _journal(home))
    yield _looked("recall", lambda: _recall(Path(exposure.store_path(str(home)))))
    yield _looked("hooks", lambda: _hooks(environ, project))
    yield _looked("before a step", lambda: _before(config.home, environ, project))
    yield _looked("checks", lambda: _checks(Path(exposure.store_path(str(home))), project))
    yield _looked("hooks' share", lambda: _share(config, environ))
    yield _looked("hook log", lambda: _hook_log(home))
    yield _looked("histories", lambda: _histories(environ))
    yield _looked("sandbox", lambda: _sandbox(home))
    yield _looked("models", lambda: _models(config, environ))


def _looked(name: str, look: Callable[[], Check]) -> Check:
    """Return what was found; that the system does not let one look is a finding, too, and the others are looked at."""
    try:
        check = look()
    except OSError as error:
        found = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        check = _bad(found, "change its owner or mode, or move it aside")
    except RatchetError as error:  # says itself what to do
        check = _bad(str(error), "")
    return replace(check, name=name)


def _settings(config: Config, environ: Mapping[str, str]) -> Check:
    found = (
        f"{100 * config.withheld_share:g} % of new cases are to be told no lesson, to compare with; trends look back "
        f"{config.window_days:g} days"
    )
    unknown = unknown_environment(environ)
    return _bad(found, f"nothing reads {', '.join(unknown)}: check the spelling") if unknown else _good(found)


def _home(home: Path) -> Check:
    if not home.exists():
        named = "" if home == home_of(None) else f"--home {home} "
        return _good(f"{home} does not exist yet", f"`ratchet {named}learn` makes it")
    if not os.access(home, os.W_OK | os.X_OK):
        return _bad(f"{home} cannot be written", "change its owner or mode, or set RATCHET_HOME")
    open_to = stat.S_IMODE(home.stat().st_mode) & 0o077
    if open_to:
        return _bad(f"{home} is open to other users", f"chmod 700 {home}")
    return _good(str(home))


def _store(path: Path) -> Check:
    if not path.exists():
        return _good("none yet", "`ratchet learn` makes it")
    if not path.is_file():
        return _bad(f"{path} is no regular file", "remove it: `ratchet learn` makes it anew")
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
                remedy = "put a copy back in its place, or remove it: `ratchet learn` makes it anew"
                return _bad(f"{path} is empty: something has emptied it", remedy)
            outcomes = connection.execute("SELECT COUNT(*) FROM outcomes").fetchone()[0]
            damage = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error as error:
        remedy = remedy_of(error) or "move it aside and run `ratchet learn` again; the file is not touched"
        return _bad(f"{path}: {error}", remedy)
    if damage != "ok":
        return _bad(f"{path}: {damage}", "copy it, then move it aside and learn again")
    return _good(f"{path}, {outcomes:,} outcomes, {path.stat().st_size / 1e6:.1f} MB")


def _database(config: Config) -> Check:
    """The database that the settings name: whether it answers, and what is in it. Its password is never shown."""
    try:
        found = stores.looked_at(config.database_url)
    except RatchetError as error:
        return _bad(str(error), "correct RATCHET_DATABASE_URL, or start it")
    mirror = Path(exposure.mirror_path(str(config.home)))
    told = f"hooks read {mirror}" if mirror.exists() else "hooks know no lesson of it yet"
    return _good(f"{stores.shown(config)} answers: {found}; {told}")


def _sums(config: Config) -> Check:
    """Sums that pages read instead of every row, compared with the rows. Older code that was open during an upgrade
    leaves them behind."""
    try:
        store = stores.readable(config)
    except RatchetError:  # said by the check of the store
        store = None
    if store is None:
        return _good("nothing to compare yet")
    try:
        wrong = differing(store)
    finally:
        store.close()
    if not wrong:
        return _good("the counts that pages show agree with the rows behind them")
    found = f"not what the rows behind them come to: {', '.join(wrong)}; a process of an older Ratchet has written"
    return _bad(found, "end old processes, then `ratchet doctor --mend`")


def _redis(config: Config) -> Check:
    """The Redis that the settings name: whether it answers, and what of the store is in it."""
    if not stores.exist(config):
        return _good("nothing yet: there is no store", "`ratchet learn` makes it")
    try:
        store = stores.opened(config)
        try:
            found = store.states() if isinstance(store, StoreBesideRedis) else []
        finally:
            store.close()
    except RatchetError as error:
        remedy = "start it, or correct RATCHET_REDIS_URL; recall needs it for speed only"
        return _bad(str(error), remedy)
    held = ", ".join(f"{each.held:,} of {each.rows:,} {each.table} ({each.algorithm})" for each in found)
    waiting = [each.table for each in found if not each.ready]
    remedy = f"not searched yet: {', '.join(waiting)}; the next reads bring the rest" if waiting else ""
    return _good(f"{masked(config.redis_url)} answers: vectors of {held}", remedy)


def _journal(home: Path) -> Check:
    waiting: list[int] = []
    for path in journal.segments(str(home)):
        with suppress(FileNotFoundError):  # another process stored it meanwhile
            waiting.append(Path(path).lstat().st_size)
    left = f"{sum(waiting) / 1e6:.1f} MB in {len(waiting)} files wait to be moved into the store; the next read does it"
    return _good(left if any(waiting) else "all that was recorded is in the store")


def _recall(path: Path) -> Check:
    """The promise of recall: how often it answers what it does not know, at most."""
    try:
        store = SqliteStore(path, readonly=True) if path.exists() else None
    except RatchetError:  # said by the check of the store
        store = None
    if store is None:
        return _good("no lessons to find yet")
    try:
        promise = promise_of(store)
    finally:
        store.close()

    def chosen(memories: int, least: int) -> str:
        return f", measured on {memories} lessons of yours" if memories >= least else ""

    usual = "" if promise.lines_from >= LEAST else "; as shipped: you have too few lessons to measure it on"
    found = (
        f"of failures that it has no fix for, it offers a wrong one for at most 1 of {1 / promise.lines:.0f}"
        f"{chosen(promise.lines_from, LEAST)} (of tracebacks 1 of {1 / promise.traces:.0f}"
        f"{chosen(promise.traces_from, LEAST_TRACES)}){usual}"
        f"{'; what people wrote is compared by its meaning, too' if meaning.installed() else ''}"
    )
    return _good(found)


def _hooks(environ: Mapping[str, str], project: Path) -> Check:
    found: list[str] = []
    skipped: list[str] = []
    seen = set[str]()
    for agent in registry.names(registry.CLIENTS):
        for scope in get_args(InstallScope):
            try:
                hooks = install.installed_hooks(agent, scope=scope, project=project, environ=environ)
            except UsageError:  # a place that it does not have
                continue
            except RatchetError as error:
                return _bad(str(error), "mend the file, then install again")
            hooks = [each for each in hooks if each.path not in seen]  # at home, a project's file is the user's
            seen |= {each.path for each in hooks}
            found += [f"{agent} ({scope}): {', '.join(each.events)}" for each in hooks]
            skipped += [f"{agent} ({scope})" for each in hooks if each.untrusted]
    if skipped:
        told = f"{'; '.join(found)}; not trusted yet, so they do not run: {', '.join(skipped)}"
        return _bad(told, "start the agent, type /hooks, and trust Ratchet's")
    if not found:
        return _good("none: no agent is told a fix when it fails", "`ratchet install claude-code` (--dry-run shows it)")
    return _good("; ".join(found))


def _before(home: Path, environ: Mapping[str, str], project: Path) -> Check:
    """Count proven lessons that wait: `install` alone adds the hook that tells them before a step."""
    known = len({each.lesson for each in everywhere(home)})
    waiting = install.waiting(home, project=project, environ=environ)
    found = f"{known} proven {'lesson says' if known == 1 else 'lessons say'} what to do before a step fails"
    if not waiting:
        return _good(found)
    remedy = "`ratchet install claude-code` adds the hook (--dry-run shows it)"
    untold = "them yet" if waiting >= known else f"{waiting} of them"
    return _good(f"{found}; no agent hears of {untold}", remedy)


def _checks(store: Path, project: Path) -> Check:
    """Checks that lessons became, here and in other projects: one whose Python is gone denies nothing, silently."""
    broken: list[str] = []
    for path in sorted({*_settings_of_checks(store), (project / CHECKS_FILE).absolute()}):
        if not path.is_file():
            continue
        try:
            broken += [f"{path}: {why}" for why in broken_checks(path.read_text(encoding="utf-8", errors="replace"))]
        except Refused as error:
            return _bad(f"{path}: {error}", "mend the file")
    if not broken:
        return _good("lessons that became a check of an agent's steps can run")
    remedy = "they deny nothing: `ratchet lessons cure ID --undo`, then `--as check` again makes each anew"
    return _bad("; ".join(broken), remedy)


def _settings_of_checks(store: Path) -> list[Path]:
    """The settings into which checks were put."""
    if not store.exists():
        return []
    try:
        held = SqliteStore(store, readonly=True)
        try:
            named = [each.change.target for each in trials(held) if each.change.fix == FIX]
        finally:
            held.close()
    except RatchetError:  # said by the check of the store
        return []
    return [each.path for name in named if name.startswith("check:") and (each := piece_named(name)) is not None]


def _share(config: Config, environ: Mapping[str, str]) -> Check:
    """Compare the share that hooks withhold, told by the last command that wrote, with the settings in force."""
    told = exposure.published(str(config.home)).withheld
    found = f"hooks leave {100 * told:g} % of new cases untold"
    asked = config.withheld_share
    why = {raised(asked): "raised while an answer waits for it", min(asked, config.proven_withheld_share): "proven"}
    if told == asked or told in why:
        since = "" if told == asked else f" now (the settings' {100 * asked:g} %, {why[told]})"
        return _good(found + since)
    lasting = f"write it into {config.home / FILE_NAME}, then " if environ.get("RATCHET_WITHHELD_SHARE") else ""
    return _bad(
        f"{found}, the settings say {100 * config.withheld_share:g} %",
        f"{lasting}run `ratchet report`, which tells them; sessions that began keep their share",
    )


def _hook_log(home: Path) -> Check:
    path = home / "hook" / "hook.log"
    if not path.exists():
        return _good("no hook has failed")
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    last = lines[-1] if lines else ""
    often = "once" if len(lines) == 1 else f"{len(lines)} times, the last"
    return _good(f"hooks failed {often}: {last}", f"see {path}")


def _histories(environ: Mapping[str, str]) -> Check:
    homes = [home.path for home in known_homes(environ)]
    if homes:
        return _good(f"agents write theirs to {', '.join(homes)}")
    return _good("no history of a known agent", "name one: `ratchet learn PATH`")


def _models(config: Config, environ: Mapping[str, str]) -> Check:
    """Which models are named, and which servers answer on this machine. Asks nobody else, and takes a third of a
    second at most."""
    near = [f"{each.name} at {each.url} ({', '.join(each.models[:3])})" for each in local.find()]
    try:
        named = [str(each) for each in modelchoice.ModelChoice(config, environ).named()]
    except RatchetError as error:
        return _bad(str(error), "correct the setting `model`")
    found = "; ".join((", ".join(named) if named else "none set", *(near or ["none is served on this machine"])))
    if not modelchoice.installed():
        remedy = adding("model") if named or near else ""
        return Check(ok=not named, found=f"{found}; the extra is not installed", remedy=remedy)
    return _good(found, "" if named or not near else "RATCHET_MODEL=local uses it")


def _sandbox(home: Path) -> Check:
    found = Sandboxes(home).probe(quick=True)
    held = next((each for each in found if proves(each)), None)
    if held is None:
        reasons = "; ".join(f"{each.name}: {each.note}" for each in found)
        return _good(f"none works here ({reasons})", REMEDY)
    return _good(f"{held.name} works; `ratchet sandbox probe` tells what it keeps out")
