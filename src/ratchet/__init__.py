"""Ratchet makes AI agents improve and never slip back.

    import ratchet

    @ratchet.watch("researcher")
    def answer(question: str) -> str: ...

    ratchet.recall("fatal: The current branch x has no upstream branch.").lessons

Everything that ran is an Outcome; every edit is a Change under Trial; what was learnt is a Lesson.
Nothing is imported until it is used: `import ratchet` costs a host nothing, and a hook stays quick.
"""

# No import at all, not even `__future__`: under `python -m ratchet` it could come from the working directory.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ratchet.aio import AsyncRatchet
    from ratchet.client import Ratchet, failed, heal, record, retry, settings, succeeded, watch
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
    from ratchet.evolving.job import ProposalJob, Proposed, ProposerOptions
    from ratchet.failures.classification import Classification, classify
    from ratchet.failures.grouping import group
    from ratchet.failures.redaction.text import redact
    from ratchet.healing.job import Solved, SolveJob, SolverOptions
    from ratchet.improving.settings.knob import Choice, Knob, Range
    from ratchet.improving.targets.file import FileTarget
    from ratchet.improving.targets.functions import FunctionTarget
    from ratchet.improving.targets.mapping import MappingTarget
    from ratchet.integrations.agents import bench, evolve
    from ratchet.integrations.otel import SpanProcessor
    from ratchet.ports import Fix, Problem
    from ratchet.records import Change, Exposure, Failure, Lesson, Outcome, Pattern, Proposal, Step, Trial

__version__ = "0.1.0"

_NAMES = {
    "integrations.agents": "bench evolve",
    "aio": "AsyncRatchet",
    "client": "Ratchet failed heal record retry settings succeeded watch",
    "errors": "BackendError Conflict ModelError NotFound RatchetError Refused SandboxError StoreError UsageError",
    "evolving.job": "ProposalJob Proposed ProposerOptions",
    "failures.classification": "Classification classify",
    "failures.grouping": "group",
    "failures.redaction.text": "redact",
    "healing.job": "SolveJob Solved SolverOptions",
    "improving.settings.knob": "Choice Knob Range",
    "improving.targets.file": "FileTarget",
    "improving.targets.functions": "FunctionTarget",
    "improving.targets.mapping": "MappingTarget",
    "integrations.otel": "SpanProcessor",
    "ports": "Fix Problem",
    "records": "Change Exposure Failure Lesson Outcome Pattern Proposal Step Trial",
}
_HOME_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [
    "AsyncRatchet",
    "BackendError",
    "Change",
    "Choice",
    "Classification",
    "Conflict",
    "Exposure",
    "Failure",
    "FileTarget",
    "Fix",
    "FunctionTarget",
    "Knob",
    "Lesson",
    "MappingTarget",
    "ModelError",
    "NotFound",
    "Outcome",
    "Pattern",
    "Problem",
    "Proposal",
    "ProposalJob",
    "Proposed",
    "ProposerOptions",
    "Range",
    "Ratchet",
    "RatchetError",
    "Refused",
    "SandboxError",
    "SolveJob",
    "Solved",
    "SolverOptions",
    "SpanProcessor",
    "Step",
    "StoreError",
    "Trial",
    "UsageError",
    "__version__",
    "bench",
    "classify",
    "evolve",
    "failed",
    "group",
    "heal",
    "record",
    "redact",
    "retry",
    "settings",
    "succeeded",
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
