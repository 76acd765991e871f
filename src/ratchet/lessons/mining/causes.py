"""Find the cause that a shell's own error names; long, since one cause is looked for before the next.

Where it stands, what is not there, the flag or command that it does not know, the program that it does not find, the
time that it asks for. Each cause makes one remedy, however often it was written otherwise: operands, numbers and
branches are no part of its form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ratchet.failures import programs
from ratchet.failures.excerpt import LINES
from ratchet.failures.gated import Gated
from ratchet.lessons.grounding import missing_in, not_there, relative
from ratchet.lessons.mining.calls import Piece, ToolCall
from ratchet.lessons.mining.checks import forbidden
from ratchet.lessons.mining.generalise import bindings, generalise
from ratchet.lessons.mining.remedy import PLACE, Remedy

_FLAG_BLAMED = re.compile(
    r"(?:unknown|unrecogni[sz]ed|invalid|illegal|unsupported|unexpected|no such|undefined|bad|not defined|deprecated)"
    r"\W{1,3}(?:(?:short|long|shorthand|command[- ]line)\W)?(?:flags?|options?|arguments?|switch|parameter)?"
    r"[^\w\n-]{0,8}"
    r"(?:-- ['\"]?(?P<letter>[A-Za-z0-9])(?!\w)|(?P<flag>--?[A-Za-z][\w-]*))",
    re.IGNORECASE,
)
_FLAG_FIRST = re.compile(
    r"(?P<flag>--?[A-Za-z][\w-]*)['\"`]?:? (?:is )?(?:not (?:a )?(?:recogni|valid|known|supported)|unknown|invalid"
    r"|unrecogni)"
)
_USAGE = re.compile(r"^\s*usage:", re.IGNORECASE | re.MULTILINE)
_SLEEPS = re.compile(r"\bsleep (\d+)")
_PASSES_WITH_TIME = Gated(
    r"(?i)rate.?limit|too many requests|\b429\b|retry after|try again (?:in|later)|temporarily|timed? ?out|overloaded"
    r"|\b50[234]\b|lock|busy|not ready|still (?:starting|running)|in progress|connection refused"
)
# What becomes of some ways to write a command line where a client takes it apart at its pipes and puts it together
# again, or whose shell is another one: how it is written, what the shell says then, and the advice. The words are
# zsh's, jq's and those of Windows PowerShell, as real histories hold them.
_JOINED, _PATTERNS = "&&", ("[", "*")
_MANGLED = (
    (
        "\\\n",
        re.compile(r"\\\n"),
        re.compile(
            r"^(?:\(eval\)|(?:z|ba)?sh):(?: line )?\d+: (?:permission denied|command not found): *$", re.MULTILINE
        ),
        "Write a command with a pipe on one line, or run its parts one by one: a `\\` at a line's end breaks it here.",
    ),
    (
        "=$(",
        re.compile(r"(?:^|[;&|\n(])\s*(?:export\s+)?[A-Za-z_]\w*=\$\("),
        re.compile(r"^\(eval\):\d+: parse error near `\('", re.MULTILINE),
        "In a command with a pipe put `$(...)`, in quotes, where it is used: `NAME=$(...)` breaks it here.",
    ),
    (
        "!=",
        re.compile(r"\bjq\b.*!=", re.DOTALL),
        re.compile(r"\bjq: .{0,80}INVALID_CHARACTER|^\(eval\):\d+: event not found", re.MULTILINE),
        "Write a filter of jq behind a pipe without `!=`, as `select(.x == 1 | not)`: each `!` gets a `\\` here.",
    ),
    (
        "[",
        re.compile(r"\w\[|\[\w"),
        re.compile(r"^(?:\(eval\)|zsh)(?::\d+)?: no matches found: \S*\[", re.MULTILINE),
        "Quote a path that has `[` in it: zsh takes it for a pattern.",
    ),
    (
        "*",
        re.compile(r"\*"),
        re.compile(r"^(?:\(eval\)|zsh)(?::\d+)?: no matches found: [^\n\[-][^\n\[]*\*", re.MULTILINE),
        "List the folder, or use `find`: in zsh a pattern with `*` that meets nothing ends the command.",
    ),
    (
        _JOINED,
        re.compile(_JOINED),
        re.compile(rf"'{_JOINED}'.{{0,80}}separator|ErrorId : InvalidEndOfLine"),  # the id is so in any language
        f"Put `;` for `{_JOINED}`, or `a; if ($?) {{ b }}` where b needs a: the shell here is Windows PowerShell.",
    ),
)
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_TAKEN_APART = re.compile(r"(?<![|&>])\|(?![|&])")
_TAKEN_WHOLE = re.compile(r"<<|`|\b(?:for|while|until|if|case)\b|\$\w")
_HIDES_ERRORS = re.compile(r"2>\s?/dev/null|\|\| ?(?:true|:)\b")
_LEAST_WAIT_S = 5.0
_REPLACED_WORDS = 3
_MISSING_LAST = re.compile(r"command not found: (\S+)")
_MISSING_FIRST = re.compile(r"(?:^|[\s:])([\w./+-]{1,100}): (?:command )?not found", re.MULTILINE)


def named_cause(
    failed: ToolCall, worked: ToolCall, between: Sequence[ToolCall], piece: Piece, *, root: str
) -> Remedy | None:
    """The remedy that a cause named by the error makes; None where none is. `root` is the folder in which the session
    began."""
    return (
        _mangled(failed)
        or _place(failed, worked, piece, root=root)
        or _made(failed, worked, between, piece)
        or _blamed(failed, worked, piece)
        or _through(failed, piece)
        or _wrapped(failed, piece)
        or _waited(failed, worked, between, piece)
    )


def missing_program(call: ToolCall) -> str:
    """The program that the failing shell could not find, "" when that is not what failed."""
    return program_not_found(call.message)


def program_not_found(message: str) -> str:
    """The program that a shell's message says is not there, "" for none."""
    found = _MISSING_LAST.search(message[:2000]) or _MISSING_FIRST.search(message[:2000])
    return found[1].rstrip(":,.") if found else ""


