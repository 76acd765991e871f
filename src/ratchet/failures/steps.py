"""Tells steps that only look from those that change something, and those that wait, by their tool and command.

Lean: hook processes import this.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.failures.gated import Gated
from ratchet.failures.programs import NOISE, SHELL_TOOLS


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOOKS = _names(
    """
    read grep glob ls list search find view fetch open cat notebookread webfetch websearch toolsearch readfile listdir
    get listfiles searchfiles grepsearch filesearch codebasesearch readmcpresource listmcpresources
    """
)
_GIT_LOOKS = _names("status diff log show branch blame remote rev-parse ls-files")
_EDITS = _names("edit write multiedit notebookedit applypatch strreplace create undo")
_NOTES = _names("todowrite todoread updateplan enterplanmode exitplanmode think taskcreate taskupdate taskget tasklist")
_WAITS = _names("bashoutput taskoutput agentoutput agentoutputtool wait waitfor watch sleep writestdin")
# What only trims or merges a command's output makes no other call.
_REDIRECTS = Gated(r"(?<![-=<])>|\|\s*tee\s")  # no arrow of a program's text
_TRIMS = Gated(r"\s*(?:2>&1|2>\s*/dev/null|\|\s*(?:tail|head)\b[^|;&]{0,40}|>\s*/dev/null)")
_ECHO_CHARS = 120
_SHORT_CHARS = 4  # "ok", "done": too short to tell a state
_ASIDE = Gated(
    r"\bsleep\s+[\d.$]|\bStart-Sleep\b|\btimeout\s+/t|\s--?(?:watch|wait|follow)\b|\btail\s+-\w*[fF]\b"
)  # a command that waits


def plain(tool: str) -> str:
    """A tool's name as the tables spell it, whatever server has it."""
    return tool.rsplit("__", 1)[-1].lower().replace("_", "").replace("-", "").replace(".", "")


def trimmed(command: str) -> str:
    """A command without what only trims or merges its output."""
    return _TRIMS.sub("", command)


def keeps_notes(tool: str) -> bool:
    """Tell whether a tool (by its plain name) keeps the agent's own notes."""
    return tool in _NOTES


def asks_to_wait(tool: str) -> bool:
    """Tell whether a tool (by its plain name) is there to wait with."""
    return tool in _WAITS


def waits(tool: str, head: str, command: str) -> bool:
    """Tell whether a step lets time pass: then what is asked once more may have changed by itself."""
    if tool not in SHELL_TOOLS:
        return "wait" in tool or "sleep" in tool
    return head.rpartition(" ")[2] in _WAITS or _ASIDE.search(command) is not None


def edits(tool: str, head: str) -> bool:
    """Tell whether a step is an edit by its name."""
    return tool in _EDITS or plain(head) in _EDITS


def looks(tool: str, head: str, command: str) -> bool:
    """Tell whether a step only looks."""
    if tool in _LOOKS or plain(head) in _LOOKS:
        return tool not in SHELL_TOOLS or not writes(head, command)
    program, _, verb = head.partition(" ")
    sees = program in NOISE or (program == "git" and verb in _GIT_LOOKS)
    return tool in SHELL_TOOLS and sees and not writes(head, command)


def echoes(tool: str, asked: str, said: str) -> bool:
    """Tell whether the answer of a tool that acts (a click, a key) says only that it did what it was `asked`, in a line
    without a number of its own: nothing of the state to which that led."""
    if len(said) > _ECHO_CHARS or "\n" in said.strip() or tool in SHELL_TOOLS:
        return False
    if compiled(r'"(?:command|cmd|script|code)":').search(asked):
        return False  # what a program prints is its own
    if tool.startswith(tuple(_LOOKS)) or edits(tool, ""):
        return False
    call = f"{tool} {asked}".lower()
    own, words = compiled(r"[a-z]+|\d+").findall(call), compiled(r"[a-z]+|\d+").findall(said.lower())
    echoed = [word for word in words if word in own or (len(word) > 3 and word.removesuffix("ed") in call)]
    if not said.isascii() or any(word.isdecimal() for word in words if word not in echoed):
        return False
    return len(said) <= _SHORT_CHARS or any(word.endswith("ed") for word in echoed) or 2 * len(echoed) >= len(words) > 0


def writes(head: str, command: str) -> bool:
    """Tell whether a command writes a file."""
    return _REDIRECTS.search(trimmed(command)) is not None or (head == "sed" and " -i" in command)
