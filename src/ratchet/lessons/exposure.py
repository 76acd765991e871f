"""Decide who is shown a lesson, in one file since hook processes import it: one coin per (root session, pattern),
obeyed by every channel, and what is written about it. What a channel can do is of two kinds: told before the step
(prevention), or in the turn that failed (cure). A unit is a (root session, pattern) in one of them, since each is
judged by a question of its own.

The coin needs no coordination: it hashes the home's salt with session and pattern. Only the shares have to stick, since
they change with what is known; so a session keeps those of its first toss, in a file of a few bytes. Lean: hook
processes import this, and `deliver` for all other channels.
"""

from __future__ import annotations

import os

from ratchet import ids
from ratchet.ids import hex_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ratchet.records import Row

DEFAULT_WITHHELD = 0.20
_STATE = "lessons.state"
_EFFECTS = "lessons.effects"
_EXPECTED = "lessons.expected"
_AIMS = "lessons.aims"
_SALT = "salt"
PREVENTION = "prevention"
"""Group of the channels that speak before the step: it is judged by whether the failure came."""
CURE = "cure"
"""Group of the channels that answer a failure: it is judged by whether the next steps achieved what failed."""
_ANSWERING = ("failure", "recall")
_FRAME_CHARS = 160  # of what stands around a lesson when it is shown
_TOKEN_CHARS = 4  # characters of English and code that models take as one token


class Published:
    """Facts that hooks must know before they open the store: how many lessons are active (None: unknown, look yourself)
    and the share of units that new sessions withhold."""

    __slots__ = ("active", "withheld")

    def __init__(self, active: int | None, withheld: float) -> None:
        self.active = active
        self.withheld = withheld


def published(home: str) -> Published:
    """Read what `publish` last said. A file that is missing or damaged is not an answer: `active` is None then."""
    try:
        words = small_text(os.path.join(home, "hook", _STATE)).split()
        if words[0::2] == ["active", "withheld"]:
            return Published(int(words[1]), min(max(float(words[3]), 0.0), 1.0))
    except (OSError, ValueError):
        return Published(None, DEFAULT_WITHHELD)
    return Published(None, DEFAULT_WITHHELD)


def publish(
    home: str,
    *,
    active: int,
    withheld: float,
    effects: dict[str, float],
    aims: dict[str, float] | None = None,
    expected: dict[str, float] | None = None,
) -> None:
    """Tell the hooks, each file atomically. `effects`: lesson id -> effect against control, "" -> the usual one.
    `aims`: pattern -> the share of its units that are withheld, where that is another than `withheld`. `expected`:
    command -> the success of its failures without lessons, "" -> of all others.

    Raises OSError.
    """
    from ratchet import files

    folder = hook_folder(home)
    aimed = _written({pattern: 1.0 - share for pattern, share in (aims or {}).items()})
    mark = ids.hex_of(aimed)[:12] if aimed else ""
    if mark:
        os.makedirs(os.path.join(folder, "aims"), mode=0o700, exist_ok=True)
        files.replace(os.path.join(folder, "aims", mark), aimed.encode(), mode=0o600)
    texts = {
        _EFFECTS: _written({lesson_id: round(effect, 4) for lesson_id, effect in effects.items()}),
        _EXPECTED: _written({head: round(success, 4) for head, success in (expected or {}).items()}),
        _AIMS: mark,
        _STATE: f"active {active}\nwithheld {withheld!r}\n",
    }
    for name, text in texts.items():
        files.replace(os.path.join(folder, name), text.encode(), mode=0o600)


def published_effects(home: str) -> dict[str, float]:
    """Lesson id -> measured effect ("": that of all others); a lost file only costs the order of what is offered."""
    return _numbers(home, _EFFECTS)


def expected(home: str, lesson: Row) -> float | None:
    """The success that failures of a lesson's command had without lessons, None where nothing is known: to be written
    down with the coin, so that what comes later cannot choose it."""
    known = _numbers(home, _EXPECTED)
    return known.get(f"{lesson.get('tool') or ''} {lesson.get('head') or ''}", known.get(""))


