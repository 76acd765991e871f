"""Groups of kinds: whose part a failure is about, so that a page and a terminal colour it alike."""

from __future__ import annotations

from typing import Literal

Group = Literal["provider", "access", "model", "tool", "code", "run"]

GROUPS: dict[Group, tuple[str, ...]] = {
    "provider": ("rate_limit", "quota_exhausted", "overloaded", "server_error", "timeout", "network"),
    "access": ("auth", "permission", "user_denied"),
    "model": (
        "invalid_request",
        "model_not_found",
        "context_overflow",
        "content_filter",
        "refusal",
        "empty_response",
        "malformed_output",
    ),
    "tool": ("tool_not_found", "tool_arguments", "tool_error", "resource_missing", "command_failed"),
    "code": ("test_failure", "code_error", "assertion", "dependency_missing", "wrong_output"),
    "run": (
        "loop_detected",
        "iteration_limit",
        "budget_exceeded",
        "context_lost",
        "cancelled",
        "cascade",
        "other",
    ),
}
"""Group -> its kinds: the service asked, the rights, the model's answer, the tool called, the code at work, the run."""

_GROUP_OF: dict[str, Group] = {kind: group for group, kinds in GROUPS.items() for kind in kinds}


def group_of(kind: str) -> Group:
    """The group of a kind; `run` for one that is not known."""
    return _GROUP_OF.get(kind, "run")
