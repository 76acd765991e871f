"""Edits as models write them (exact old text, new text; or a whole new file), made to the text of a file.

Pure. An edit is made where its old text stands exactly once, or where exactly one place differs from it in nothing but
white space, which models get wrong most often; the depth of indentation is then the file's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ratchet.sandbox.command import FileChange

MOST_EDITS = 64
MOST_FILE_BYTES = 1_048_576
_FENCE = re.compile(r"^[ \t]*```.*$", re.MULTILINE)
_HIDDEN = "[redacted:"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """One change of one file. Without `old`, `new` is the whole file."""

    file: str
    old: str = ""
    new: str = ""


class Misfit(Exception):  # noqa: N818  (data about an answer, told back to the model)
    """An edit that cannot be made; the message tells the model why."""


def changes_of(
    edits: Sequence[FileEdit], read: Callable[[str], bytes | None], shown: Mapping[str, str] | None = None
) -> tuple[FileChange, ...]:
    """Apply the edits to the files, all of them or none. `read` gives a file's content, None where there is none;
    `shown` are files that may be changed (path -> text): an edit of any other goes to the only one of these that holds
    its old text, if there is one.

    Raises Misfit with every reason, one a line.
    """
    if len(edits) > MOST_EDITS:
        raise Misfit(f"{len(edits)} edits are too many: make at most {MOST_EDITS}")
    # Small models list what stays as it is beside what changes.
    edits = [each for each in edits if each.old != each.new] or edits
    before: dict[str, bytes | None] = {}
    after: dict[str, str] = {}
    wrong: list[str] = []
    for edit in edits:
        try:
            path = _file_meant(edit, shown or {})
            if path not in before:
                before[path] = read(path)
                after[path] = _text(path, before[path])
            after[path] = _made(path, after[path], edit, exists=before[path] is not None)
        except Misfit as fault:
            wrong.append(str(fault))
    if wrong:
        raise Misfit("\n".join(wrong))
    return tuple(_change(path, before[path], text) for path, text in after.items() if _differs(before[path], text))


def path_of(written: str) -> str:
    """The path within the workspace that a model means. Raises Misfit for one that leads out of it."""
    path = written.strip().strip("`'\"").replace("\\", "/").removeprefix("./")
    parts = path.split("/")
    if not path or path.startswith(("/", "~")) or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise Misfit(f"{written[:200]!r} is no path within the project: write it as it was shown")
    if len(path.encode("utf-8", "surrogatepass")) > 1_000 or any(0xD800 <= ord(each) < 0xE000 for each in path):
        raise Misfit("a path is too long or not valid text")
    return path


def _file_meant(edit: FileEdit, shown: Mapping[str, str]) -> str:
    """The file that an edit names; where that is none of those shown, the only one that holds its old text."""
    try:
        path = path_of(edit.file)
    except Misfit:
        path = ""
    if path not in shown and edit.old.strip():
        squeezed = _squeezed(edit.old)[0]
        holding = [each for each, text in shown.items() if squeezed in _squeezed(text)[0]]
        if len(holding) == 1:
            return holding[0]
    return path_of(edit.file)


def _text(path: str, content: bytes | None) -> str:
    if content is None:
        return ""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Misfit(f"{path} is not UTF-8 text and cannot be edited") from error


def _made(path: str, text: str, edit: FileEdit, *, exists: bool) -> str:
    """The text after one edit, in the file's own line ends."""
    windows = "\r\n" in text and text.count("\n") == text.count("\r\n")
    plain = text.replace("\r\n", "\n") if windows else text
    old, new = (each.replace("\r\n", "\n") if windows or "\r\n" not in text else each for each in (edit.old, edit.new))
    if _HIDDEN in new and new.count(_HIDDEN) > plain.count(_HIDDEN):
        raise Misfit(f"{path}: the new text holds {_HIDDEN}...], which stands for a secret: leave that line alone")
    made = _whole(path, plain, new, exists=exists) if not old.strip() else _replaced(path, plain, old, new)
    if len(made.encode("utf-8", "replace")) > MOST_FILE_BYTES:
        raise Misfit(f"{path} would be larger than {MOST_FILE_BYTES // 1_048_576} MB")
    return made.replace("\n", "\r\n") if windows else made


def _whole(path: str, text: str, new: str, *, exists: bool) -> str:
    if not new.strip():
        raise Misfit(f"{path}: an edit has neither old nor new text")
    if exists and path.endswith(".py") and _parses(text) and not _parses(new):
        raise Misfit(f"{path}: the new file is not valid Python; without old text, new text must be the whole file")
    if exists and text.endswith("\n") and not new.endswith("\n"):
        return new + "\n"
    return new