def unresolved(failed: ToolCall, later: Sequence[ToolCall]) -> Remedy | None:
    """Keep what a failure that nothing followed may yet teach, if it comes again: a flag or a word that the error
    blames, a value that a tool does not know, a tool of another server that never works. `later` are the next calls."""
    if failed.shell:
        if found := _mangled(failed) or _carried(failed, later):
            return found
        was = _speaker(failed) or failed.piece
        flags = blamed_flags(failed) or (_unlisted(failed, was) if was is not None else [])
        if was is None or not flags:
            return _broken(failed)
        return _unknown_flag(_speaks(failed) if _speaks(failed) in was.words[1:] else was.head, flags[0])
    if found := _unknown_value(failed):
        return found
    # A tool's own words (`call read_page first`) say how to use it; that it broke is another matter.
    if failed.tool.startswith("mcp__") and failed.kind in ("code_error", "tool_not_found", "server_error"):
        text = f"Do not call `{failed.tool}`: it has not worked here once. Reach the goal another way."
        return Remedy(rule="never", text=text, do=text, reusable=True, form=f"never {failed.tool}")
    return None


def _broken(failed: ToolCall) -> Remedy | None:
    """A command without operands could not even begin: what it runs on is not there. One that looks for files is about
    the code that it was run on, and what a file lacks is mended there."""
    was = failed.piece
    if was is None or was.plain != was.head or failed.kind not in _BEGINS_NOT:
        return None
    acts = [each for each in failed.pieces if not each.noise]
    if len(acts) > 1 or failed.target or any(each.path for each in failed.findings):
        return None
    text = f"`{was.head}` has not worked here once. Mend first what its error names, or reach the goal another way."
    return Remedy(rule="never", text=text, do=was.head, reusable=True, form=f"broken {was.head}")


_BEGINS_NOT = frozenset(("dependency_missing", "tool_not_found"))


def _unknown_flag(head: str, flag: str) -> Remedy:
    text = f"`{head}` has no `{flag}`: leave it out."
    return Remedy(rule="flag", text=text, do=head, reusable=True, form=f"flag {head} {flag}")


