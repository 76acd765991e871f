"""Features of a project, each with the file and line that shows it. Pure: texts in, features out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from ratchet.evolving.competitors import in_docs, in_manifests, in_python, in_tokens
from ratchet.healing.planning.plan import one_line

FeatureKind = Literal["command", "option", "tool", "endpoint", "format", "topic"]
KINDS: tuple[FeatureKind, ...] = ("command", "option", "tool", "endpoint", "format", "topic")
_APART = re.compile(
    r"(?:^|/)(?:tests?|testing|examples?|benchmarks?|scripts?|vendor|third_party|node_modules|site-packages)/"
)
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|[^/]*\.(?:test|spec)|conftest)\.\w+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One thing that a project offers, and the line that shows it."""

    kind: FeatureKind
    name: str
    file: str
    line: int
    shown: str = ""
    """The line itself, cut."""

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def features(texts: Mapping[str, str]) -> tuple[Feature, ...]:
    """The features of a project's files (path -> text): each once, at the first line that declares it, else at one of
    its docs that uses it. Tests, examples and foreign code are left out: what they use is not what the project offers.
    Nor are its program itself and --help, by which its other options are found."""
    found: dict[tuple[str, str], Feature] = {}
    own = [path for path in texts if not (_APART.search(path) or _TEST_FILE.search(path))]
    own.sort(key=lambda each: (each.count("/"), each))
    lines = {path: texts[path].split("\n") for path in own}
    entries = frozenset(name for path in own for name in in_manifests.entries(path, texts[path]))
    itself = frozenset(name for path in own for name in in_manifests.itself(path, texts[path]))
    modules = in_python.modules({path: texts[path] for path in own if _is_python(path)})
    started = in_python.started(modules) | entries
    groups = in_python.groups(modules, started)
    of_files = [
        (path, in_python.found(modules[path], groups, started))
        if path in modules
        else (path, _found(path, texts[path], lines[path]))
        for path in own
    ]
    docs = {path: lines[path] for path in own if in_docs.is_page(path)}
    for path, of_file in (*of_files, *in_docs.used(docs, itself)):
        for kind, name, line in of_file:
            if not name.isprintable() or name == "--help" or (kind == "command" and name in itself):
                continue  # nobody could type or see it; no feature
            of_path = lines[path]
            shown = one_line(of_path[line - 1].strip()[:160]) if 0 < line <= len(of_path) else ""
            made = Feature(kind=_kind(kind), name=name, file=path, line=line, shown=shown)
            found.setdefault((kind, name), made)
    return tuple(sorted(found.values(), key=lambda each: (KINDS.index(each.kind), each.name)))


def _kind(text: str) -> FeatureKind:
    return next(each for each in KINDS if each == text)


def _is_python(path: str) -> bool:
    return path.endswith(".py") and not path.startswith("docs/")


def _found(path: str, text: str, lines: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    if PurePosixPath(path).suffix in in_tokens.SUFFIXES:
        yield from in_tokens.found(path, text)
    elif in_docs.is_page(path):
        yield from (("topic", name, line) for name, line in in_docs.topics(path, lines))
    else:
        yield from (("command", name, line) for name, line in in_manifests.commands(path, text, lines))
