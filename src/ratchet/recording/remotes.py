"""Read off git's own output which repository a folder is a clone of: the folder may be gone, or another machine's."""

from __future__ import annotations

from ratchet.failures.expressions import compiled
from ratchet.ids import address_of

REMOTE = "remote"
"""In an Outcome's context: the address that git named in the folder of the call."""

_SPEAKS = r"\bgit (?:push|pull|fetch|remote -v)\b"
# Another remote than `origin` may be somebody else's repository, another folder is not the call's.
_ELSEWHERE = r"\bcd |\bgit -C |\bgit (?:push|pull|fetch)(?: +-\S+)* +(?!origin\b|-|\d?>|[|&;])[^\s|&;]"
_NAMES = r"(?m)^(?:To|From) (\S+[:/]\S+)$|^origin\t(\S+) \((?:fetch|push)\)$"


def remote_in(command: str, said: str) -> str:
    """The address of the remote `origin` that a command of git's talked to or listed, "" where it named none."""
    if "git " not in command or not compiled(_SPEAKS).search(command) or compiled(_ELSEWHERE).search(command):
        return ""
    found = compiled(_NAMES).search(said)
    address = (found[1] or found[2]) if found is not None else ""
    return address_of(address) if ":" in address else ""  # a path is a clone beside it