def _replaced(path: str, text: str, old: str, new: str) -> str:
    if not text:
        raise Misfit(f"{path} does not exist, so it holds no old text: name a file that was shown")
    if old == new:
        raise Misfit(f"{path}: the old text and the new text are the same")
    found = text.count(old)
    if found == 1:
        return text.replace(old, new)
    if found > 1:
        raise Misfit(f"{path}: the old text stands there {found} times: give more lines around it")
    return _replaced_loosely(path, text, old, new)


def _replaced_loosely(path: str, text: str, old: str, new: str) -> str:
    """Replace where only white space differs. The new text stands at the file's depth of indentation."""
    wanted, (held, at) = _squeezed(old)[0], _squeezed(text)
    found = held.count(wanted)
    if found != 1:
        told = "fits several places" if found else "is not in the file: copy it exactly from what was shown"
        raise Misfit(f"{path}: the old text {_short(old)!r} {told}")
    first = held.index(wanted)
    start, stop = at[first], at[first + len(wanted) - 1] + 1
    start = text.rfind("\n", 0, start) + 1 if not text[text.rfind("\n", 0, start) + 1 : start].strip() else start
    real, written = _indent(text[start:stop].split("\n")), _indent(old.strip("\n").split("\n"))
    fresh = "\n".join(_shifted(line, real, written) for line in new.strip("\n").split("\n")) if new.strip() else ""
    return text[:start] + fresh + text[stop:]


def _squeezed(text: str) -> tuple[str, list[int]]:
    """The text without white space, and where each of its characters stood."""
    at = [index for index, character in enumerate(text) if not character.isspace()]
    return "".join(text[index] for index in at), at


def _indent(lines: Sequence[str]) -> str:
    """The indentation of the first line that holds anything."""
    line = next((each for each in lines if each.strip()), "")
    return line[: len(line) - len(line.lstrip())]


def _shifted(line: str, real: str, written: str) -> str:
    if not line.strip():
        return ""
    return real + line[len(written) :] if line.startswith(written) else real + line.lstrip()


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _differs(before: bytes | None, text: str) -> bool:
    return before != text.encode("utf-8", "replace")


def _change(path: str, before: bytes | None, text: str) -> FileChange:
    return FileChange(
        path=path,
        before=before,
        after=text.encode("utf-8", "replace"),
        before_mode=0 if before is None else 0o644,
        after_mode=0o644,
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"


# -- answers that are no JSON ------------------------------------------------------------------------------------------


def in_fences(text: str, files: Mapping[str, str], *, only: str = "") -> tuple[FileEdit, ...]:
    """Whole files between fences, as weak models answer however they are asked: each goes to the file that is named on
    the fence or in the line above it, or to the only one of `files` (path -> text) that defines the same names. With
    `only`, the longest is that file, or the text itself where it has no fence and is a program; a part between any two
    fences that defines what the file did goes first, since the question may be written down again around it."""
    blocks = list(_blocks(text))
    if only:
        wanted = _defined(files.get(only, ""))
        parts = [f"{each.strip()}\n" for each in _FENCE.split(text)]
        programs = [each for each in parts if wanted and _defined(each) >= wanted]
        longest = max(programs or [block for _words, block in blocks], key=len, default=text if _defined(text) else "")
        return (FileEdit(file=only, new=longest),) if longest.strip() else ()
    meant = ((_meant(words, block, files), block) for words, block in blocks)
    return tuple(FileEdit(file=path, new=block) for path, block in meant if path and block.strip())


def one_line_of(text: str) -> str:
    """The line of code that an answer is: between fences or backticks, else its only one."""
    fenced = [line for _words, block in _blocks(text) for line in block.split("\n") if line.strip()]
    ticked = re.findall(r"`([^`\n]+)`", text)
    lines = fenced or ticked or [line for line in text.split("\n") if line.strip()]
    return lines[0].strip() if len(lines) == 1 else ""


def code_lines(text: str) -> frozenset[int]:
    """The lines on which a statement of a Python program stands that does something: no blank one, comment or text."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    nodes = (each for each in ast.walk(tree) if isinstance(each, ast.stmt))
    said = (each for each in nodes if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)))
    return frozenset(each.lineno for each in said)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Find what stands between fences, each with the words on its fence and in the line above. The last may lack its
    end."""
    above = ""
    lines = iter(text.split("\n"))
    for line in lines:
        if not line.lstrip().startswith("```"):
            above = line if line.strip() else above
            continue
        held: list[str] = []
        for inner in lines:
            if inner.lstrip().startswith("```"):
                break
            held.append(inner)
        yield f"{line} {above}", "\n".join(held) + "\n"


def _meant(words: str, block: str, files: Mapping[str, str]) -> str:
    named = [path for path in files if path in words or PurePosixPath(path).name in words]
    if len(named) == 1:
        return named[0]
    defines = _defined(block)
    same = [path for path, text in files.items() if defines and defines >= _defined(text) and _defined(text)]
    return same[0] if len(same) == 1 else ""


def _defined(text: str) -> frozenset[str]:
    """Names that a Python text defines at its top: none where it does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))
