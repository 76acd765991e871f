"""Tells whose conversation a record is part of, by the fields that only this agent writes."""

from __future__ import annotations

import hashlib
import json

from ratchet.recording.sources import fields
from ratchet.records import Json, Row

NAME = "messages"
# Where a document keeps its conversation. SWE-agent's steps come before its history: both tell the same.
_HOLDERS = (
    "trajectory",
    "traj",
    "messages",
    "history",
    "conversation",
    "events",
    "contents",
    "transcript",
    "simulations",
)
_COPILOT = ("session.start", "user.message", "assistant.message", "tool.execution_start", "tool.execution_complete")
_ROLES = frozenset(("assistant", "user", "system", "tool", "function", "toolResult", "model", "developer"))


def is_own(record: Row) -> bool:
    role = record.get("role")
    if isinstance(role, str):
        return role in _ROLES and not {"content", "tool_calls", "parts", "toolCalls"}.isdisjoint(record)
    inner = record.get("message")
    if isinstance(inner, dict) and "role" in inner and ("parts" in inner or record.get("type") == "message"):
        return True
    if isinstance(record.get("data"), dict) and record.get("type") in _COPILOT:
        return True
    if record.get("type") == "session" and "cwd" in record:  # pi's header
        return True
    if record.get("type") in ("tool_use", "tool_result") and "tool_id" in record:  # Gemini CLI's stream
        return True
    if record.get("type") == "tool_call" and isinstance(record.get("tool_call"), dict):  # Cursor's stream
        return True
    if record.get("type") == "gemini" or ("sessionId" in record and "projectHash" in record):
        return True
    return is_event(record) or bool(holder(record)) or is_langchain(record)


def is_event(record: Row) -> bool:
    """Tell whether a record is one of OpenHands' events, of either shape."""
    if isinstance(record.get("kind"), str) and str(record["kind"]).endswith("Event") and "source" in record:
        return True
    named = record.get("source") in ("agent", "user", "environment")
    return named and ("action" in record or "observation" in record)


def is_langchain(record: Row) -> bool:
    return record.get("type") in ("ai", "human") and ("content" in record or isinstance(record.get("data"), dict))


def holder(document: Row) -> str:
    """The field that holds a document's conversation; "" when none does."""
    for name in _HOLDERS:
        held = document.get(name)
        if isinstance(held, list) and (name == "simulations" or any(speaks(item) for item in held)):
            return name
    return ""


def speaks(item: Json) -> bool:
    """Tell whether an item of a list is part of a conversation: a message, an event, or a pair of them."""
    if isinstance(item, list):
        return any(isinstance(part, dict) and speaks(part) for part in item)
    if not isinstance(item, dict):
        return False
    if not {"role", "toolCalls", "tool_calls", "observation"}.isdisjoint(item) or {"action", "args"} <= item.keys():
        return True
    inner = fields.row(item.get("message")) or fields.row(item.get("info"))
    return "role" in inner or item.get("type") == "gemini" or fields.text(item.get("kind")).endswith("Event")


def agent_of(document: Row, holder: str) -> str:
    """Whose conversation it is, by the fields that only this agent writes."""
    named = fields.text(fields.first(document, ("agent", "agent_name")))
    if holder in ("traj", "simulations"):
        return "tau-bench"
    if holder == "trajectory" or "environment" in document or "trajectory_format" in document:
        return "swe-agent"
    if "projectHash" in document or document.get("type") == "gemini":
        return "gemini-cli"
    if isinstance(document.get("data"), dict) and document.get("type") in _COPILOT:
        return "copilot-cli"
    if holder == "messages" and isinstance(document.get("origin"), dict):
        return "cline"
    if document.get("type") == "tool_call":
        return "cursor"
    if "tool_id" in document or document.get("type") == "init":
        return "gemini-cli"
    if "parts" in fields.row(document.get("message")) or "systemPayload" in document:
        return "qwen-code"
    if "toolCallId" in fields.row(document.get("message")) or document.get("type") == "message":
        return "pi"
    if document.get("source") in ("agent", "user", "environment") or holder == "history":
        inner = fields.rows(document.get(holder)) if holder else []
        if not inner or any("source" in item or "observation" in item for item in inner):
            return "openhands"
        return "swe-agent"
    return named[:100] or NAME


def session_of(record: Row) -> Json:
    """The session that a message itself names (Qwen Code), or that an event opens (Copilot CLI)."""
    return fields.first(record, ("sessionId", "session_id")) or fields.row(record.get("data")).get("sessionId")


def is_described(record: Row) -> bool:
    """Tell whether a record only describes a message of opencode's, whose words and calls lie in other files."""
    return {"sessionID", "role"} <= record.keys() and {"content", "parts"}.isdisjoint(record)


def is_aside(record: Row) -> bool:
    """Tell whether a message is no part of what happened: a worked example of SWE-agent's, which nobody ran, or what
    hooks of Cline had to say."""
    return record.get("is_demo") is True or fields.row(record.get("metadata")).get("displayRole") == "system"


def folder_of(record: Row) -> Json:
    """The project's folder that a message itself names, or the event with which a session of Copilot CLI starts."""
    return record.get("cwd") or fields.row(fields.row(record.get("data")).get("context")).get("cwd")


def acts_in_fences(document: Row, holder: str) -> bool:
    """Tell whether the agent has no tool calls and writes its commands into code fences."""
    held = fields.rows(document.get(holder))
    marked = any("action" in item or "message_type" in item for item in held) or "trajectory_format" in document
    called = any(item.get("tool_calls") or item.get("role") in ("tool", "function") for item in held)
    return not called and (marked or "info" in document)


def digest(held: Json) -> str:
    return hashlib.sha256(json.dumps(held).encode()).hexdigest()[:16]