def _written(numbers: dict[str, float]) -> str:
    return "".join(f"{number!r} {name}\n" for name, number in sorted(numbers.items()))


def _numbers(home: str, *path: str) -> dict[str, float]:
    """Name -> number, as `publish` wrote them; a lost file only costs what it would have sharpened."""
    try:
        lines = small_text(os.path.join(home, "hook", *path), 1_000_000).split("\n")
        return {line.partition(" ")[2]: float(line.partition(" ")[0]) for line in lines if line}
    except (OSError, ValueError):
        return {}


def facts_path(home: str, project: str) -> str:
    """Return where a home keeps what a session in a project is told of its facts; `project` is its name."""
    return os.path.join(home, "hook", "facts", hex_of(project)[:24])


def has_facts(home: str) -> bool:
    """Tell whether any session of this home is told facts when it starts."""
    return os.path.isdir(os.path.join(home, "hook", "facts"))


def facts_told(home: str, folder: str) -> str:
    """Return the facts of a folder's project as they are shown when a session starts; "" where there are none."""
    if not has_facts(home):
        return ""
    try:
        return small_text(facts_path(home, project_name(folder)), 4_096)
    except OSError:
        return ""


def store_path(home: str) -> str:
    """Return where a home keeps what hooks look lessons up in: its store, or the copy of a shared one's lessons."""
    mirror = mirror_path(home)
    return mirror if os.path.exists(mirror) else os.path.join(home, "ratchet.db")


def has_store(home: str) -> bool:
    """Tell whether there is anything to look lessons up in."""
    return os.path.exists(store_path(home))


def mirror_path(home: str) -> str:
    """Return where the lessons of a shared database are copied to."""
    return os.path.join(home, "hook", "lessons.db")


