"""The texts of an agent's tool call: what was asked, what an edit changed, what went wrong.

The same for a hook that meets the call live and for a reader that finds it in a history, so that both write the same
Outcome. Lean: hook processes import this.
"""

from __future__ import annotations

from ratchet.failures import programs
from ratchet.failures.expressions import compiled
from ratchet.failures.redaction import text as redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ratchet.records import Json, Row

INPUT_CHARS = 4000
CHANGE_CHARS = 4000
EDIT_CHARS = 400
"""Characters of each text in the input of an edit of which is known what it changed: that stands apart, in full."""
MESSAGE_CHARS = 4000
# A longer result is judged by its two ends: real ones reach 20 MB, and an error stands at an end of them.
JUDGED_CHARS = 200_000
PICTURE, ECHO = "picture", "echo"
"""Marks of results that say nothing of the state: no two of them are the same."""
_MARKED_CHARS = 20_000  # of a result that tell it from another one
_TIMED_CHARS = 1_600  # of these, at the ends, in which only times and durations are left out
_COMMAND_KEYS = ("command", "cmd", "script", "code")
OLD_KEYS = ("old_string", "oldString", "old_str", "oldText", "old_text", "old_source")
NEW_KEYS = ("new_string", "newString", "new_str", "newText", "new_text", "new_source", "file_text")
FILE_KEYS = ("file_path", "filePath", "path", "absolute_path")
"""Fields in which edit tools take the text to replace, the one in its place, and the file."""
PATCH = "*** Begin Patch"
_CERTAIN = (
    ("cascade", ("Sibling tool call errored", "Cancelled: parallel tool call")),
    (
        "user_denied",
        (
            "The user doesn't want to proceed",
            "The user doesn't want to take this action",
            "User rejected ",
            "exec command rejected by user",
            "patch rejected by user",
        ),
    ),
    (
        "cancelled",
        ("[Request interrupted by user", "aborted by user after", "[Operation Cancelled]", "Interrupted by user"),
    ),
)


def step_row(tool: str, tool_input: Json, written: Callable[[Json], str] | None = None) -> Row:
    """The step of a call as an Outcome keeps it: tool, command head, target, input and the change that it makes, each
    redacted and capped; what is empty is left out. `written` writes JSON, where that of `json` is too dear."""
    from ratchet.failures.intent import intent

    head, target = intent(tool, tool_input)
    step: Row = {
        "tool": redaction.label(tool),
        "head": safe(head, 200),
        "target": safe(target, 500),
        "input": safe(input_text(tool, tool_input, written=written), INPUT_CHARS),
        "change": safe(change_text(tool_input), CHANGE_CHARS),
    }
    return {name: value for name, value in step.items() if value}


def certain_kind(text: str) -> str:
    """The kind that the agent's own fixed wording names, where it starts the text; else ""."""
    start = text[:80].lstrip()
    for kind, sayings in _CERTAIN:
        if start.startswith(sayings):
            return kind
    return ""


def untagged(text: str) -> str:
    """The text inside Claude Code's <tool_use_error>, where it is wrapped in it."""
    bare = text.strip()
    if not bare.startswith("<tool_use_error>"):
        return text
    return bare.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()


def exit_code_of(text: str) -> int | None:
    """The exit code that Claude Code puts before a shell's output ("Exit code 2", "Error: Exit code 2")."""
    said = text[:40].lstrip().removeprefix("Error: ")
    if not said.startswith("Exit code "):
        return None
    digits = said[len("Exit code ") :].split(maxsplit=1)[:1]
    return int(digits[0]) if digits and digits[0].isdecimal() and len(digits[0]) <= 3 else None


def message_text(text: str) -> str:
    """A failure's text, redacted, without advice of ours that stands in it; of a long one the lines that carry the
    error."""
    if "<ratchet-" in text:
        from ratchet.failures.ours import without

        text = without(text).strip()
    if len(text) > MESSAGE_CHARS:
        from ratchet.failures.excerpt import error_lines

        text = error_lines(ends(text, JUDGED_CHARS), MESSAGE_CHARS) or text
    return safe(text, MESSAGE_CHARS)


def input_text(
    tool: str, tool_input: Json, *, text_chars: int = INPUT_CHARS, written: Callable[[Json], str] | None = None
) -> str:
    """A tool's input as one text: a shell's is its command, another's compact JSON, each of its texts cut to
    `text_chars`."""
    if isinstance(tool_input, str):
        return tool_input
    plain = tool.lower().replace("_", "").replace("-", "").replace(".", "")
    if isinstance(tool_input, dict) and plain in programs.SHELL_TOOLS:
        command = command_text(_first(tool_input, _COMMAND_KEYS)) or programs.several_of(tool_input)
        if command:
            return command
    if not tool_input:
        return ""
    if written is not None:
        return written(_shortened(tool_input, text_chars))
    import json

    return json.dumps(_shortened(tool_input, text_chars), ensure_ascii=False, separators=(",", ":"))


