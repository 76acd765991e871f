"""Tells how much of a call's time was its own: a tool that asks for leave, or puts a question, waits for a person."""

from __future__ import annotations

CALL_S = 600.0
"""A longer call was stopped, slept, or waited for somebody."""
_ASKING_S = 1.0  # a tool that waits for a person's leave takes none of its own
_HEADS = ("read", "edit", "write")
_ASKING = frozenset(
    """
    read edit write multiedit notebookedit applypatch strreplaceeditor writefile readfile editfile todowrite
    exitplanmode enterplanmode askuserquestion askuser askhuman askfollowupquestion requestuserinput
    planmoderespond userinput
    """.split()  # noqa: SIM905
)


def asks(tool: str, head: str) -> bool:
    """Tell whether a tool takes no time worth counting but that of the person whom it asks."""
    return head in _HEADS or tool.lower().replace("_", "").replace("-", "") in _ASKING


def own_s(tool: str, head: str, duration_s: float) -> float:
    """Seconds of a call that were its own."""
    return min(duration_s, _ASKING_S if asks(tool, head) else CALL_S)
