"""Writes down what a lesson rests on in its project: the paths that it names, the script that it runs, the line that
failed, and the versions of the tools that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ratchet.lessons.rests import holds_line, holds_name, text_of, top_of, version_in
from ratchet.records import Json, Row

CITED = 8  # of one lesson
_PATH = re.compile(r"(?<![\w@.-])(?:\.{0,2}/)?(?:[\w@.-]+/)+[\w@.-]+|(?<![\w/.-])[\w-]+\.[a-z]{1,5}(?![\w/(.])")
_PLACED = re.compile(
    r'(?:File "(?P<file>[^"\n]{1,300})", line \d+[^\n]*|^(?P<path>[\w./-]+\.\w+):\d+[^\n]*)\n\s*(?P<line>\S[^\n]*)',
    re.MULTILINE,
)
_LINE_CHARS = 8  # a shorter line stands anywhere

MANIFESTS = (
    *("go.mod", "package.json", "pyproject.toml", "requirements.txt", "Cargo.toml", "Gemfile", "mix.exs"),
    *("composer.json", "pom.xml", "build.gradle", "build.gradle.kts", ".tool-versions", "mise.toml", ".mise.toml"),
    *("setup.cfg", ".pre-commit-config.yaml"),
)
"""Files in which projects name their tools with versions."""

RUNNERS = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "npm": ("package.json",),
    "yarn": ("package.json",),
    "pnpm": ("package.json",),
    "bun": ("package.json",),
    "mise": ("mise.toml", ".mise.toml"),
    "just": ("justfile", "Justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "mix": ("mix.exs",),
    "rake": ("Rakefile",),
    "tox": ("tox.ini", "pyproject.toml"),
    "nox": ("noxfile.py",),
    "poetry": ("pyproject.toml",),
    "composer": ("composer.json",),
}
"""Program -> files that hold the names of what it runs."""


def cited(*, folder: str, advice: str, said: str, tools: Iterable[str]) -> list[Json]:
    """List what a lesson rests on in the project of `folder` as it is now: `advice` is what it says to do, `said` the
    failing output, `tools` the programs and rules that it is about. Empty where the project is not on this machine."""
    root = top_of(folder)
    if not root:
        return []
    found: dict[tuple[str, str, str], Row] = {}
    for row in (*_paths(root, advice), *_scripts(root, advice), *_lines(root, said), *_versions(root, tools)):
        found.setdefault((str(row["kind"]), str(row["path"]), str(row.get("name") or "")), row)
    return [*list(found.values())[:CITED]]


def _paths(root: str, advice: str) -> Iterator[Row]:
    for token in _PATH.findall(advice):
        path = within(root, token)
        if path:
            yield {"kind": "path", "path": path}


def within(root: str, token: str) -> str:
    """The path in a project that a token names: itself, or what is left of it (an import's path, an absolute one of
    another clone) from two parts on; "" where there is none."""
    token = token.removeprefix(f"{root}/")
    parts = [part for part in token.removeprefix("./").split("/") if part not in ("", ".", "..")]
    for start in range(len(parts)):
        if start and len(parts) - start < 2:  # one part may be anything
            break
        path = "/".join(parts[start:])
        if Path(root, path).exists():
            return path
    return ""


def _scripts(root: str, advice: str) -> Iterator[Row]:
    for command in advice.split("`")[1::2]:
        words = command.split()
        for at, word in enumerate(words[:-1]):
            names = [each for each in words[at + 1 : at + 3] if each != "run" and each[:1] not in "-<"]
            for manifest in RUNNERS.get(word, ()):
                if names and (row := _named(root, manifest, names[0])):
                    yield row


def _named(root: str, path: str, name: str) -> Row | None:
    text = text_of(str(Path(root, path)))
    return _row(root, path, "name", name) if text is not None and holds_name(text, name) else None


def _lines(root: str, said: str) -> Iterator[Row]:
    """Lines of the project's own files that the failing output quotes."""
    for found in _PLACED.finditer(said):
        line = found["line"].strip()
        path = within(root, found["file"] or found["path"])
        text = text_of(str(Path(root, path))) if path and len(line) >= _LINE_CHARS else None
        if text is not None and holds_line(text, line):
            yield _row(root, path, "line", line)


def _versions(root: str, tools: Iterable[str]) -> Iterator[Row]:
    for path in _there(root, MANIFESTS):
        text = text_of(str(Path(root, path)))
        for tool in tools:
            version = version_in(text, tool) if text is not None and len(tool) > 1 else ""
            if text is not None and version:
                yield {**_row(root, path, "version", tool), "version": version}


def _there(root: str, names: Sequence[str]) -> list[str]:
    there = {each.name for each in Path(root).iterdir()}
    return [name for name in names if name in there]


def _row(root: str, path: str, kind: str, name: str) -> Row:
    held = Path(root, path).stat()
    mark = f"{held.st_size} {held.st_mtime_ns}"
    return {"kind": kind, "path": path, "name": name, "mark": mark}
