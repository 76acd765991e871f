"""Turns an agent's tool call and its result into an Outcome: the same for every history that holds tool calls.

An open call is a Row, since it waits in a source's carry for a result that a growing file has not got yet. Its texts
are redacted when it opens: the carry is stored too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ratchet import ids
from ratchet.failures import intent, steps, verdict
from ratchet.failures import tool_call as toolcall
from ratchet.recording.remotes import REMOTE, remote_in
from ratchet.recording.sources import fields
from ratchet.records import Failure, Json, Outcome, Row, Step

UNRETURNED = "unreturned"
"""In an Outcome's context: its result was in none of what was read so far. Another file of the session may have it."""
HUNG_S = 600.0
"""From here a call that never returned had hung: the longest time that agents' shell tools give a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of a call. `failed` is the source's own flag (None: it has none); a result that is not to be `judged` by
    what it says is one whose failures are outcomes of their own."""

    text: str
    failed: bool | None = None
    at: float | None = None
    duration_s: float | None = None
    exit_code: int | None = None
    status: int | None = None
    kind: str = ""
    type: str = ""
    judged: bool = True
    says_failed: bool = False  # no flag, but the source's own way to word an error


def step_of(tool: str, tool_input: Json, changed: str = "") -> Step:
    """Describe what a call of a tool does, its texts redacted and capped. `changed` is what an edit did, where its
    result told; else what it was asked to do counts."""
    head, target = intent.intent(tool, tool_input)
    return Step(
        tool=toolcall.whole_text(tool)[:200],
        head=toolcall.safe(head, 200),
        target=toolcall.safe(target, 500),
        input=toolcall.safe(
            toolcall.input_text(tool, tool_input, text_chars=toolcall.EDIT_CHARS if changed else toolcall.INPUT_CHARS),
            toolcall.INPUT_CHARS,
        ),
        change=toolcall.safe(changed or toolcall.change_text(tool_input), toolcall.CHANGE_CHARS),
    )


def opened(
    tool: str,
    tool_input: Json,
    *,
    at: float | None,
    model: str = "",
    project: str = "",
    thread: str = "",
    turn: int = 0,
    changed: str = "",
) -> Row:
    """A call that waits for its result. `turn` counts what a person said before it, `changed` is `step_of`'s."""
    step = step_of(tool, tool_input, changed)
    call: Row = {"tool": step.tool, "head": step.head, "target": step.target, "input": step.input}
    if step.change:
        call["change"] = step.change
    if at is not None:
        call["at"] = at
    about: tuple[tuple[str, str | int], ...] = (
        ("model", model),
        ("project", project),
        ("thread", thread),
        ("turn", turn),
    )
    call.update((name, value) for name, value in about if value)
    return call


def closed(call: Row, result: Result, *, agent: str, session: str, key: str, tokens: int | None = None) -> Outcome:
    """The Outcome of a call with its result. `key` is the source's own name of the call (see `ids.outcome_id`)."""
    tool = fields.text(call.get("tool")) or "unknown"
    head = fields.text(call.get("head"))
    began = fields.number(call.get("at"))
    started_at = began if began is not None else result.at
    duration_s = result.duration_s
    if duration_s is None and began is not None and result.at is not None:
        duration_s = max(0.0, result.at - began)
    given = fields.text(call.get("input"))
    failure = failure_of(result, tool=tool, head=head, given=given)
    context: dict[str, Json] = {}
    if failure is None:
        echo = steps.echoes(steps.plain(tool), given, result.text)
        context["result"] = toolcall.ECHO if echo else toolcall.result_mark(result.text)
    if remote := remote_in(given, result.text):
        context[REMOTE] = remote
    if call.get("turn"):
        context["turn"] = call["turn"]
    return Outcome(
        id=ids.outcome_id(agent, session, key),
        agent=agent,
        task=tool,
        ok=failure is None,
        started_at=started_at or 0.0,
        duration_s=duration_s,
        tokens=tokens or None,
        model=fields.text(call.get("model")),
        source=agent,
        session=session,
        thread=fields.text(call.get("thread")),
        project=fields.text(call.get("project")),
        failure=failure,
        step=Step(
            tool=tool,
            head=head,
            target=fields.text(call.get("target")),
            input=given,
            change=fields.text(call.get("change")),
        ),
        context=context,
    )


def never_returned(call: Row, *, at: float, agent: str, session: str, key: str) -> Outcome:
    """The Outcome of a call whose result never came, though the conversation went on at `at`: it was cancelled, or hung
    for so long that somebody gave up."""
    began = fields.number(call.get("at"))
    hung = began is not None and at - began >= HUNG_S
    said = "the call never returned" + (f" in {at - began:.0f} s" if began is not None and hung else "")
    result = Result(text=said, failed=True, at=at, kind="timeout" if hung else "cancelled")
    found = closed(call, result, agent=agent, session=session, key=key)
    return replace(found, context={**found.context, UNRETURNED: True})


def model_failure(
    message: str, *, agent: str, session: str, key: str, at: float, status: int | None = None, **where: str
) -> Outcome:
    """A call of the model that failed: task "model". `where` may hold thread, project, model and the failure's type."""
    return Outcome(
        id=ids.outcome_id(agent, session, f"model:{key}"),
        agent=agent,
        task="model",
        ok=False,
        started_at=at,
        model=where.get("model", ""),
        source=agent,
        session=session,
        thread=where.get("thread", ""),
        project=where.get("project", ""),
        failure=Failure(
            message=toolcall.safe(message, toolcall.MESSAGE_CHARS), status=status, type=where.get("type", "")
        ),
    )


def failure_of(result: Result, *, tool: str = "", head: str = "", given: str = "") -> Failure | None:
    """Find what went wrong, by the source's flag, by an exit code, or by what the text says; None when nothing did."""
    found = verdict.failure_row(
        result.text,
        flag=result.failed,
        tool=tool,
        head=head,
        given=given,
        exit_code=result.exit_code,
        kind=result.kind,
        judged=result.judged,
        is_error_wording=result.says_failed,
    )
    if found is None:
        return None
    return Failure(
        message=fields.text(found["message"]),
        kind=fields.text(found["kind"]),
        type=result.type,
        status=result.status,
        exit_code=fields.whole(found["exit_code"]),
        flagged=found["flagged"] is True,
    )