def _mangled(failed: ToolCall) -> Remedy | None:
    """A part of the command became something else than its writer meant."""
    for name, written, said, text in _MANGLED:
        if written.search(failed.input) and said.search(failed.message):
            return Remedy(rule="form", text=text, do=text, reusable=True, form=f"form {name}")
    return None


def forms_of(command: str) -> list[str]:
    """Name the ways to write a command that are said not to be taken, as remedies name them, if it has any: where it
    has a pipe at which it is taken apart, and would show that one was not taken."""
    named = [each[:2] for each in _MANGLED if each[0] not in _PATTERNS]  # that one met something tells of no other
    found = [f"form {name}" for name, written in named if name in command and written.search(command)]
    bare = _QUOTED.sub("''", command) if found else ""
    pieces = _TAKEN_APART.search(bare) and not _TAKEN_WHOLE.search(bare) and not _HIDES_ERRORS.search(bare)
    return found if pieces else [form for form in found if form == f"form {_JOINED}" and _JOINED in bare]


def _speaks(failed: ToolCall) -> str:
    """Name the program that says itself that it knows no such option (`cat: illegal option`), "" for none."""
    match = _SPEAKS.search(failed.message[:2000])
    return match[1] if match is not None and _FLAG_BLAMED.search(failed.message, match.start()) else ""


def _speaker(failed: ToolCall) -> Piece | None:
    """The command of a chain or pipe whose program speaks, or that runs it."""
    name = _speaks(failed)
    return next((each for each in failed.pieces if name and name in each.words), None)


_SPEAKS = re.compile(r"^([a-z][\w.+-]{0,40}): (?=[^\n]{0,40}\b(?:option|flag|argument)s?\b)", re.MULTILINE)


def _carried(failed: ToolCall, later: Sequence[ToolCall]) -> Remedy | None:
    """The error knows no such command of a program, and the words behind that program were run by themselves next:
    `bun run test` for `rtk bun run test`. How that ended is another matter."""
    match = _COMMAND_BLAMED.search(failed.message[:2000])
    word = next(filter(None, match.groups()), "") if match is not None else ""
    was = next((each for each in failed.pieces if word and word in each.words[1:]), None)
    if was is None:
        return None
    behind = was.words[was.words.index(word) :]
    ran = next((each for call in later for each in call.pieces if each.words[: len(behind)] == behind), None)
    if ran is None or forbidden(ran.raw, failed.input):
        return None
    program = " ".join(was.words[: was.words.index(word)])
    text = f"`{program}` has no `{word}`: run `{' '.join(ran.plain.split())[:120]}` itself, without it."
    return Remedy(rule="flag", text=text, do=ran.exact, reusable=True, form=f"flag {program} {word}")


# What a program says of a first word that is no command of its: clap, cobra, argparse, click, git and others.
_COMMAND_BLAMED = re.compile(
    r"(?i)\b(?:unrecogni[sz]ed|unknown|invalid|no such) (?:sub)?commands?:? ['\"`]?([\w.:-]+)"
    r"|['\"`]([\w.:-]+)['\"`] is not a [\w-]+ command|\binvalid choice: ['\"]([\w.:-]+)"
)


def _unknown_value(failed: ToolCall) -> Remedy | None:
    """The tool says of a whole value of one of its fields that there is none: a skill, a type of agent."""
    for name, value in failed.fields.items():
        if (
            isinstance(value, str)
            and value
            and _UNKNOWN.match(failed.message)
            and failed.message.endswith(f": {value}")
        ):
            text = (
                f"There is no `{name}` called `{value}` here: do not call {failed.tool} for it, do it by other means."
            )
            return Remedy(rule="never", text=text, do=text, reusable=True, form=f"unknown {failed.tool} {name} {value}")
    return None


_UNKNOWN = re.compile(r"(?i)(?:<\w+>)?(?:unknown|no such|unrecogni[sz]ed) [\w ]{2,40}:")


def _printed_usage(call: ToolCall) -> bool:
    return _USAGE.match(call.message.removeprefix("Exit code 129").lstrip()) is not None


