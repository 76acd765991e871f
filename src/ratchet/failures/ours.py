"""Recognises what Ratchet wrote itself, and steps that only show what it knows. Lean: hook processes import it.

A list of failures is no failure. Ours is a tool of our MCP server, a command line of ours in any spelling, and any text
between our tags (`lessons.fence`), which carry a hash of what is between them.
"""

from __future__ import annotations

import re

from ratchet.failures.intent import commands, head_of, is_shell
from ratchet.failures.programs import NOISE

NAME = "ratchet"
_TOOL = re.compile(r"(?:mcp[_.:-]{1,2})?ratchet(?:[_.:/-]{1,2}|$)", re.IGNORECASE)
_BLOCK = re.compile(r"<(ratchet-(?:lessons|data)-[0-9a-f]{16})>.*?(?:</\1>|\Z)", re.DOTALL)
_PROGRAM = re.compile(r"ratchet(?:[-_]ai)?(?:$|[ @=\[.])")  # the command, or what `uvx` and `pipx` call it
# Our commands: behind our name they are ours, whatever carries them there (a container, another machine, a wrapper).
# A hook may not load the command line's own table; a test holds them equal.
COMMANDS = frozenset(
    """
    ab backtest bench classify compact compare demo doctor episodes evolve forget gate health hook init install learn
    lessons loop mcp migrate models patterns predict proposals pulse recall record report run sandbox serve services
    sessions settings token trials uninstall version watch-dir
    """.split()  # noqa: SIM905
)
_ID = re.compile(r"\b(?:l[0-9a-f]{24}|p[0-9a-f]{16})\b")  # of a lesson or a pattern: what shows one is ours
_HOME = re.compile(rf"[/\\]\.{NAME}(?:[/\\]|$)|(?:^|=)\.{NAME}[/\\]")
_CALLED = re.compile(rf"(?:.*[/#])?{NAME}(?:\.exe|\.cmd)?")
_WINDOWS_PATH = re.compile(r"[\w.:-]*\\(?:[\w.-]+\\)*(?=ratchet(?:\.exe|\.cmd)?\s)")
# A program in Python that imports us prints what we tell it.
_IMPORTS = re.compile(r"\bpy(?:thon)?[\d.]{0,5}\b[\s\S]{0,200}?(?:-c\s|<<)[\s\S]{0,2000}?\b(?:import|from) ratchet\b")
# How our command line tells of a failure, and what a shell or an interpreter says where it is not there.
_TOLD = re.compile(
    r"^(?:ratchet: |Usage: (?:python -m )?ratchet\b|Error: No such (?:option|command)"
    r"|Traceback \(most recent call last\))"
    r"|^\S{0,200}(?:sh: |zsh: |python[\d.]{0,8}: ).{0,200}\b(?:command not found|not found|No module named ratchet)\b"
)
_EXIT_LINE = re.compile(r"\A(?:Error: )?Exit code \d{1,3}\b[^\n]{0,80}")


def is_ours(tool: str, given: str = "", head: str = "") -> bool:
    """Tell whether a step only ran us: a tool of ours, or a command line in which nothing else acts. `given` is a
    shell's command, `head` its intent where the command is not known."""
    return _share(tool, given, head) == 2


def shows_ours(tool: str, given: str = "", head: str = "") -> bool:
    """Tell whether a step ran us at all, so that what it printed may be ours."""
    return _share(tool, given, head) > 0


def without(text: str) -> str:
    """The text without what stands between our tags, cut off or whole."""
    return _BLOCK.sub("", text) if "<ratchet-" in text else text


def tells_failure(said: str) -> bool:
    """Tell whether the result of a step of ours says that our own command failed."""
    return any(_TOLD.match(line) for line in said.strip().split("\n", 3)[:3])


def of_others(text: str, tool: str, given: str) -> str:
    """The part of an output that the other commands of a step printed, "" where that cannot be told: what stands before
    all paragraphs that show a lesson or a pattern, if one acts before ours, and behind them, if one acts behind."""
    if tool and not is_shell(tool):
        return ""
    order = [is_own for _, is_own, is_fed in _acting(given) if is_own or not is_fed]
    if all(order) or not any(order):
        return ""
    paragraphs = [each for each in re.split(r"\n[ \t]*\n", text) if each.strip()]
    shown = [at for at, each in enumerate(paragraphs) if _ID.search(each)]
    before = paragraphs[: shown[0]] if shown and not order[0] else []
    behind = paragraphs[shown[-1] + 1 if shown else -1 :] if not order[-1] else []
    return "\n\n".join(before + behind)


def own_words(text: str) -> str:
    """Of the result of a failed step that only ran us: its exit code and our error, without the failures it shows."""
    lines = text.split("\n")
    at = next((n for n, line in enumerate(lines) if _TOLD.match(line)), len(lines))
    ended = _EXIT_LINE.match(text)
    kept = ([ended[0]] if ended and at else []) + lines[at : at + 20]
    return "\n".join(kept) or f"{NAME} ended with a failure"


def _carries_us(words: list[str]) -> bool:
    """Tell whether a command of another program runs ours, or names our home: our records of failures are no
    failures."""
    if any(map(_HOME.search, words[1:])):
        return True
    parts = [word.split() if _CALLED.fullmatch(word.partition(" ")[0]) else [word] for word in words]
    said = [part for each in parts for part in each if part != "--"]
    return any(_CALLED.fullmatch(one) and then in COMMANDS for one, then in zip(said, said[1:], strict=False))


def _evaluated(words: list[str]) -> list[list[str]]:
    """The commands that `eval` runs; any other one as it is."""
    return [inner for inner, _ in commands(" ".join(words[1:]))] if words[0] == "eval" else [words]


def _acting(given: str) -> list[tuple[list[str], bool, bool]]:
    """The commands that act, in order: (words, whether it is ours, whether a pipe feeds it)."""
    found = [(inner, fed) for words, fed in commands(_WINDOWS_PATH.sub("", given)) for inner in _evaluated(words)]
    return [
        (words, bool(_PROGRAM.match(head_of(words)[0])) or _carries_us(words), fed)
        for words, fed in found
        if words[0].rpartition("/")[2] not in NOISE or _carries_us(words)
    ]


def _share(tool: str, given: str, head: str) -> int:
    """0: none of it is ours, 1: some, 2: all that acts."""
    if not is_shell(tool) and tool:
        return 2 if _TOOL.match(tool) else 0
    if NAME not in given and NAME not in head:
        return 0
    if _IMPORTS.search(given):
        return 1
    acting = _acting(given)
    if not acting:
        return 2 if _PROGRAM.match(head) else 0
    ours = [words for words, is_own, _ in acting if is_own]
    return 0 if not ours else 2 if len(ours) == len(acting) and not any("--" in words for words in ours) else 1
