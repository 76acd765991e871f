"""The judge of a recorded call: it must not fail any more, and the person's check must take what it returns.

The check itself runs on the host, on plain values: the code under work has no hold of it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from ratchet.errors import Refused
from ratchet.failures.redaction.text import clean
from ratchet.failures.signature import sign, template_of
from ratchet.healing.episode import Task, Verdict
from ratchet.healing.in_code.recorded import RecordedCall, Told, told_in, value_of
from ratchet.healing.in_code.refusals import objection
from ratchet.healing.in_code.source import SourceText, grafted
from ratchet.healing.in_code.versions import read
from ratchet.healing.job import Judge, Purse
from ratchet.healing.judges.reaching import reaches
from ratchet.healing.judges.verdicts import failed, whole_text
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Command, FileChange, Limits

Accept: TypeAlias = Callable[..., str]
"""Given a value, and the arguments after the call as (args, kwargs) or None: why it is wrong, "" where it is right."""
_SHOWN = 200  # characters of a wrong value


class RecordedCallJudge:
    """Port `Judge` for one recorded call. `raised` are the names of the exception's class and its bases, narrowest
    first; `accept` is the check on values, None where a command checks."""

    name = "recorded call"

    def __init__(
        self, call: RecordedCall, *, raised: Sequence[str], exact: str, accept: Accept | None, project: Path
    ) -> None:
        self._call = call
        self._raised = raised
        self._exact = exact
        self._accept = accept
        self._project = project
        self._before: SourceText = read(call.before)
        self.handed_out = ""
        """A digest of what the stream had handed out when it failed."""
        self.resumable = False
        """Whether that is known, so that a healed stream may go on behind it."""

    def judge(
        self,
        workspace: Workspace,
        sandbox: Sandbox,
        task: Task,
        *,
        limits: Limits,
        purse: Purse,
        first: Verdict | None = None,
    ) -> Verdict:
        """Refuse a project that, untouched, does not fail as recorded: nothing that passes in the sandbox would mean
        anything."""
        if first is not None:
            changes = workspace.diff()
            reason = self.objection(changes) or reaches(changes)
            if reason:
                return Verdict(passed=False, score=0.0, reason=f"refused: {reason}", refused=True)
            for change in changes:  # what is run is what will be put in force
                workspace.write(change.path, self.settled(change.after or b""), mode=change.after_mode)
        nonce = secrets.token_hex(16)
        command = Command(
            argv=(*task.check, "--tell"),
            view=workspace.view(),
            limits=limits,
            environ={"PYTHONHASHSEED": "0"},  # the digest of what a stream handed out compares sets, too
            stdin=f"{nonce}\n".encode(),
        )
        ran = sandbox.run(command, cancelled=purse.cancelled)
        told, output = told_in(whole_text(ran), nonce)
        about = {"isolation": ran.isolation, "duration_s": ran.wall_s}
        if told is None or told.raised or ran.exit_code != 0 or ran.killed:
            if first is None and (other := self._otherwise(told, output)):
                return _unlike(other)
            verdict = failed(clean(output), exit_code=ran.exit_code, killed=ran.killed, wall_s=limits.wall_s)
            return replace(verdict, isolation=ran.isolation, duration_s=ran.wall_s)
        wrong = self._wrong(told)
        if first is None and wrong:
            return _unlike("it returns there")
        if wrong:
            template = template_of(clean(wrong))
            signature = sign("wrong_output", template)
            return Verdict(
                passed=False,
                score=0.5,  # nearer than one that still raises
                reason=wrong,
                output=clean(f"{output.strip()}\n{wrong}".strip()),
                kind="wrong_output",
                signature=signature,
                template=template,
                exit_code=0,
                **about,  # type: ignore[arg-type]
            )
        return Verdict(passed=True, score=1.0, output=clean(output), exit_code=0, **about)  # type: ignore[arg-type]

    def objection(self, changes: Sequence[FileChange]) -> str:
        """Why these changes are refused before anything runs."""
        for change in changes:
            if change.path != self._call.path or change.after is None:
                return f"{change.path}: it changes more than {self._call.qualname}"
            try:
                text = read(change.after).text
            except Refused as error:
                return str(error)
            call = self._call
            reason = objection(self._before, _ended(text, self._before), call.qualname, call.line, self._raised)
            if reason:
                return reason
        return ""

    def settled(self, content: bytes) -> bytes:
        """The file with the new version set into the text as it was. Only for what nothing speaks against."""
        text = _ended(read(content).text, self._before)
        return self._before.encoded(grafted(self._before, text, self._call.qualname, self._call.line))

    def _otherwise(self, told: Told | None, output: str) -> str:
        """Say how the untouched project fails, if not as recorded."""
        if told is not None and told.raised == self._exact:
            self.handed_out = told.handed_out
            self.resumable = bool(told.handed_out)
            return ""
        last = (output.strip().splitlines() or ["it did not end"])[-1]
        return f"{clean(last, _SHOWN)} instead of {self._exact}"

    def _wrong(self, told: Told) -> str:
        """Why the outcome is not what was asked for."""
        if self.resumable and told.handed_out != self.handed_out:
            return "it changes items of the stream that were handed out already"
        if self._accept is None:
            return ""
        if told.value is None:
            return f"its value cannot be brought out of the sandbox ({told.why})"
        try:
            value = value_of(told.value, self._project)
            after = None if told.arguments is None else value_of(told.arguments, self._project)
        except Refused as error:
            return str(error)
        return self._accept(value, after)


class SettledJudge:
    """Port `Judge` over another one, for the project's own tests: what it judges is the file as it would be written."""

    def __init__(self, judge: Judge, settled: Callable[[bytes], bytes]) -> None:
        self._judge = judge
        self._settled = settled
        self.name = judge.name

    def judge(
        self,
        workspace: Workspace,
        sandbox: Sandbox,
        task: Task,
        *,
        limits: Limits,
        purse: Purse,
        first: Verdict | None = None,
    ) -> Verdict:
        for change in workspace.diff():
            if change.after is not None:
                workspace.write(change.path, self._settled(change.after), mode=change.after_mode)
        return self._judge.judge(workspace, sandbox, task, limits=limits, purse=purse, first=first)


def _unlike(how: str) -> Verdict:
    reason = f"the call does not fail in the sandbox as it did ({how}), so no patch could be proven there"
    return Verdict(passed=False, score=0.0, reason=reason, refused=True)


def _ended(text: str, like: SourceText) -> str:
    """The text with the line ends of another."""
    if like.newline == "\n" or "\r" in text:
        return text
    return text.replace("\n", like.newline)
