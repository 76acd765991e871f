"""Reads the imports that edits add, and tells from which module a project imports each name. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ratchet.failures.missing_names import import_key
from ratchet.lessons.mining.hunks import TEXTS, Hunk, imports

_LEAST_SHARE = 0.8  # of the sessions that import a name, since its newest module was first used: else it has two
_LEAST_SESSIONS = 2  # for what tells little (`strings` from "strings") or contradicts what was (another module)
_MOST_NAMES = 200  # of one project
_WORD = re.compile(r"[A-Za-z_]\w*")
_GRAMMAR = frozenset("import from as pub use const let var require alias static type typeof default".split())  # noqa: SIM905
_GO = "import go "  # keys of Go, where a quoted path alone is an import; elsewhere that is any string
_PARTS = re.compile(r"::|[./]")
_VERSION = re.compile(r"v\d+")
_BESIDE = re.compile(r"[./]|(?:super|self)\b")  # named from a file's or a machine's own place
_VERBS = {"ex": "Alias"}  # Elixir's `import` brings functions; a module's short name comes by `alias`
_SCRIPTS = frozenset(("ts", "js", "mt", "mj", "ct", "cj", "vu", "sv"))  # endings, as `import_key` cuts them
_BRACES = re.compile(r"::\{([^}]*)\}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSource:
    """The module that a project imports a name from: so in `sessions` of the `known` ones that import it."""

    name: str
    module: str
    sessions: int
    known: int
    verb: str = "Import"
    is_script: bool = False  # of a language whose imports put any module's name in quotes, beside the name they bring

    @property
    def text(self) -> str:
        """One line of advice: parts that dots or colons join are no text in most languages, so they stand without
        quotes; a module that ends in the name says it by itself."""
        if self.is_script:
            return f'{self.verb} `{self.name}` from `"{self.module}"` ({self.counted}).'
        whole = self.module == self.name or self.module.endswith((f".{self.name}", f":{self.name}"))
        is_joined = "/" not in self.module and not {".", ":"}.isdisjoint(self.module)
        module = self.module if is_joined else f'"{self.module}"'
        return f"{self.verb} {'' if whole else f'`{self.name}` from '}`{module}` ({self.counted})."

    @property
    def counted(self) -> str:
        """The count of sessions that did so, in words."""
        return f"{self.sessions} of {self.known} sessions" if self.known > 1 else "one session"

    @property
    def is_elsewhere(self) -> bool:
        """Tell whether the module has another name than what it brings."""
        return self.module != self.name


def added_imports(hunk: Hunk) -> Iterable[tuple[str, str]]:
    """(key, module) of each name that an edit newly imports."""
    old = {line.strip() for line in hunk.removed}
    python, elixir = hunk.path.endswith((".py", ".pyi")), hunk.path.endswith((".ex", ".exs"))
    for line in () if hunk.path.endswith(TEXTS) else hunk.added:
        module = next(iter(imports([line])), "") if line.strip() not in old else ""
        if not module or _BESIDE.match(module) or (elixir and line.split()[0] in ("import", "use")):
            continue  # the last brings functions, of no name that stands in the line
        for name in _names(line, module, first=python):
            key = import_key(name, hunk.path)
            if key and (key.startswith(_GO) or not _GRAMMAR.isdisjoint(line.split())):
                yield key, module


def _names(line: str, module: str, *, first: bool) -> list[str]:
    """The names that a line gives to what it imports, else the last part of the module's (Python: the `first`)."""
    listed = _BRACES.search(module)
    given = listed[1] if listed is not None else line.replace(module, " ", 1)
    names = [word for word in _WORD.findall(given) if word not in _GRAMMAR]
    if names:
        return names
    parts = [part for part in _PARTS.split(module) if part and not _VERSION.fullmatch(part)]
    if not parts:
        return []
    return parts[:1] if first and line.split()[0] == "import" else parts[-1:]


ImportUses: TypeAlias = Mapping[str, Sequence[tuple[float, str, str]]]
"""(time, session, module) of each session whose edits import a name, by the name's key."""


def import_sources(uses: ImportUses) -> dict[str, ImportSource]:
    """The module that a project imports each name from, by key: the newest one, if nearly all sessions since its first
    use agree. Modules of another name than what they bring come first, then those of most sessions."""
    found = {key: each for key, met in uses.items() if (each := _source(key, met)) is not None}
    kept = sorted(found, key=lambda key: (not found[key].is_elsewhere, -found[key].sessions, key))[:_MOST_NAMES]
    return {key: found[key] for key in kept}


def _source(key: str, met: Sequence[tuple[float, str, str]]) -> ImportSource | None:
    _, language, name = key.split(" ", 2)
    module = max(met)[2]
    first = min(at for at, _, other in met if other == module)
    since = {session for at, session, _ in met if at >= first}
    own = {session for at, session, other in met if other == module}
    tells_much = module != name and first == min(met)[0]
    if len(own) < _LEAST_SHARE * len(since) or (not tells_much and len(own) < _LEAST_SESSIONS):
        return None
    return ImportSource(
        name=name,
        module=module,
        sessions=len(own),
        known=len(since),
        verb=_VERBS.get(language, "Import"),
        is_script=language in _SCRIPTS,
    )