def _unlisted(failed: ToolCall, piece: Piece) -> list[str]:
    """The only option of a command, where nothing but its usage was printed, which lists the options without it."""
    names = _names(piece.words)
    if len(names) != 1 or not _printed_usage(failed) or failed.message.count("\n") <= LINES:
        return []  # of a longer text that was cut this many lines are kept
    told = _LISTED.findall(failed.message)
    listed = {each.replace("[no-]", no) for each in told for no in ("", "no-")}
    return names if len(told) >= _LISTED_LEAST and names[0] not in listed else []


_LISTED = re.compile(r"(?:^|[\s\[,|])(--?(?:\[no-\])?[A-Za-z][\w-]*)")
_LISTED_LEAST = 4  # options of a usage that tells them; of fewer, `[<options>]` may stand for any


def _place(failed: ToolCall, worked: ToolCall, piece: Piece, *, root: str) -> Remedy | None:
    """The shell stood in another folder than the project's: its last `cd` had left it there."""
    if not not_there(failed.message):
        return None
    went = [each for each in failed.pieces if each.words[0] in ("cd", "pushd") and len(each.words) > 1]
    elsewhere = bool(root and failed.project and failed.project.rstrip("/") != root.rstrip("/"))
    was = failed.piece
    if was is None or not (elsewhere or went):
        return None
    back = [each for each in worked.pieces if each.words[0] == "cd"]
    moved = worked.project != failed.project or (went and not back) or (elsewhere and back)
    same = was.plain == piece.plain or (
        elsewhere and was.words[0].rpartition("/")[2] == piece.words[0].rpartition("/")[2]
    )
    if not moved or not same or not relative(failed.message, [word for each in (*went, was) for word in each.words]):
        return None
    return Remedy(rule="place", text=PLACE, do=PLACE, reusable=True, form="place")


def _made(failed: ToolCall, worked: ToolCall, between: Sequence[ToolCall], piece: Piece) -> Remedy | None:
    """Find the step between that made what the error misses."""
    missed = missing_paths(failed)
    if not missed:
        return None
    # Of a chain that failed, all but the command it was for may well have run.
    steps = [each for call in between if call.shell for each in call.pieces if call.ok or each is not call.piece]
    for each in worked.pieces:
        if each is piece:
            break
        steps.append(each)
    known = {each.plain for each in failed.pieces}
    for each in reversed(steps):
        if (
            each.plain in known
            or each.head in TIDIES
            or each.head == "git stash"
            or (each.noise and each.words[0] not in _MAKES)
        ):
            continue
        for path in missed:
            if makes(each, path):
                text = f"Where `{path}` is not there, run `{each.raw}` first: it makes it."
                return Remedy(rule="made", text=text, do=each.exact, reusable=len(each.raw) < 200, form=f"make {path}")
    return None


_MAKES = frozenset(("mkdir", "touch", "cp", "ln", "tee", "install"))
TIDIES = frozenset(
    ("rm", "rmdir", "mv", "git reset", "git checkout", "git restore", "git clean", "git read-tree", "git rm", "git add")
)
"""Commands that take away or put back: what worked after one did not work by it, unless the error asks for it."""


def missing_paths(call: ToolCall) -> list[str]:
    """The paths that the error says are not there, longest first."""
    found = [path.strip("./") if path[:2] == "./" else path for path in missing_in(call.message)]
    named = {path for path in found if len(path) > 3}
    return sorted(named, key=lambda path: (-len(path), path))


def makes(piece: Piece, path: str) -> bool:
    """Tell whether a command writes the path: as the value of `-o`, behind `>`, as the last word of a copy, as a
    folder."""
    words = piece.words
    last = words[-1] if words else ""
    names = {word.rstrip("/").removeprefix("./") for word in words}
    target = path.rstrip("/").removeprefix("./")
    if target not in names and not any(word.endswith("=" + target) for word in words):
        return f"> {path}" in piece.exact or f">{path}" in piece.exact
    if words[0] in ("cp", "ln", "install", "mv"):
        return last.rstrip("/").removeprefix("./") == target
    if words[0] in ("mkdir", "touch", "tee"):
        return True
    outputs = ("-o", "--output", "--out", "-out", "--outfile", "--target", "--dest", "-O")
    return any(
        word in outputs and words[at + 1].removeprefix("./").rstrip("/") == target for at, word in enumerate(words[:-1])
    ) or any(word.partition("=")[0] in outputs and word.endswith("=" + target) for word in words)


