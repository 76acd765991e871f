"""Which files of a project matter, as much of them as there is room for, and what it takes to change them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ratchet.errors import NotFound, Refused
from ratchet.healing.judges.protection import is_harness, is_test
from ratchet.healing.shown import without_secrets
from ratchet.healing.solvers.edits import MOST_FILE_BYTES, Misfit
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Command, FileChange, Limits

_PRUNED = (
    *(".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
    *(".tox", "target", "dist", "build", ".ratchet"),
)
_SOURCE = re.compile(
    r"\.(?:py|pyi|js|mjs|cjs|jsx|ts|tsx|go|rs|rb|java|kt|c|cc|cpp|h|hpp|cs|php|swift|scala|sh|sql|lua|ex|exs|toml|cfg|ini"
    r"|json|ya?ml|txt|md|html|css|prompt|jinja2?|j2|tmpl)$"
)
_CODE = re.compile(r"\.(?:py|js|mjs|cjs|jsx|ts|tsx|go|rs|rb|java|kt|c|cc|cpp|h|hpp|cs|php|swift|scala|sh|lua|exs?)$")
_IMPORT = re.compile(
    r"^[ \t]{0,40}(?:from[ \t]{1,9}([.\w]{1,200})[ \t]{1,9}import|import[ \t]{1,9}([.\w]{1,200}))", re.MULTILINE
)
_LARGEST_KB = 200  # a source file beyond this was made by a program
_MOST_NAMES = 4_000
_LISTING_S = 20.0
_LEAST_PIECE = 200  # characters of a file that are worth showing
_BESIDE = 0.9  # of what the failing test ran: the share that all else may take beside it
_GAP = 60  # characters that a mark of lines left out takes
_AROUND = 40  # lines shown on either side of one that the failure names


@dataclass(frozen=True, slots=True)
class ShownFile:
    """One file as it is shown: all of it, or its lines around those that the failure names."""

    path: str
    text: str
    whole: bool
    may_change: bool


def listing(workspace: Workspace, sandbox: Sandbox, limits: Limits) -> tuple[str, ...]:
    """Paths of the source files, the shortest first. Raises SandboxError where nothing can be run."""
    pruned: list[str] = []
    for name in _PRUNED:
        pruned += ["-name", name, "-o"]
    argv = ("find", ".", "(", *pruned[:-1], ")", "-prune", "-o", "-type", "f", "-size", f"-{_LARGEST_KB}k", "-print")
    quick = Limits(wall_s=min(_LISTING_S, limits.wall_s))
    ran = sandbox.run(Command(argv=argv, view=workspace.view(), limits=quick))
    names = (line.removeprefix("./") for line in ran.stdout.decode("utf-8", "replace").split("\n"))
    kept = [name for name in names if name.isprintable() and _SOURCE.search(name) and "�" not in name]
    return tuple(sorted(kept, key=lambda name: (name.count("/"), len(name), name))[:_MOST_NAMES])


def executable(workspace: Workspace, sandbox: Sandbox, paths: Sequence[str]) -> frozenset[str]:
    """Which of these files may be run as a program."""
    if not paths:
        return frozenset()
    argv = ("find", *(f"./{path}" for path in paths), "-maxdepth", "0", "-type", "f", "-perm", "-100")
    ran = sandbox.run(Command(argv=argv, view=workspace.view(), limits=Limits(wall_s=_LISTING_S)))
    return frozenset(line.removeprefix("./") for line in ran.stdout.decode("utf-8", "replace").split("\n") if line)


def ranked(paths: Sequence[str], texts: Sequence[str], read: dict[str, str]) -> list[str]:
    """The paths that matter, most of all first: named by the failure, imported by those, named by the task, then other
    code. `texts` are what names them, the most telling first; `read` holds what was read already (path -> text)."""
    order: dict[str, None] = {}
    for text in texts:
        for path in mentioned(paths, text):
            order.setdefault(path)
    for path in list(order):
        for imported in _imported(paths, path, read.get(path, "")):
            order.setdefault(imported)
    code = [path for path in paths if _CODE.search(path) and not is_harness(path)]
    for path in (*(each for each in code if not is_test(each)), *filter(is_test, code)):
        order.setdefault(path)
    return list(order)


def shown(
    workspace: Workspace,
    order: Sequence[str],
    output: str,
    room: int,
    *,
    may_change: frozenset[str],
    suspects: Mapping[str, Sequence[int]] | None = None,
) -> list[ShownFile]:
    """Files in the order given, as many as fit into `room` characters; a file that does not fit whole is shown around
    the lines that `output` names. What may not be changed gets at most a third of the room.

    `suspects` are lines by how suspect they are, path -> lines: their functions come first, whole, and whatever else is
    shown takes less room than those (or a twentieth of it).
    """
    held = suspects or {}
    found: list[ShownFile] = []
    left, left_fixed = room, room // 3
    for path in [*filter(held.__contains__, order), *(each for each in order if each not in held)]:
        text = text_of(workspace, path)
        if not text or left < _LEAST_PIECE:
            continue
        if path not in held and suspects:
            told = sum(len(each.text) for each in found if each.path in held)
            left = min(
                left,
                max(int(_BESIDE * told), room // 20) - sum(len(each.text) for each in found if each.path not in held),
            )
        changeable = path in may_change
        space = left if changeable else min(left, left_fixed)
        if path in held and len(text) > room // 4:
            piece = _functions(text, held[path], min(space, room // 2))
        else:
            piece = text if len(text) <= space else _around(text, _lines_named(output, path), space)
        if not piece or (path not in held and len(piece) < min(_LEAST_PIECE, len(text))):
            continue
        is_whole = len(piece) == len(text)
        shown_piece = piece if is_whole else without_secrets(piece, text)  # of a part, nobody can tell later
        found.append(ShownFile(path, shown_piece, is_whole, changeable))
        left -= len(piece)
        left_fixed -= 0 if changeable else len(piece)
    return found


def _functions(text: str, lines: Sequence[int], room: int) -> str:
    """The functions of a Python file in which some lines lie, those of the first lines before the others, as many as
    fit; and the lines themselves where they lie in none."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return _around(text, lines[:8], room)
    spans = [
        (min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    rows = text.split("\n")
    wanted: set[int] = set()
    used = 0
    for line in lines:
        around = [span for span in spans if span[0] <= line <= span[1]]
        # The outermost: of a function within another, the names around it are what it is made of.
        first, last = min(around, default=(line - 1, line + 1))
        more = {each for each in range(first - 1, last) if 0 <= each < len(rows)} - wanted
        size = sum(len(rows[each]) + 1 for each in more)
        if used + size + _GAP <= room:
            wanted |= more
            used += size + (_GAP if more else 0)
    return _parts(rows, wanted, room)


def text_of(workspace: Workspace, path: str) -> str:
    """A file's text; "" where it is none, or too large to be source."""
    try:
        return workspace.read(path, limit_bytes=_LARGEST_KB * 1024).decode()
    except (NotFound, Refused, UnicodeDecodeError):
        return ""


def content(workspace: Workspace, path: str) -> bytes | None:
    """Read a file to be edited: its content, None where there is none. Raises Misfit for what is no plain file."""
    try:
        return workspace.read(path, limit_bytes=MOST_FILE_BYTES)
    except NotFound:
        return None
    except Refused as error:
        raise Misfit(f"{path} cannot be edited: {error}") from error


def change(workspace: Workspace, sandbox: Sandbox, changes: Sequence[FileChange]) -> None:
    """Write the changes of edits, which remove no file. What may be run stays so. Raises Refused where a path leads
    elsewhere."""
    runnable = executable(workspace, sandbox, [each.path for each in changes if each.before is not None])
    for each in changes:
        assert each.after is not None
        workspace.write(each.path, each.after, mode=0o755 if each.path in runnable else 0o644)


def mentioned(paths: Sequence[str], text: str) -> list[str]:
    """Paths that a text names, the last named first: a traceback ends where it hurts. A path that is named by its end
    counts; a bare name only where one file alone has it."""
    at: dict[str, int] = {}
    by_name: dict[str, list[str]] = {}
    for path in paths:
        by_name.setdefault(PurePosixPath(path).name, []).append(path)
    for found in re.finditer(r"[\w./\-]{1,300}\.\w{1,5}\b", text):
        word = found[0]
        same = by_name.get(word.rsplit("/", 1)[-1], [])
        fits = [path for path in same if word == path or word.endswith("/" + path) or path.endswith("/" + word)]
        for path in fits or (same if len(same) == 1 else []):
            at[path] = found.start()
    return sorted(at, key=lambda path: -at[path])


def _imported(paths: Sequence[str], path: str, text: str) -> list[str]:
    """Files of the project that a Python file imports."""
    if not path.endswith(".py"):
        return []
    known = set(paths)
    found: list[str] = []
    folder = PurePosixPath(path).parent
    for match in _IMPORT.finditer(text):
        module = (match[1] or match[2] or "").strip(".").replace(".", "/")
        if not module:
            continue
        for base in ("", "src/", f"{folder}/" if str(folder) != "." else ""):
            found += [each for each in (f"{base}{module}.py", f"{base}{module}/__init__.py") if each in known]
    return found


def _lines_named(output: str, path: str) -> list[int]:
    name = re.escape(PurePosixPath(path).name)
    numbers = re.findall(rf'(?<![\w.-]){name}(?:", line |:|\()(\d{{1,6}})', output)
    return [int(number) for number in numbers[-8:]]


def _around(text: str, numbers: Sequence[int], room: int) -> str:
    """The parts of a file around some lines (its beginning where none is named)."""
    wanted = {at for number in numbers or (1,) for at in range(number - 1 - _AROUND, number + _AROUND)}
    return _parts(text.split("\n"), wanted, room)


def _parts(lines: Sequence[str], wanted: Collection[int], room: int) -> str:
    """Some lines of a file, as many as fit, gaps marked."""
    parts: list[str] = []
    used, last = 0, -1
    for at in sorted(each for each in wanted if 0 <= each < len(lines)):
        gap = f"[... lines {last + 2} to {at} are not shown ...]\n" if at != last + 1 else ""
        if used + len(gap) + len(lines[at]) + 1 > room - _GAP:
            break
        parts.append(f"{gap}{lines[at]}\n")
        used += len(parts[-1])
        last = at
    if not parts:
        return ""
    return "".join(parts) + (
        f"[... lines {last + 2} to {len(lines)} are not shown ...]\n" if last + 1 < len(lines) else ""
    )
