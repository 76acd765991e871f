"""Cuts others' advice down to what an agent may see of it: commands, flags and paths, checked by their shape."""

from __future__ import annotations

import re
import shutil

from ratchet.failures import programs
from ratchet.failures.intent import commands, head_of
from ratchet.lessons.fence import harmless

_PARTS = 6  # of one lesson; more is no advice for one failure
_READ = 4000  # characters that are looked at
_CHARS = 200  # of one command
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_FLAG = re.compile(r"(-{1,2}[A-Za-z0-9][A-Za-z0-9_-]{0,40})(?:=(\S{1,80}))?")
_OPERAND = re.compile(r"[A-Za-z0-9_.~/@:+,%-]{1,120}|<[a-z]{1,20}\d?>")
_REMOTE = re.compile(r"://|^//|^[\w.+-]+@[\w.-]+:")
_WORD = re.compile(r"[a-z]{2,}", re.IGNORECASE)
_PLACE = re.compile(r"\.{0,2}/|~/|.*/.|.*[\w-]\.[a-z]\w{0,5}$", re.IGNORECASE)
_PROGRAM = re.compile(r"(?:\./|\.\./)?[a-z0-9][a-z0-9._+/-]{0,60}")
_JOINED_WORDS = 4  # within one name: `--experimental-vm-modules` has three; a sentence with hyphens has more
_DEPTH = 8  # names of one path
_BARE_WORDS = 2  # behind a program and its verb (`git push origin main`): a sentence needs more
_KNOWN = (
    programs.PLAIN
    | programs.TASKED
    | programs.INTERPRETERS
    | {*programs.NOISE, *programs.TWO_LEVELS, *programs.VALUED, *programs.SAME, *programs.WRAPPERS}
    | {first for first, *_ in programs.RUNNERS}
    | {name.split()[0] for name in programs.TEST_RUNNERS}
)


def parts_of(advice: str) -> tuple[str, ...]:
    """The commands, flags and paths of an advice, in its order, each once: those that it quotes, else its lines that
    are a command as a whole. Prose never passes, in any language: what passes is known by its form, so that nothing
    has to be known about wordings. A command that names another machine or holds an operator but `&&` is none."""
    text = advice[:_READ]
    spans = _QUOTED.findall(text) or [line.strip() for line in text.split("\n")]
    found = [span for span in (" ".join(each.split(" ")) for each in spans) if _passes(span)]
    return tuple(dict.fromkeys(found))[:_PARTS]


def _passes(span: str) -> bool:
    if not span or len(span) > _CHARS or not (span.isascii() and span.isprintable()):
        return False
    if harmless(re.sub(r"[-_./:=+,]+", " ", span), _CHARS * 2) == "":  # a sentence whose spaces are other signs
        return False
    words = span.split()
    if len(words) == 1 and (_is_flag(span) or (_PLACE.match(span) and _is_operand(span))):
        return True
    return all(_is_command(each) for each in span.split(" && "))


def _is_command(text: str) -> bool:
    """Tell whether a text is one simple command: a program that is known or lies at a path, with flags, paths and at
    most a few bare words."""
    words = text.split()
    if not words or not _PROGRAM.fullmatch(words[0]) or not _names_program(words[0]):
        return False
    if not all(_is_flag(word) or _is_operand(word) for word in words[1:]):
        return False
    simple = commands(text)
    if len(simple) != 1:
        return False
    head, _ = head_of(simple[0][0])
    bare = [word for word in words[1:] if word.isalpha() and word not in head.split()]
    return len(bare) <= (1 if words[0] in programs.PLAIN else _BARE_WORDS)


def _names_program(word: str) -> bool:
    return "/" in word or word in _KNOWN or shutil.which(word) is not None


def _is_flag(word: str) -> bool:
    found = _FLAG.fullmatch(word)
    return found is not None and _is_short(found[1]) and (found[2] is None or _is_operand(found[2]))


def _is_operand(word: str) -> bool:
    if not _OPERAND.fullmatch(word) or _REMOTE.search(word):
        return False
    names = word.split("/")
    return len(names) <= _DEPTH and all(map(_is_short, names))


def _is_short(name: str) -> bool:
    return len(_WORD.findall(re.sub(r"[_\d]", " ", name))) <= _JOINED_WORDS