def blamed_flags(call: ToolCall) -> list[str]:
    """The options of the failed command that its error does not know."""
    message = call.message[:4000]
    usage = _USAGE.search(message)
    told = message[: usage.start()] if usage is not None and usage.start() > 20 else message
    said = {match["flag"] or match["letter"] for match in _FLAG_BLAMED.finditer(told)}
    said |= {match["flag"] for match in _FLAG_FIRST.finditer(told)}
    if not said:
        return []
    found = []
    for piece in call.pieces:
        for word in piece.words:
            name = word.partition("=")[0]
            letters = set(name[1:]) if name[:1] == "-" and name[:2] != "--" else set()
            if name[:1] == "-" and (
                name in said or (len(name) > 2 and letters & said) or (len(name) == 2 and letters & said)
            ):
                found.append(name)
    return list(dict.fromkeys(found))


def _blamed(failed: ToolCall, worked: ToolCall, piece: Piece) -> Remedy | None:
    """The flag that the error does not know is gone from the command that works. Of a pipe it is the program's that
    speaks, which what works may do without."""
    flags = blamed_flags(failed)
    was = _speaker(failed) or next((each for each in failed.pieces if each.head == piece.head), failed.piece)
    if was is not None and was.head != piece.head and _speaks(failed) == was.head and flags:
        other = next((each for each in worked.pieces if each.head == was.head), None)
        if other is None:
            return _unknown_flag(was.head, flags[0])
        piece = other
    if was is None or was.head != piece.head:
        return None
    gone = [flag for flag in flags if flag in _names(was.words) and flag not in _names(piece.words)]
    if not gone and not flags and _printed_usage(failed):
        lost = [flag for flag in _names(was.words) if flag not in _names(piece.words)]
        gone = lost if len(lost) == 1 else []
    if not gone:
        return None
    flag = gone[0]
    new = [word for word in piece.words if word not in was.words and word[:1] == "-"]
    old = [word for word in was.words if word not in piece.words]
    said = f"`{was.head}` has no `{flag}`"
    if len(new) == 1 and len(old) <= _REPLACED_WORDS:
        text = f"{said}: use `{new[0].partition('=')[0]}` instead of `{flag}`."
    else:
        text = f"{said}: leave it out (`{' '.join(piece.plain.split())[:120]}` works)."
    return Remedy(rule="flag", text=text, do=piece.exact, reusable=True, form=f"flag {was.head} {flag}")


def kept_purpose(failed: ToolCall, worked: ToolCall, flag: str, later: Sequence[ToolCall]) -> tuple[str, str] | None:
    """Find what a flag was for, where leaving it out gave up a value as well (the one check that was to run) and the
    same command then worked with that value: (advice, command); None where nothing shows it."""
    was = next((each for each in failed.pieces if flag in _names(each.words)), None)
    piece = next((each for each in reversed(worked.pieces) if was is not None and each.head == was.head), None)
    if was is None or piece is None:
        return None
    gone = [word for word in was.words if word not in piece.words and word.partition("=")[0] != flag]
    lost = {value for word in gone if len(value := word.partition("=")[2] or word) > 2 and value[0].isalpha()}
    for each in (one for call in later if call.ok for one in call.pieces if one.head == was.head):
        for before, word in zip(each.words, each.words[1:], strict=False):
            option, value = word.split("=", 1) if "=" in word else (before, word)
            if value not in lost or option[:1] != "-" or flag in _names(each.words):
                continue
            if option not in _names(was.words) and forbidden(each.raw, was.raw):
                continue
            how = "leave it out" if option in _names(was.words) else f"use `{option}` instead"
            text = f"`{was.head}` has no `{flag}`: {how} (`{' '.join(each.plain.split())[:120]}` works)."
            return text, each.exact
    return None


def _names(words: Sequence[str]) -> list[str]:
    return [word.partition("=")[0] for word in words if word[:1] == "-" and len(word) > 1]


