"""What made the difference between a call of a file tool, or of any other but a shell, and the one that worked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ratchet.failures.kinds.kind import is_transient
from ratchet.lessons.mining.calls import Call, same_path, value_text
from ratchet.lessons.mining.generalise import bindings, generalise
from ratchet.lessons.mining.remedy import Remedy, evidence, is_code
from ratchet.lessons.mining.shell_remedies import likely
from ratchet.lessons.mining.similar import alike, names

# How the editing tools of agents word it (Claude Code, OpenHands, SWE-agent, Gemini CLI, Codex).
_UNREAD = re.compile(r"not been read|read it first|must (?:first )?read|read the file (?:first|before)")
_STALE = re.compile(r"(?:modified|changed) since|unexpectedly modified|out of date")
_AMBIGUOUS = re.compile(r"found \d+ (?:matches|occurrences)|multiple (?:matches|occurrences)|not unique|more than one")
_UNMATCHED = re.compile(
    r"not found|no match|0 occurrences|verbatim|expected lines|did not appear|could not find|failed to find"
    r"|no replacement"
)
_EVERY = re.compile(r'"(?:replace_all|replaceAll|allow_multiple)":\s*true')
_SEARCHES = frozenset(("glob", "grep", "ls", "find", "fd", "rg", "git ls-files", "tree"))


def edit_remedy(failed: Call, worked: Call, between: Sequence[Call]) -> Remedy:
    """What let an edit of the same file through, told by what the tool had said."""
    message = failed.message.lower()
    tool = "apply_patch" if failed.patches else failed.tool
    read = _shown_reads(failed, between)
    if _UNREAD.search(message):
        # A shell's `cat` does not count as reading for the tools that ask for it.
        by = next((call.tool for call in reversed(between) if call.reads(failed.target) and not call.shell), "")
        how = f"Read the file with the {by} tool first" if by else "Read the file first"
        return Remedy(rule="read", text=f"{how}, then call {tool} again.", do=read, reusable=True)
    if _STALE.search(message):
        text = f"Read the file again, then call {tool}: it changed since it was read."
        return Remedy(rule="read", text=text, do=read, reusable=True)
    if _AMBIGUOUS.search(message):
        return _one_place(failed, worked)
    if _UNMATCHED.search(message):
        if any(call.reads(failed.target) for call in between):
            text = f"Read the file again at that place, then call {tool} with its exact text."
            return Remedy(rule="read", text=text, do=read, reusable=True)
        if "".join(failed.old_text.split()) == "".join(worked.old_text.split()) and failed.old_text:
            text = f"Call {tool} with the file's own indentation and line breaks in the text to replace."
            return Remedy(rule="fields", text=text, do=worked.old_text, reusable=True)
        return evidence("unclear", worked.target)
    acts = [each for call in between if call.ok and call.shell for each in call.pieces if each.noise == 0]
    related = [act for act in acts if likely(failed, act)]
    if len(related) == 1:
        act = related[0].raw
        form = generalise(act, bindings(failed.message, "", "", failed.project))
        return Remedy(rule="first", text=f"Run `{form}` first, then call {tool} again.", do=act, reusable=True)
    return evidence("unclear", worked.target)


def _one_place(failed: Call, worked: Call) -> Remedy:
    """Several places matched: either all were meant, or more of the lines around told the one apart."""
    if _EVERY.search(worked.input) and not _EVERY.search(failed.input):
        text = f"Call {failed.tool} with `replace_all` set to true, if every match is meant."
        return Remedy(rule="fields", text=text, do="replace_all=true", reusable=True)
    old, new = failed.old_text, worked.old_text
    if len(new) > len(old) and (alike(old, new) or old.strip() in new):
        text = f"Call {failed.tool} with more of the surrounding lines, so that the text to replace matches one place."
        return Remedy(rule="fields", text=text, do=new, reusable=True)
    return evidence("unclear", worked.target)


def _shown_reads(failed: Call, between: Sequence[Call]) -> str:
    shown = next((call.input for call in reversed(between) if call.reads(failed.target)), "")
    return f"Read {shown}" if shown else "Read"


def fields_remedy(failed: Call, worked: Call, between: Sequence[Call]) -> Remedy:
    """Which inputs of the same tool differ."""
    was, now = failed.fields, worked.fields
    if failed.head == "read" and not same_path(failed.target, worked.target):
        return _found_file(failed, worked, between)
    added = [name for name in now if name not in was]
    changed = [name for name in now if name in was and was[name] != now[name]]
    for name in changed:
        value = now[name]
        if isinstance(value, str) and names(failed.message, value):
            text = f"Call {failed.tool} with a `{name}` that the error lists, such as `{value}`."
            return Remedy(rule="fields", text=text, do=value, reusable=len(value) > 1)
    told = [name for name in added if re.search(rf"\b{re.escape(name)}\b", failed.message)]
    said = told or [name for name in added if isinstance(now[name], bool | int | float)]
    if said:
        return _with_fields(failed, worked, said, told=bool(told))
    if not added and not changed and not between and is_transient(failed.kind, failed.message):
        text = "Call it again as it stands: this failure passes by itself."
        return Remedy(rule="retry", text=text, do=worked.input, reusable=True)
    return evidence("unclear", worked.input)


def _with_fields(failed: Call, worked: Call, names: Sequence[str], *, told: bool) -> Remedy:
    example = ", ".join(f"{name}={value_text(worked.fields[name])}" for name in names)[:200]
    if failed.head == "read" and {"offset", "limit"}.intersection(names):
        text = f"Call {failed.tool} with `offset` and `limit` to read a part of the file, or search it."
        return Remedy(rule="fields", text=text, do=example, reusable=True)
    text = f"Call {failed.tool} with {' and '.join(f'`{name}`' for name in names)} (for example {example})."
    fits = told or failed.kind in ("context_overflow", "tool_arguments")
    return Remedy(rule="fields", text=text, do=example, reusable=fits)


def _found_file(failed: Call, worked: Call, between: Sequence[Call]) -> Remedy:
    """The file was elsewhere: how it was found is what helps next time."""
    name = worked.target.rpartition("/")[2]
    if f"Did you mean {name}" in failed.message or worked.target in failed.message:
        text = "Read the path that the error suggests (`Did you mean <file>?`)."
        return Remedy(rule="found", text=text, do=worked.input, reusable=True)
    searched = [call for call in between if call.ok and call.head in _SEARCHES]
    if searched:
        text = "Look the file up by its name first (Glob `**/<file>`), then Read the path that was found."
        return Remedy(rule="found", text=text, do=searched[-1].input, reusable=True)
    return evidence("unclear", worked.input)


def other_tool(failed: Call, worked: Call) -> Remedy:
    """Another tool did it: a folder was listed, or a file too large to read was searched."""
    if failed.kind != "context_overflow":
        return Remedy(rule="stand_in", text="That path is a folder: list it with `ls`.", do=worked.input, reusable=True)
    if worked.shell and worked.piece is not None:
        form = generalise(worked.piece.raw, [(failed.target, "file")])
        reusable = not is_code(form)
        text = f"Look at a part of the file instead: `{form}`."
        return Remedy(rule="stand_in", text=text, do=worked.piece.raw, reusable=reusable)
    text = f"Call {worked.tool} on the file instead of {failed.tool} for what is needed of it."
    return Remedy(rule="stand_in", text=text, do=worked.input, reusable=True)
