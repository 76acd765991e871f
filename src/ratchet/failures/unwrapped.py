"""Takes off a tool's result what its client wrapped around it: tags, advice of hooks, the report around a command's
output. What is left is the same whichever client ran the tool, and so is its signature.

The same for a hook that meets the call live and for a reader that finds it in a history. Lean: hook processes import
this.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled

_OPENS, _CLOSES = "<untrusted_context>", "</untrusted_context>"  # Gemini CLI, around what comes from outside
# What hooks had to say about it: Gemini CLI's tag, Copilot CLI's sentence.
_ADVICE = (
    r"(?s)\n*(?:<hook_context>.*</hook_context>|Tool \"[^\"\n]{1,80}\" \w{1,20}\. Additional guidance from .*)\s*\Z"
)
# Copilot CLI's last line of what a shell printed.
_SHELL_ENDED = r"\n?<(?:shellId: \S{1,40}|command) (?:completed|exited) with exit code (-?\d{1,10})>\s*\Z"
# Cline's first line of what a command printed, and what it puts ahead of what went to standard error.
_COMMAND_ENDED, _STREAM = r"\A\[Command exited with code (-?\d{1,10})\]\n+", r"(?m)^\[std(?:out|err)\]\n"
_REPORT_BEGINS = ("Command: ", "Output: ", "Stdout: ")
_REPORT_ENDS = ("Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ")
_NOTHING = ("", "(none)", "(empty)")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ratchet.records import Json


def unwrapped(said: str) -> tuple[str, int | None]:
    """(what the tool itself said, the exit code that the wrapping told). Most results come back as they are."""
    if "<ratchet-" in said:
        from ratchet.failures.ours import without

        said = without(said).rstrip()
    if "hook_context>" in said or "Additional guidance from" in said:
        said = compiled(_ADVICE).sub("", said)
    if said.startswith(_OPENS):
        said = said[len(_OPENS) :].strip("\n").removesuffix(_CLOSES).strip("\n")
    if said[-80:].rstrip().endswith(">"):
        ended = compiled(_SHELL_ENDED).search(said)
        if ended:
            return said[: ended.start()], int(ended[1])
    if said.startswith("[Command exited with code "):
        ended = compiled(_COMMAND_ENDED).match(said)
        if ended:
            return compiled(_STREAM).sub("", said[ended.end() :]).strip(), int(ended[1])
    return _reported(said) if said.startswith(_REPORT_BEGINS) else (said, None)


def answers(brought: Json) -> tuple[str, bool] | None:
    """(what a tool of Cline's brought back, whether any part of it failed); None for what is no such answer."""
    if isinstance(brought, str) and brought.startswith('{"query":'):
        import json

        try:
            brought = json.loads(brought)
        except ValueError:
            return None
    listed = brought if isinstance(brought, list) else [brought]
    parts = [part for part in listed if isinstance(part, dict) and "query" in part and "success" in part]
    if not parts or len(parts) < len(listed):
        return None
    said = "\n".join(str(part.get("result") or part.get("error") or "") for part in parts)
    return said, any(part["success"] is False for part in parts)


def _reported(said: str) -> tuple[str, int | None]:
    """(what a command printed, its exit code) out of the report in which Gemini CLI and Qwen Code hand them over."""
    lines = said.split("\n")
    ends: dict[str, str] = {}
    while lines and lines[-1].startswith(_REPORT_ENDS):
        name, _, value = lines.pop().partition(": ")
        ends[name] = value
    if not ends:
        return said, None
    printed = "\n".join(lines)
    if printed.startswith("Command: "):
        printed = printed.partition("\nDirectory: ")[2].partition("\n")[2]
    printed, _, complained = printed.partition("\nStderr: ")
    printed = printed.removeprefix("Output: ").removeprefix("Stdout: ")
    parts = [part for part in (printed, complained, ends.get("Error", "")) if part not in _NOTHING]
    code = ends.get("Exit Code", "")
    return "\n".join(parts), int(code) if len(code) <= 12 and code.removeprefix("-").isdecimal() else None