def _through(failed: ToolCall, piece: Piece) -> Remedy | None:
    """A program that is not there as such is run through another one: `uv run`, `mise exec --`, `npx`, `python -m`."""
    missing = missing_program(failed)
    if not missing:
        return None
    was = next((each for each in failed.pieces if each.raw.split()[:1] == [missing]), None)
    if was is None:
        return None
    written, ran = piece.raw.split(), was.raw.split()
    if 1 < len(written) < len(ran) and ran[-len(written) :] == written:
        text = f"`{missing}` is not there: leave it out, as in `{' '.join(written)[:120]}`."
        return Remedy(rule="through", text=text, do=piece.exact, reusable=True, form=f"without {missing}")
    at = next((at for at, word in enumerate(written) if word.rpartition("/")[2] == missing.rpartition("/")[2]), -1)
    prefix = " ".join(written[:at])
    if at < 1 or any(word.rpartition("/")[2] in ("sudo", "doas") or "=" in word for word in written[:at]):
        return None
    if written[at + 1 : at + 2] != ran[1:2] and len(ran) > 1:
        return None
    text = f"`{missing}` is not there as such: run it through `{prefix}`, as in `{' '.join(written)[:120]}`."
    return Remedy(rule="through", text=text, do=piece.exact, reusable=True, form=f"through {missing} {prefix}")


def _wrapped(failed: ToolCall, piece: Piece) -> Remedy | None:
    """The same words behind a runner that brings what was missing: `uv run pytest` for `pytest`."""
    was = next((each for each in failed.pieces if each.words == piece.words), None)
    if was is None or was.raw == piece.raw or failed.kind not in _BROUGHT_BY_RUNNERS:
        return None
    ran, written = was.raw.split(), piece.raw.split()
    prefix = written[: -len(ran)]
    if written[-len(ran) :] != ran or not prefix or prefix[0] in _NO_RUNNERS:
        return None
    if not all(map(_RUNNER_WORD.fullmatch, prefix)):
        return None
    bound = bindings(
        failed.message, was.raw, failed.target if failed.head in programs.TEST_RUNNERS else "", failed.project
    )
    told = " ".join(prefix)
    text = f"Run it through `{told}`: `{generalise(piece.raw, bound)}` instead of `{generalise(was.raw, bound)}`."
    return Remedy(rule="through", text=text, do=piece.exact, reusable=True, form=f"through {ran[0]} {told}")


# What a runner's environment brings; a test that fails in it, too, is another matter.
_BROUGHT_BY_RUNNERS = frozenset(
    ("dependency_missing", "tool_not_found", "resource_missing", "permission", "code_error")
)
_NO_RUNNERS = frozenset(("sudo", "doas", "timeout", "time", "nice", "nohup", "env", "xargs"))
_RUNNER_WORD = re.compile(r"[\w./@:+-]+")  # no variable, and no other command before it


def _waited(failed: ToolCall, worked: ToolCall, between: Sequence[ToolCall], piece: Piece) -> Remedy | None:
    """The same command worked after a wait, of a failure that passes with time."""
    was = failed.piece
    if was is None or was.plain != piece.plain or not _PASSES_WITH_TIME.search(failed.message):
        return None
    if any(call.ok and call.writes for call in between):
        return None
    slept = [int(found) for call in (*between, worked) for found in _SLEEPS.findall(call.input)]
    if not slept or max(slept) < _LEAST_WAIT_S:
        return None
    text = f"Wait before `{was.head}` runs again: it worked after {max(slept)} s (`sleep {max(slept)}`), not at once."
    return Remedy(rule="wait", text=text, do=f"sleep {max(slept)}", reusable=True, form=f"wait {was.head}")


def other_program(was: Piece, piece: Piece) -> tuple[str, str] | None:
    """The program that took another one's place in front of the same words: (`pip`, `uv pip`), (`npm`, `pnpm`)."""
    old, new = was.raw.split(), piece.raw.split()
    for kept in range(min(len(old), len(new)) - 1, 0, -1):
        if old[-kept:] == new[-kept:] and len(old) - kept == 1 and 1 <= len(new) - kept <= 2:
            before, after = " ".join(old[:-kept]), " ".join(new[:-kept])
            first = after.split()[0]
            if (
                before != after
                and first not in programs.WRAPPERS
                and "=" not in after
                and first not in ("rm", "cat", "echo")
            ):
                return before, after
    return None
