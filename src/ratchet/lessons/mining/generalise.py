"""Turns one working command into a form that helps elsewhere: what varies becomes a named placeholder, all else stays
byte for byte.

What varies is what the failure was about: a part of the working command that the failing command or its message also
holds, as a branch, file, module, port, test or the like.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Binding = tuple[str, str]
"""(value as it stood, name of the placeholder)."""

_MESSAGE_CHARS = 4000
_OPERAND = re.compile(r"'[^']{1,300}'|\"[^\"]{1,300}\"|[^\s'\"`|;&<>()]{2,300}")

# What a message says about a value, by its real wordings: the group is the value.
_NAMED: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("branch", r"[Cc]urrent branch (\S{1,200}) has no upstream"),
        ("branch", r"\bbranch ['\"`]([^'\"`\s]{1,200})['\"`]"),
        ("branch", r"\[(?:remote )?rejected\]\s{1,40}(\S{1,200}) ->"),
        ("branch", r"\bsrc refspec (\S{1,200}) does not match"),
        ("branch", r"--set-upstream(?:-to=)? ?(?:origin/|origin )(\S{1,200})"),
        ("module", r"[Nn]o module named ['\"]?([\w.]{1,100})"),
        ("module", r"[Cc]annot find (?:module|package) ['\"]([^'\"]{1,200})['\"]"),
        ("module", r"[Cc]an't resolve ['\"]([^'\"./][^'\"]{0,200})['\"]"),
        ("module", r"[Cc]ould not resolve ['\"]([^'\"./][^'\"]{0,200})['\"]"),
        ("module", r"no required module provides package (\S{1,200}?)[;:,\s]"),
        ("module", r"can't find crate for `(\w{1,100})`"),
        ("module", r"[Cc]ould not find (?:gem|package) ['\"`]([\w.@/-]{1,100})"),
        ("module", r"\brequires (\w{1,60}) as a (?:test )?dependency"),
        ("module", r"[Tt]ypes? declarations? .{0,40}['\"]([^'\"]{1,100})['\"]"),
        ("port", r"\b[Pp]ort[ :=]{1,3}(\d{2,5})\b"),
        ("port", r"(?:localhost|\d\.\d\.\d\.\d|::\]?):(\d{2,5})\b"),
        ("script", r"[Mm]issing script:? ['\"]?([\w:.-]{1,100})"),
        ("remote", r"'([\w.-]{1,100})' does not appear to be a git repository"),
        ("agent", r"Agent type '([^']{1,100})' not found"),
    )
)
# Of names without a folder only those with the extension of a file that people work on: `ecto.migrate` is a task.
_EXTENSIONS = (
    "py|pyi|js|jsx|mjs|cjs|ts|tsx|vue|go|rs|rb|ex|exs|heex|erl|java|kt|kts|scala|swift|c|h|cc|cpp|hpp|cs|php|pl|lua|sh|bash|zsh"
    "|sql|html|css|scss|json|jsonl|ya?ml|toml|xml|csv|txt|md|rst|ini|cfg|conf|lock|log|env|ipynb|tf|proto|zig|dart|svelte"
)
_PATH = re.compile(
    rf"(?:[~.]{{1,2}}/|/)?(?:[\w.@+-]{{1,120}}/){{1,40}}[\w.@+*-]{{0,120}}|[\w-]{{1,120}}\.(?:{_EXTENSIONS})\b"
)
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
# Names that are the same in every project of their kind: as bytes they say more than a placeholder does.
_KNOWN_NAMES = """
    package.json package-lock.json yarn.lock pnpm-lock.yaml tsconfig.json requirements.txt pyproject.toml
    setup.py setup.cfg tox.ini manage.py conftest.py Makefile Dockerfile docker-compose.yml docker-compose.yaml
    compose.yaml compose.yml Cargo.toml Cargo.lock go.mod go.sum mix.exs mix.lock Gemfile Gemfile.lock pom.xml
    build.gradle build.gradle.kts CMakeLists.txt .env .gitignore README.md CLAUDE.md AGENTS.md origin upstream
    main master HEAD .venv/bin/activate venv/bin/activate .venv/bin/python .venv/bin/pytest node_modules src
    tests test lib docs
"""
KNOWN = frozenset(_KNOWN_NAMES.split())
_NOTHING = frozenset(("the", "a", "to", "in", "is", "it", "not", "this", "that", "and", "or", "of"))


def bindings(message: str, command: str, target: str = "", project: str = "") -> list[Binding]:
    """Collect what varies, as the failing `message` and `command` show it; the first binding of a value counts."""
    text = message[:_MESSAGE_CHARS]
    found: dict[str, str] = {}
    for name, pattern in _NAMED:
        for value in pattern.findall(text):
            value = value.rstrip(".,;:'\"`")
            if name == "module":
                found.setdefault(value, name)
                value = value.partition(".")[0]
            if len(value) > 1 and value.lower() not in _NOTHING:
                found.setdefault(value, name)
    if target and ("::" in target or _EXTENSION.search(target.partition(":")[0])):
        found.setdefault(target, "test")
    if len(project) > 3:
        found.setdefault(project, "project")
    for source in (command[:_MESSAGE_CHARS], text):
        for value in _PATH.findall(source):
            value = value.rstrip(".,:")
            if _varies(value):
                name = "file" if _EXTENSION.search(value) else "path"
                found.setdefault(value, name)
                found.setdefault(value.removeprefix("./"), name)
    return [(value, name) for value, name in found.items() if value not in KNOWN]


def _varies(path: str) -> bool:
    return len(path) > 2 and path not in KNOWN and not path.isdigit() and any(char.isalpha() for char in path)


def generalise(command: str, bound: Sequence[Binding]) -> str:
    """`command` with each bound value replaced by its placeholder, outside its first word (the program). Different
    values of one name are told apart by a number, in order: `<file>`, `<file2>`."""
    program, space, rest = command.partition(" ")
    names = {value: name for value, name in bound if value in rest}
    if not names:
        return command
    seen: dict[str, dict[str, int]] = {}

    def placeholder(found: re.Match[str]) -> str:
        value = found.group()
        name = names[value]
        number = seen.setdefault(name, {}).setdefault(value, len(seen[name]) + 1)
        return f"<{name}{number if number > 1 else ''}>"

    # The longest first: a file before the folder it lies in.
    values = sorted(names, key=lambda value: (-len(value), value))
    return program + space + re.sub("|".join(map(_whole, values)), placeholder, rest)


def _whole(value: str) -> str:
    """An expression for `value` where it is not part of a longer word or path."""
    before = r"(?<![\w@<-])" if value[:1] in "/~." else r"(?<![\w@<./-])"
    return before + re.escape(value) + r"(?![\w@>-]|\.\w)"


_COMMIT_MESSAGE = re.compile(
    r"(\s(?:-a?m|--message|--title|--body|-b|-t)[ =]?)(\"(?:[^\"\\]|\\.)*\"?|'[^']*'?)", re.DOTALL
)


def without_prose(command: str) -> str:
    """A git or gh command whose message, title and body are named, not quoted."""
    program = command.lstrip().partition(" ")[0]
    if program not in ("git", "gh", "glab", "hg", "jj"):
        return command
    return _COMMIT_MESSAGE.sub(lambda found: f"{found.group(1)}<message>", command)
