"""Ratchet makes AI agents improve and never slip back.

    import ratchet

    @ratchet.watch("researcher")
    def answer(question: str) -> str: ...

    ratchet.recall("fatal: The current branch x has no upstream branch.").lessons

Everything that ran is an Outcome; every edit is a Change under Trial; what was learnt is a Lesson.
Nothing is imported until it is used: `import ratchet` costs a host nothing, and a hook stays quick.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ratchet.aio import AsyncRatchet
    from ratchet.client import Ratchet, heal, record, retry, settings, watch
    from ratchet.errors import (
        BackendError,
        Conflict,
        ModelError,
        NotFound,
        RatchetError,
        Refused,
        SandboxError,
        StoreError,
        UsageError,
    )
    from ratchet.failures.classification import Classification, classify
    from ratchet.failures.grouping import group
    from ratchet.failures.redaction.text import redact
    from ratchet.improving.settings.knob import Choice, Knob, Range
    from ratchet.ports import Fix, Problem
    from ratchet.records import Change, Exposure, Failure, Lesson, Outcome, Pattern, Proposal, Step, Trial

__version__ = "0.1.0"

_HOME_OF = {
    "AsyncRatchet": "aio",
    "Classification": "failures.classification",
    "classify": "failures.classification",
    "Ratchet": "client",
    "record": "client",
    "settings": "client",
    "watch": "client",
    **dict.fromkeys(
        (
            "RatchetError",
            "UsageError",
            "NotFound",
            "Conflict",
            "Refused",
            "BackendError",
            "StoreError",
            "ModelError",
            "SandboxError",
        ),
        "errors",
    ),
    "group": "failures.grouping",
    "heal": "client",
    **dict.fromkeys(("Choice", "Knob", "Range"), "improving.settings.knob"),
    **dict.fromkeys(("Fix", "Problem"), "ports"),
    **dict.fromkeys(
        ("Change", "Exposure", "Failure", "Lesson", "Outcome", "Pattern", "Proposal", "Step", "Trial"), "records"
    ),
    "redact": "failures.redaction.text",
    "retry": "client",
}

__all__ = [
    "AsyncRatchet",
    "BackendError",
    "Change",
    "Choice",
    "Classification",
    "Conflict",
    "Exposure",
    "Failure",
    "Fix",
    "Knob",
    "Lesson",
    "ModelError",
    "NotFound",
    "Outcome",
    "Pattern",
    "Problem",
    "Proposal",
    "Range",
    "Ratchet",
    "RatchetError",
    "Refused",
    "SandboxError",
    "Step",
    "StoreError",
    "Trial",
    "UsageError",
    "__version__",
    "classify",
    "group",
    "heal",
    "record",
    "redact",
    "retry",
    "settings",
    "watch",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'ratchet' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"ratchet.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
