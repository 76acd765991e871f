"""Read what Codex's tools answer, in each of the ways that its versions wrote it, as a `calls.Result`."""

from __future__ import annotations

import json
import re
import shlex

from ratchet.failures import tool_call as toolcall
from ratchet.recording.sources import calls, fields
from ratchet.records import Json, Row

_EXIT_CODE = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d{1,10})\s*$", re.MULTILINE)
_WALL_TIME = re.compile(r"^Wall time:? ([0-9.]{1,20}) ?s", re.MULTILINE)
_HEADER_CHARS = 600  # "Chunk ID", "Wall time", "Process exited", "Original token count", "Total output lines"
_OUTPUT_MARK = "Output:\n"
# Codex's own words where a call came to nothing: they start the answer, and no flag goes with them.
_BROKEN_STARTS = (
    "execution error:",
    "failed to parse function arguments",
    "unsupported call",
    "unsupported custom tool call",
    "unsupported tool",
    "apply_patch verification failed",
    "exec_command failed",
    "write_stdin failed",
    "tool call error:",
    "failed in sandbox",
    "sandbox error",
    "Script failed",
    "Script error",
    "unable to locate",
    "collab tool failed",
    "err: ",
)
_SHELL_WRAPPER = re.compile(r"\A(?:/\S{1,60}/)?(?:ba|z|da|k)?sh -l?c ")


def result_of(output: Json, *, at: float | None) -> calls.Result:
    """The answer in a `function_call_output`, `custom_tool_call_output` or `local_shell_call_output`."""
    failed: bool | None = None
    exit_code: int | None = None
    duration_s: float | None = None
    held = _unpacked(output)
    if isinstance(held, dict):
        metadata = fields.row(held.get("metadata"))
        exit_code = fields.whole(metadata.get("exit_code"))
        duration_s = fields.number(metadata.get("duration_seconds"))
        failed = True if held.get("success") is False or held.get("isError") is True else None
        said = fields.blocks_text(fields.first(held, ("output", "content", "text", "stderr", "error")))
    else:
        said = fields.blocks_text(held)
    header = said[:_HEADER_CHARS].partition(_OUTPUT_MARK)[0]
    if exit_code is None:
        exit_code = _whole(_EXIT_CODE.search(header))
    if duration_s is None:
        wall = _WALL_TIME.search(header)
        duration_s = fields.number(wall[1]) if wall else None
    if said.lstrip()[:40].startswith(_BROKEN_STARTS):
        failed = True
    return calls.Result(
        text=_body(said, header),
        failed=failed,
        at=at,
        duration_s=duration_s,
        exit_code=exit_code,
    )


def _unpacked(output: Json) -> Json:
    """The object inside a string that is JSON (the old generation's way), else the output as it stands."""
    if isinstance(output, str) and output.startswith("{") and output.rstrip().endswith("}"):
        try:
            held = json.loads(output)
        except (ValueError, RecursionError):
            return output
        if isinstance(held, dict) and not {"output", "content", "metadata", "success"}.isdisjoint(held):
            return held
    return output


def _body(said: str, header: str) -> str:
    """The output itself, without the header that differs from run to run."""
    is_header = len(header) < len(said[:_HEADER_CHARS]) and ("Wall time" in header or "xit" in header)
    return said[len(header) + len(_OUTPUT_MARK) :] if is_header else said


def _whole(found: re.Match[str] | None) -> int | None:
    return int(found[1]) if found else None


def item_result(item: Row, *, at: float | None) -> calls.Result:
    """The answer inside a finished item (`item_completed` of 0.147, `item.completed` of `codex exec --json`)."""
    status = fields.text(item.get("status")).lower()
    error = fields.first(item, ("error",))
    said = fields.blocks_text(
        fields.first(item, ("aggregated_output", "aggregatedOutput", "formatted_output", "result"))
    )
    if not said:
        said = "\n".join(part for part in (fields.text(item.get(of)) for of in ("stdout", "stderr")) if part)
    if error:
        said = fields.text(fields.row(error).get("message")) or fields.blocks_text(error) or said
    failed = status in ("failed", "declined", "errored") or bool(error) or item.get("success") is False
    inner = fields.row(item.get("result"))
    failed = failed or inner.get("isError") is True or inner.get("is_error") is True
    return calls.Result(
        text=said or (f"the call ended as {status}" if failed else ""),
        failed=True if failed else None,
        at=at,
        duration_s=_seconds(fields.first(item, ("duration", "duration_ms", "durationMs")), "duration" not in item),
        exit_code=fields.whole(fields.first(item, ("exit_code", "exitCode"))),
        kind="user_denied" if status == "declined" else "",
    )


def _seconds(value: Json, is_ms: bool) -> float | None:
    """A duration: `{"secs", "nanos"}`, "1.5s", seconds, or milliseconds."""
    if isinstance(value, dict):
        secs, nanos = fields.number(value.get("secs")), fields.number(value.get("nanos"))
        return (secs or 0.0) + (nanos or 0.0) / 1e9
    if isinstance(value, str):
        value = value.removesuffix("s")
        is_ms = value.endswith("m")
        value = value.removesuffix("m")
    found = fields.number(value)
    return found / 1e3 if found is not None and is_ms else found


def item_call(item: Row) -> tuple[str, Json]:
    """(tool, input) of a finished item; ("", None) for one that is no call of a tool."""
    kind = fields.text(fields.first(item, ("type", "item_type"))).replace("_", "").lower()
    if kind == "commandexecution":
        return "exec_command", {"command": plain_command(item.get("command"))}
    if kind == "filechange":
        return "apply_patch", _changes(item.get("changes"))
    if kind in ("mcptoolcall", "dynamictoolcall", "collabagenttoolcall", "collabtoolcall"):
        names = [fields.text(item.get(of)) for of in ("server", "namespace", "tool")]
        return "__".join(name for name in names if name) or kind, fields.first(item, ("arguments", "prompt"))
    return "", None


def plain_command(command: Json) -> str:
    """A command line without the `bash -lc` that Codex wraps around it."""
    line = toolcall.command_text(command)
    if len(line) < 20_000 and _SHELL_WRAPPER.match(line):  # shlex reads letter by letter
        try:
            words = shlex.split(line)
        except ValueError:
            return line
        return words[2] if len(words) == 3 else line
    return line


def _changes(changes: Json) -> Json:
    """A file change as a patch. It is a list of `{path, kind, diff}`, or path -> `{type, content or unified_diff}`."""
    pairs = (
        [(path, fields.row(change)) for path, change in changes.items()]
        if isinstance(changes, dict)
        else [(fields.text(change.get("path")), change) for change in fields.rows(changes)]
    )
    lines = ["*** Begin Patch"]
    for path, change in pairs:
        kind = fields.first(change, ("kind", "type"))
        verb = fields.text(kind) or fields.text(fields.row(kind).get("type"))
        lines.append(f"*** {verb.capitalize() or 'Update'} File: {path}")
        lines.append(fields.text(fields.first(change, ("unified_diff", "diff", "content"))))
    return "\n".join(lines)