def command_text(command: Json) -> str:
    """A command line: a string, or a list of words whose `bash -lc` wrapper is left out."""
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        if len(words) == 3 and words[1][:1] == "-" and words[1][-1:] == "c":
            return words[2]
        return " ".join(words)
    return _text(command)


def change_text(tool_input: Json) -> str:
    """Write what an edit did, as `- old` and `+ new` lines; "" for a step that is none."""
    if isinstance(tool_input, str):
        return "\n".join(_patch_lines(tool_input)) if tool_input.startswith(PATCH) else ""
    if not isinstance(tool_input, dict):
        return ""
    edits = tool_input.get("edits")
    lines: list[str] = []
    for edit in (tool_input, *(edits if isinstance(edits, list) else ())):
        if isinstance(edit, dict):
            lines += _signed("-", _first(edit, OLD_KEYS))
            lines += _signed("+", _first(edit, NEW_KEYS))
    if not lines and _text(_first(tool_input, FILE_KEYS)):
        lines += _signed("+", tool_input.get("content"))
    patch = _text(_first(tool_input, ("input", "patch")))
    if not lines and patch.startswith(PATCH):
        lines += _patch_lines(patch)
    return "\n".join(lines)


def patch_text(patch: Json) -> str:
    """An edit's result (Claude Code's `structuredPatch`) as `- old` and `+ new` lines, each run of them under the line
    where it begins in the old and the new file: `@@ 219 221`."""
    said: list[str] = []
    for hunk in patch if isinstance(patch, list) else ():
        if not isinstance(hunk, dict) or not isinstance(hunk.get("lines"), list):
            continue
        old, new = hunk.get("oldStart"), hunk.get("newStart")
        if not isinstance(old, int) or not isinstance(new, int):
            continue
        inside = False
        for line in hunk["lines"]:  # type: ignore[union-attr]
            if not isinstance(line, str):
                continue
            sign = line[:1]
            if sign in ("-", "+"):
                if not inside:
                    said.append(f"@@ {old} {new}")
                said.append(f"{sign} {line[1:]}")
            inside = sign in ("-", "+")
            old += sign != "+"
            new += sign != "-"
    return "\n".join(said)


def safe(text: str, limit_chars: int) -> str:
    """Redacted and capped; its characters can be stored."""
    return redaction.redact(redaction.cap(whole_text(text), limit_chars)) if text else ""


def whole_text(text: str) -> str:
    """Without lone surrogates (half of a character that a tool cut in two): no store takes them."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def ends(text: str, limit_chars: int) -> str:
    """The head and the tail of a text longer than the limit, half of it each."""
    half = limit_chars // 2
    return text if len(text) <= limit_chars else f"{text[:half]}\n{text[-half:]}"


def result_mark(text: str) -> str:
    """A mark of what a call brought, the same for two results that differ only in durations, times and blanks: tells
    a call that is repeated for nothing from one whose answer changes; far from the ends no number counts. `PICTURE`
    where it brought one, of which the text says nothing."""
    import hashlib

    if "image" in text and compiled(r"(?m)^\[(?:input_)?image(?:_url)?\]$").search(text):
        return PICTURE
    text = ends(text, _MARKED_CHARS)
    half = _TIMED_CHARS // 2
    middle = text[half:-half].encode("utf-8", "surrogatepass").translate(None, b"0123456789 \t\r\n")
    # It begins with a digit, which lets the engine skip all else, in half the time where that is one of ten.
    d = "[0-9]" if text.isascii() else r"\d"
    durations = rf"{d}{d}*+(?::{d}{d}(?::{d}{d})?|(?:\.{d}+)?\s?(?:ms|s|secs?|seconds?)\b)"
    plain = "".join(compiled(durations).sub("", ends(text, _TIMED_CHARS)).split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass") + middle).hexdigest()[:12]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _first(record: dict[str, Json], names: tuple[str, ...]) -> Json:
    for name in names:
        value = record.get(name)
        if value is not None and value != "":
            return value
    return None


def _shortened(value: Json, chars: int, depth: int = 6) -> Json:
    """The value with long strings cut, so that a file's whole content is not encoded to be thrown away."""
    if isinstance(value, str):
        return value if len(value) <= chars else value[:chars]
    if isinstance(value, dict):
        return {key: _shortened(item, chars, depth - 1) for key, item in value.items()} if depth else "{...}"
    if isinstance(value, list):
        return [_shortened(item, chars, depth - 1) for item in value[:200]] if depth else "[...]"
    return value


def _signed(sign: str, value: Json) -> list[str]:
    """At most twice what a change keeps, since its middle is cut out."""
    return [f"{sign} {line}" for line in ends(_text(value), 2 * CHANGE_CHARS).split("\n")] if value else []


def _patch_lines(patch: str) -> Iterator[str]:
    for line in ends(patch, 4 * CHANGE_CHARS).split("\n"):
        if line[:1] in ("-", "+"):
            yield f"{line[0]} {line[1:]}"
