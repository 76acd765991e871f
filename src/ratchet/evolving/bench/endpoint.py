"""Asks an agent that is an address: one POST of JSON, one answer of JSON. It never sees graders or references.

    asked     {"instruction": text, "files": {path: text}, "seed": n, "settings": {...}}
    answered  {"files": {path: text}, "answer": any, "cost_usd": x, "tokens": n}

`files` are laid over the task's, `answer` becomes `answer.json`.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ratchet.errors import Refused
from ratchet.evolving.bench.account import account_of
from ratchet.evolving.bench.running import Done, limits_of
from ratchet.evolving.job import Job
from ratchet.ports import Workspace

MOST_BYTES = 8_388_608
"""Of one answer."""
MOST_FILES = 1_000
_LOOK_S = 0.05
_CHUNK = 65_536
_SAID = 300
# Of its owner's machine, address and keys, not of the agent's work: those of 5xx come to it.
_INFRASTRUCTURE = frozenset((401, 402, 403, 404, 405, 407, 408, 410, 421, 425, 426, 429, 451))


@dataclass(slots=True)
class _Reply:
    """Reply of an endpoint, filled in by the thread that asks."""

    body: bytearray = field(default_factory=bytearray)
    status: int = 0
    too_large: bool = False
    error: str = ""
    timed_out: bool = False


def ask_agent(job: Job, workspace: Workspace, cancelled: Callable[[], bool]) -> Done:
    """Ask once, and lay the answer into the workspace."""
    began = time.monotonic()
    reply, killed = _asked(job, cancelled)
    done = _judged(reply, killed, limits_of(job).wall_s)
    if not (done.reason or done.infrastructure):
        done = _laid(reply, workspace)
    return replace(done, wall_s=time.monotonic() - began, isolation="endpoint")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Task and settings go to the address that was named, and nowhere else."""

    def redirect_request(self, *_asked: object, **_named: object) -> None: ...


def _asked(job: Job, cancelled: Callable[[], bool]) -> tuple[_Reply, str]:
    """The reply, and what ended the waiting: "", "wall" or "cancel". A thread that is left behind holds nothing but its
    own connection, which ends with its time-out."""
    wall_s = limits_of(job).wall_s
    reply, over = _Reply(), threading.Event()
    thread = threading.Thread(target=_ask, args=(job, wall_s, reply, over), daemon=True, name="ratchet-endpoint")
    thread.start()
    until = time.monotonic() + wall_s
    killed = ""
    while thread.is_alive():
        if cancelled():
            killed = "cancel"
        elif time.monotonic() > until:
            killed = "wall"
        if killed:
            over.set()
            return _Reply(), killed
        thread.join(_LOOK_S)
    return reply, "wall" if reply.timed_out else ""


def _ask(job: Job, wall_s: float, reply: _Reply, over: threading.Event) -> None:
    body = json.dumps(
        {
            "instruction": job.task.instruction,
            "files": dict(job.task.files),
            "seed": job.seed,
            "settings": dict(job.settings),
        }
    ).encode()
    request = urllib.request.Request(  # noqa: S310  (http or https: `agents` saw to that)
        job.agent.target, data=body, headers={"Content-Type": "application/json", "Accept": "application/json"}
    )
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=wall_s) as answered:
            reply.status = answered.status
            _read(answered, reply, over)
    except urllib.error.HTTPError as error:
        reply.status = error.code
        with error, contextlib.suppress(OSError, http.client.HTTPException):
            reply.body += error.read(_CHUNK)
    except (OSError, http.client.HTTPException, ValueError) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        reply.timed_out = isinstance(cause, TimeoutError | socket.timeout)
        reply.error = f"{type(cause).__name__}: {cause}" if isinstance(cause, BaseException) else str(cause)


def _read(answered: http.client.HTTPResponse, reply: _Reply, over: threading.Event) -> None:
    while not over.is_set():
        part = answered.read1(_CHUNK)
        if not part:
            if answered.length:  # of what its Content-Length announced: whoever stands between cut it off
                raise http.client.IncompleteRead(bytes(reply.body), answered.length)
            return
        reply.body += part
        if len(reply.body) > MOST_BYTES:
            reply.too_large = True
            return


def _judged(reply: _Reply, killed: str, wall_s: float) -> Done:
    """Judge a reply by its status, before its content."""
    output = _told(reply)
    said = " ".join(output.split())[:_SAID]
    if killed == "cancel":
        return Done(reason="the agent was cancelled", killed="cancel")
    if killed:
        return Done(reason=f"the agent did not answer within {wall_s:.0f} s", killed="wall")
    if reply.error:
        return Done(infrastructure=f"the agent's address does not answer: {reply.error}", output=output)
    if reply.status in _INFRASTRUCTURE or reply.status >= 500 or 300 <= reply.status < 400:
        return Done(infrastructure=f"the agent's address answers {reply.status}: {said}", output=output)
    if reply.status != 200:
        return Done(reason=f"the agent answers {reply.status}: {said}", output=output)
    if reply.too_large:
        return Done(reason=f"the agent's answer is larger than {MOST_BYTES:,} bytes", killed="output")
    return Done()


def _laid(reply: _Reply, workspace: Workspace) -> Done:
    """Lay an answer's files and its answer. Whatever it holds is data."""
    try:
        said = json.loads(bytes(reply.body))
    except (ValueError, RecursionError) as error:
        return Done(reason=f"the agent's answer is not JSON: {error}", output=_told(reply))
    if not isinstance(said, dict):
        return Done(reason="the agent's answer is no JSON object", output=_told(reply))
    account = account_of(said, "the answer's account")
    if account.infrastructure:
        return Done(infrastructure=f"the agent says: {account.infrastructure}", account=account)
    files = said.get("files") or {}
    wrong = _objection(files)
    attempts: list[str] = []
    if not wrong:
        wrong = _written(files, said.get("answer"), workspace, attempts)
    return Done(reason=wrong, output=_told(reply), account=account, attempts=tuple(attempts))


def _objection(files: object) -> str:
    if not isinstance(files, dict):
        return "the agent's files are no JSON object of paths and texts"
    if len(files) > MOST_FILES:
        return f"the agent's answer holds more than {MOST_FILES:,} files"
    wrong = next((path for path, text in files.items() if not isinstance(text, str)), None)
    return "" if wrong is None else f"the agent's file {wrong[:80]!r} is no text"


def _written(files: Mapping[str, str], answer: object, workspace: Workspace, attempts: list[str]) -> str:
    """Write them; why that cannot be, or ""."""
    laid = dict(files)
    if answer is not None:
        laid["answer.json"] = answer if isinstance(answer, str) else json.dumps(answer)
    for path, text in laid.items():
        try:
            if "\0" in path:
                raise Refused(f"{path!r} is not a path within the workspace")
            workspace.write(path, text.encode("utf-8", "surrogatepass"))
        except (Refused, UnicodeError) as error:
            attempts.append(f"answered with a file {path[:80]!r}: refused")
            return f"the agent's file {path[:80]!r} cannot be laid: {error}"
    return ""


def _told(reply: _Reply) -> str:
    return bytes(reply.body[:_CHUNK]).decode("utf-8", "replace")