def hook_folder(home: str) -> str:
    """HOME/hook, made where missing, and HOME with it: only their owner may enter."""
    folder = os.path.join(home, "hook")
    if not os.path.isdir(folder):
        os.makedirs(home, mode=0o700, exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


def salt_of(home: str) -> str:
    """This home's salt: 32 hex digits, made once, whoever comes first. Raises OSError."""
    path = os.path.join(home, _SALT)
    try:
        return small_text(path)
    except FileNotFoundError:
        os.makedirs(home, mode=0o700, exist_ok=True)
        return settled_text(path, os.urandom(16).hex())


def shown_share(home: str, session: str, pattern: str = "") -> float:
    """The probability with which this session's units (of a pattern) are shown their lesson, fixed by its first toss.

    Raises OSError.
    """
    share, aims = _shares_of(home, session)
    return _numbers(home, "aims", aims).get(pattern, share) if aims else share


def _shares_of(home: str, session: str) -> tuple[float, str]:
    """(share, name of the aims) of a session's first toss."""
    folder = os.path.join(home, "hook", "sessions")
    path = os.path.join(folder, hex_of(session)[:24])
    try:
        said = small_text(path)
    except FileNotFoundError:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        said = settled_text(path, f"{1.0 - published(home).withheld!r} {_aims_in_force(home)}".strip())
    share, _, aims = said.partition(" ")
    try:
        return float(share), aims
    except ValueError:  # damaged: fall back on what is in force, the same for all who come now
        return 1.0 - published(home).withheld, ""


def _aims_in_force(home: str) -> str:
    try:
        return small_text(os.path.join(home, "hook", _AIMS))
    except OSError:
        return ""


def forget_sessions(home: str, *, older_than_s: float = 30 * 86_400) -> None:
    """Delete what is kept of sessions that began long ago: their shares, what they were told, the marks and locks of
    reading them. Raises OSError, but for a folder that is not there."""
    from time import time

    for kept in ("sessions", "aims", "reading", "swept"):
        folder = os.path.join(home, "hook", kept)
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if os.stat(path).st_mtime < time() - older_than_s:
                os.unlink(path)


def unit_of(session: str, pattern: str, group: str = CURE) -> str:
    """The name of a unit: it meets all lessons of its pattern in all channels of the group, with one arm."""
    return f"{session}/{pattern}" if group == CURE else f"{session}/{pattern}/{group}"


def group_of(exposure: Row) -> str:
    """Tell prevention from cure, also of exposures that were written before a unit's name told it."""
    answers = exposure.get("trigger") or exposure.get("channel") in _ANSWERING
    return CURE if answers else PREVENTION


def pattern_of(lesson: Row) -> str:
    """Return what a lesson is about: its pattern, else its signature, else (a person's own note) itself."""
    return str(lesson.get("pattern") or lesson.get("signature") or lesson.get("id") or "")


def toss(home: str, session: str, pattern: str) -> tuple[bool, float]:
    """(whether this unit is shown its lesson, with which probability). The same whenever and wherever asked."""
    share = shown_share(home, session, pattern)
    return ids.toss(salt_of(home), session, pattern, share=share), share


def row_of(
    lesson: Row,
    session: str,
    *,
    shown: bool,
    share: float,
    channel: str,
    at: float,
    trigger: str = "",
    expected: float | None = None,
) -> Row:
    """The Exposure as it is journalled, before the arm acts. `trigger` is the outcome whose failure asked."""
    pattern = pattern_of(lesson)
    row: Row = {
        "trial": str(lesson.get("id") or ""),
        "arm": "new" if shown else "control",
        "share": share,
        "at": at,
        "session": session,
        "pattern": pattern,
        "channel": channel,
        "settled": False,
        "revision": 1,
    }
    if trigger:
        row["trigger"] = trigger
    if shown:
        row["tokens"] = tokens_of(lesson)
    group = group_of(row)
    row["unit"] = unit_of(session, pattern, group)
    if group == CURE and expected is not None:
        row["expected"] = expected
    return row


def tokens_of(lesson: Row) -> int:
    """Estimate the tokens that a lesson takes where it is shown."""
    said = sum([len(str(lesson.get(name) or "")) for name in ("text", "when_text", "example")])
    return (said + _FRAME_CHARS) // _TOKEN_CHARS


def concerns(lesson: Row, project: str) -> bool:
    """Tell whether a lesson may be shown in a project: global ones, those learnt in this folder, above it (the
    project's root) or below it (an agent changes its directory), but in no other repository, and in another worktree of
    the same one. A folder as high as a home is nobody's project."""
    if lesson.get("scope") == "global":
        spoken = lesson.get("generic")  # projects whose own evidence decides
        return not isinstance(spoken, list) or project_name(project) not in spoken
    projects = lesson.get("projects")
    if isinstance(projects, list) and any(_same_project(str(known), project) for known in projects):
        return True
    return bool(lesson.get("project")) and lesson.get("project") == project_name(project)


def vouched(lesson: Row) -> bool:
    """Tell whether somebody here stands for a lesson: it comes from no file of a repository, or that content is
    trusted, or a person approved this one."""
    return not lesson.get("origin") or bool(lesson.get("trusted")) or lesson.get("decided") == "active"


def _same_project(known: str, project: str) -> bool:
    one, other = repository_of(known), repository_of(project)
    return one == other if one and other else _nested(known, project)


def project_name(folder: str) -> str:
    """The name under which the evidence of a folder counts: its repository's remote, so that worktrees, subfolders and
    clones share it and a fork does not; else the repository's main folder; else the folder itself. A clone of a
    repository on this machine counts as that one. A folder names another place only where that one agrees: what lies in
    it may be a stranger's."""
    repository = repository_of(folder)
    if repository:
        return remote_of(repository) or repository
    return folder_name(folder)


def folder_name(folder: str) -> str:
    """The name of a folder that is not on this machine: the main folder of its repository, without a slash at its
    end."""
    return _beside_worktrees(folder).rstrip("/")


def _beside_worktrees(folder: str) -> str:
    """The folder of a repository that is not on this machine, by where people put its worktrees: `shop/.worktrees/x`,
    `shop/.claude/worktrees/x`, `shop-worktrees/x`."""
    above, found, _ = folder.partition("worktrees/")
    if not found:
        return folder
    parent, _, name = above.rpartition("/")
    if name.endswith("-"):
        return f"{parent}/{name[:-1]}"
    return parent.removesuffix("/.claude")


def remote_of(repository: str) -> str:
    """The name of what a repository's remote `origin` holds: its address without protocol, user and ending; the project
    of the folder that it is a clone of; "" where it has no remote."""
    from ratchet.sandbox.gitfiles import origin_of

    seen = [repository]  # clones of each other name nothing else
    while (url := origin_of(repository)) and len(seen) < _CLONES:
        if not _is_path(url):
            address = ids.address_of(url)
            if address[:1] in ("", "/"):  # no host: the name of a folder here, which none but a path means
                break
            return address
        repository = _cloned(repository, url)
        if not repository or repository in seen:
            break
        seen.append(repository)
    return seen[-1] if len(seen) > 1 else ""


_CLONES = 16  # of clones of clones


def _cloned(repository: str, url: str) -> str:
    """The repository whose top a path names, "" where it names none, as one that is gone or only lies in another."""
    path = url.removeprefix("file://")
    if path != url and "%" in path:
        from urllib.parse import unquote

        path = unquote(path)
    path = os.path.normpath(os.path.join(repository, path)).removesuffix("/.git")
    for top in (path, f"{path}.git"):
        found = repository_of(top)
        if found and (found == top or os.path.lexists(os.path.join(top, ".git"))):
            return found
    return ""


def _is_path(url: str) -> bool:
    """Tell a folder of this machine from an address as git does: `host:path` is none, `./odd:name` is one."""
    return url.startswith("file://") or ("://" not in url and ":" not in url.partition("/")[0])


_repositories: dict[str, str] = {}  # folder -> its repository: many lessons share few folders


def repository_of(folder: str) -> str:
    """The main folder of the git repository that a folder or worktree belongs to, "" where there is none; the folder of
    its objects where that is elsewhere (bare, a submodule). Reads few small files, and runs no git."""
    known = _repositories.get(folder)
    if known is None:
        try:
            known = _found_repository(folder)
        except (OSError, ValueError):  # unreadable, or no path at all: then it is nobody's worktree
            known = ""
        _repositories[folder] = known
    return known


def _found_repository(folder: str) -> str:
    here, bare = os.path.normpath(folder) if os.path.isabs(folder) else "", ""
    while here and here != os.path.dirname(here):
        mark = os.path.join(here, ".git")
        if os.path.isdir(mark):
            return here
        if os.path.lexists(mark):
            from ratchet.sandbox.gitfiles import repository_by

            return repository_by(here, mark)
        if not bare and os.path.isfile(os.path.join(here, "HEAD")) and os.path.isdir(os.path.join(here, "objects")):
            bare = here  # unless a repository above carries it as plain files
        here = os.path.dirname(here)
    return bare


def _nested(one: str, other: str) -> bool:
    one, other = one.rstrip("/"), other.rstrip("/")
    if one == other:
        return bool(one)
    above, below = (one, other) if len(one) < len(other) else (other, one)
    return below.startswith(above + "/") and not f"{os.environ.get('HOME', '')}/".startswith(above + "/")


def settled_text(path: str, text: str) -> str:
    """Return what stands in `path`, or `text` if nobody came before. Raises OSError."""
    from ratchet import files  # most hooks find a text that stands there, and need none of it

    return files.settled(path, f"{text}\n".encode()).decode("utf-8", "replace").strip("\n")


def small_text(path: str, limit_bytes: int = 200) -> str:
    """The stripped text of one of our small files. (Not `open`: a text file loads a codec.)"""
    return small_bytes(path, limit_bytes).decode("utf-8", "replace").strip("\n")


def small_bytes(path: str, limit_bytes: int) -> bytes:
    """The first bytes of a file. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))  # a pipe is not waited for
    try:
        return os.read(descriptor, limit_bytes)
    finally:
        os.close(descriptor)
