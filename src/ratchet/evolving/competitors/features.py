"""Features of a project, each with the file and line that shows it. Pure: texts in, features out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import Literal

from ratchet.evolving.competitors import in_manifests, in_python, in_tokens
from ratchet.healing.planning.plan import one_line

FeatureKind = Literal["command", "option", "tool", "endpoint", "format", "topic"]
KINDS: tuple[FeatureKind, ...] = ("command", "option", "tool", "endpoint", "format", "topic")
_DOCS = re.compile(r"(?:^|/)(?:readme[^/]*|docs?/.*)\.(?:md|mdx|rst)$", re.IGNORECASE)
_RELEASES = re.compile(r"(?:^|/)(?:change|history|news|release)[^/]*$", re.IGNORECASE)
_APART = re.compile(r"(?:^|/)(?:tests?|testing|examples?|benchmarks?|vendor|third_party|node_modules|site-packages)/")
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|[^/]*\.(?:test|spec)|conftest)\.\w+$")
_HEADING = re.compile(r"^#{2,3}\s+(.{3,80}?)\s*#*$")
_LONG = 120  # no heading, and long enough to keep an expression busy
_MOST_HEADINGS = 1_000
_UNDERLINED = re.compile(r"^[=~^-]{3,}$")


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
    """The features of a project's files (path -> text): each once, at the first line that shows it. Tests, examples and
    foreign code are left out: what they use is not what the project offers."""
    found: dict[tuple[str, str], Feature] = {}
    own = [path for path in texts if not (_APART.search(path) or _TEST_FILE.search(path))]
    held = {path: texts[path] for path in own}
    entries = frozenset(name for path in own for name in in_manifests.entries(path, texts[path]))
    modules = in_python.modules({path: text for path, text in held.items() if _is_python(path)})
    started = in_python.started(modules) | entries
    groups = in_python.groups(modules, started)
    for path in sorted(own, key=lambda each: (each.count("/"), each)):
        lines = texts[path].split("\n")
        if path in modules:
            of_file = in_python.found(modules[path], groups, started)
        else:
            of_file = _found(path, texts[path], lines)
        for kind, name, line in of_file:
            if not name.isprintable():
                continue  # nobody could type or see it
            shown = one_line(lines[line - 1].strip()[:160]) if 0 < line <= len(lines) else ""
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
    elif _DOCS.search(path) and not _RELEASES.search(path):
        yield from (("topic", name, line) for name, line in islice(_headings(lines), _MOST_HEADINGS))
    else:
        yield from (("command", name, line) for name, line in in_manifests.commands(path, text, lines))


def _headings(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    fenced = False
    for number, line in enumerate(lines, 1):
        fenced ^= line.lstrip().startswith("```")
        if fenced or len(line) > _LONG:
            continue
        heading = _HEADING.match(line)
        if heading:
            yield _plain(heading[1]), number
        elif number > 1 and _UNDERLINED.match(line) and 3 <= len(lines[number - 2].strip()) <= min(80, len(line) + 1):
            yield _plain(lines[number - 2]), number - 1


def _plain(text: str) -> str:
    """A heading without its markup."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"[`*#\[\]<>{}]|:\w+:", " ", text).split())
