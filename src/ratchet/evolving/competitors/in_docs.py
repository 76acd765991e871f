"""Features that docs tell of: topics by their headings, commands and options by lines that use them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath

Found = tuple[str, str, int]
_DOCS = re.compile(r"(?:^|/)(?:readme[^/]*|docs?/.*)\.(?:md|mdx|rst)$", re.IGNORECASE)
_RELEASES = re.compile(r"(?:^|/)(?:change|history|news|release)[^/]*$", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,3}\s+(.{3,80}?)\s*#*$")
_LONG = 120  # no heading, and long enough to keep an expression busy
_MOST_HEADINGS = 1_000
_UNDERLINED = re.compile(r"^[=~^-]{3,}$")
_USE = re.compile(r"(?:[$%>] )?([\w.-]{2,60})(?:@[\w.]+)?((?: +[a-z][a-z-]+){0,2})(?= |$)(.{0,400})")
_OPTION = re.compile(r"(?<= )--[a-z][\w-]*")
_SAID = re.compile(r"\"[^\"]*\"|'[^']*'")
_ELSEWHERE = re.compile(r"[|;&#<>\"'`].*")  # a text that goes on, or what another program is told


def is_page(path: str) -> bool:
    """Tell whether a file is a README or a page of docs, release notes apart."""
    return bool(_DOCS.search(path)) and not _RELEASES.search(path)


def topics(path: str, lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The headings of a README, and the title of any other page: the parts of a guide are no features."""
    readme = PurePosixPath(path).name.lower().startswith("readme")
    if readme:
        found = ((name, line) for level, name, line in _headings(lines) if level > 1)
        yield from islice(found, _MOST_HEADINGS)
    else:
        yield from islice(((name, line) for level, name, line in _headings(lines) if level == 1), 1)


def used(pages: Mapping[str, Sequence[str]], programs: frozenset[str]) -> Iterator[tuple[str, list[Found]]]:
    """Options that stand behind a program of the project in its examples, and the words before these, as commands where
    they are seen twice: what a parser written by hand declares nowhere that can be read."""
    counted: dict[str, int] = {}
    for path, lines in pages.items():
        options: list[Found] = []
        commands: list[Found] = []
        for number, line in _fenced(lines):
            use = _USE.match(line.strip()) if len(line) <= 4 * _LONG else None
            if use is None or use[1] not in programs:
                continue
            given = _OPTION.findall(_ELSEWHERE.sub("", _SAID.sub("_", use[3])))
            options += [("option", each, number) for each in given]
            words = use[2].strip()
            if words and given and use[3].startswith(" --"):
                counted[words] = counted.get(words, 0) + 1
                commands += [("command", words, number)] if counted[words] == 2 else []
        yield path, [*commands, *options]


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, str, int]]:
    """Level, text and line; an underlined one is a title where it is the first of its page."""
    fenced = {number for number, _line in _fenced(lines)}
    first = True
    for number, line in enumerate(lines, 1):
        if number in fenced or len(line) > _LONG:
            continue
        heading = _HEADING.match(line)
        if heading:
            yield len(line) - len(line.lstrip("#")), _plain(heading[1]), number
        elif number > 1 and _UNDERLINED.match(line) and 3 <= len(lines[number - 2].strip()) <= min(80, len(line) + 1):
            yield 1 if first else 2, _plain(lines[number - 2]), number - 1
            first = False


def _fenced(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The lines between fences."""
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced:
            yield number, line


def _plain(text: str) -> str:
    """A heading without its markup."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return " ".join(re.sub(r"[`*#\[\]<>{}]|:\w+:", " ", text).split())
