"""Runs any coding agent's command line in the sandbox, paid from the purse, and reads its own account of its work.

The agent finds what it is asked on its standard input, in files outside the workspace, and in its arguments where they
hold placeholders. It reaches the network and the files of the person's configuration only as the person named them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ratchet.arguments import finite
from ratchet.errors import Refused, UsageError
from ratchet.failures.redaction.text import redact
from ratchet.healing.job import ProviderOptions, Purse
from ratchet.healing.judges.verdicts import last_line
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.command import Command, Limits, Ran

_ARGUMENT_BYTES = 100_000  # Linux takes 131,072 bytes in one argument
_SAID = 300
_READ_TAIL = 65_536  # characters of an agent's output in which its own account is looked for
_COST_NAMES = ("total_cost_usd", "cost_usd", "total_cost", "cost")
_AIDER_COST = re.compile(r"\$(\d{1,6}(?:\.\d{1,8})?) session")
_CANNOT_START = (126, 127)
_SWITCH = 3  # characters of a passed value that is no secret: switches and numbers, which stand in any text


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """Errand of an agent, and the folder it works in."""

    arguments: Mapping[str, str]
    """Texts that take the place of `{name}` in its words."""
    files: Mapping[str, str]
    """Texts in files of their own: `{name_file}` is the path, and so is the variable RATCHET_NAME_FILE."""
    stdin: str
    workspace: Workspace
    sandbox: Sandbox
    limits: Limits
    purse: Purse


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAccount:
    """Deeds of an agent, and its account of them: data. Secrets are taken out of the texts."""

    told: str
    """Its own account, else the last line that it printed; in one line."""
    said: str
    """Its answer as it wrote it."""
    problem: str
    """How it ended, where that was not well; "" else."""
    cost_usd: float | None
    ran: Ran


class CodingAgent:
    """A command line, as the person wrote it. Raises UsageError for one that cannot be split into words, or is none."""

    def __init__(self, options: ProviderOptions) -> None:
        try:
            self._argv = tuple(shlex.split(options.argument))
        except ValueError as error:
            raise UsageError(f"command {options.argument!r} cannot be split into words: {error}") from error
        if not self._argv:
            raise UsageError("`command:` names no command: write `command:claude -p --output-format json`")
        self._net = options.net
        self._environ = dict(options.environ)
        self._readable = options.readable
        self._unpriced = options.allow_unknown_price

    @property
    def name(self) -> str:
        return self._argv[0]

    @property
    def net(self) -> str:
        return self._net

    def takes(self, name: str) -> bool:
        """Tell whether its words ask for a text, or its file, by name."""
        return any(f"{{{name}" in word for word in self._argv)

    def run(self, errand: Errand) -> AgentAccount:
        """Run it once. A command that fails may have changed files all the same.

        Raises Refused where nobody would learn what it costs, where it cannot be started, and where the purse does not
        reach; SandboxError.
        """
        self._payable()
        with _written(errand.files) as paths:
            most_usd = errand.purse.usd_left() if self._may_spend else 0.0
            reservation = errand.purse.reserve(most_usd)
            spent_usd = most_usd  # unless it tells: then it may have been all of it
            try:
                ran = errand.sandbox.run(self._command(errand, paths, most_usd), cancelled=errand.purse.cancelled)
                ran = without_passed(ran, self._environ.values())
                said = _Said.of(ran)
                if not self._may_spend or said.cost_usd is not None or self._unpriced:
                    spent_usd = said.cost_usd or 0.0
            finally:
                errand.purse.settle(reservation, spent_usd)
        return self._account(ran, said)

    @property
    def _may_spend(self) -> bool:
        """Tell whether it may spend: without a network nobody is paid."""
        return self._net != "none"

    def _payable(self) -> None:
        if self._may_spend and not self._unpriced and not _tells_cost(self._argv):
            raise Refused(
                f"nobody would know what `{self.name}` costs, so no budget can hold: let it tell (claude -p "
                "--output-format json; aider; or a script that takes {usd} and prints JSON with cost_usd), or "
                "allow it with --allow-unknown-price"
            )

    def _command(self, errand: Errand, paths: Mapping[str, Path], usd: float) -> Command:
        values = {name: argument_of(text) for name, text in errand.arguments.items()}
        values |= {f"{name}_file": str(path) for name, path in paths.items()} | {"usd": f"{usd:.4f}"}
        own = {f"RATCHET_{name.upper()}_FILE": str(path) for name, path in paths.items()}
        return Command(
            argv=tuple(_filled(word, values) for word in self._argv),
            view=errand.workspace.view(),
            limits=replace(errand.limits, wall_s=min(errand.limits.wall_s, errand.purse.seconds_left())),
            environ={**self._environ, **own},
            readable=(*self._readable, *{path.parent for path in paths.values()}),
            net=self._net,
            stdin=errand.stdin.encode("utf-8", "replace"),
        )

    def _account(self, ran: Ran, said: _Said) -> AgentAccount:
        if ran.exit_code in _CANNOT_START and not ran.killed:
            raise Refused(f"`{self.name}` cannot be started in the sandbox: {said.last}; {_remedy(self.name)}")
        problem = f"{self.name} ended with {ran.exit_code}: {said.last}" if ran.exit_code else ""
        return AgentAccount(
            told=said.told,
            said=said.answer,
            problem=f"{self.name} was ended by its limit: {ran.killed}" if ran.killed else problem,
            cost_usd=said.cost_usd,
            ran=ran,
        )


@dataclass(frozen=True, slots=True)
class _Said:
    """Findings in an agent's output, without secrets."""

    told: str
    last: str
    answer: str
    cost_usd: float | None

    @classmethod
    def of(cls, ran: Ran) -> _Said:
        """Secrets are taken out before anything is cut: half of one is no longer known as one."""
        printed, complained = (stream.decode("utf-8", "replace") for stream in (ran.stdout, ran.stderr))
        told, cost = "", None
        for found in objects_in(printed[-_READ_TAIL:]):
            result = found.get("result")
            told = redact(result) if isinstance(result, str) else told
            cost = next((usd for name in _COST_NAMES if (usd := _usd(found.get(name))) is not None), cost)
        if cost is None and (session := _AIDER_COST.findall(printed[-_READ_TAIL:] + complained[-_READ_TAIL:])):
            cost = finite(float(session[-1]))
        out = redact(printed)[-_READ_TAIL:]
        last = last_line(redact(complained)) or last_line(out)
        return cls(_line(told) or last, last, told or out, cost)


def objects_in(out: str) -> Iterator[dict[str, object]]:
    """JSON objects that a program printed: one for all, or one a line."""
    whole = out.strip()
    for text in [whole] if "\n" not in whole else [whole, *whole.split("\n")]:
        if not text.lstrip().startswith(("{", "[")):
            continue
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        yield from (each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict))


def without_passed(ran: Ran, passed: Iterable[str]) -> Ran:
    """Return the run, its output without the values of variables passed on by name, also as JSON spells them."""
    out, errors = ran.stdout, ran.stderr
    for value in passed:
        if len(value) > _SWITCH:
            for spelled in {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}:
                secret = os.fsencode(spelled)
                out, errors = (stream.replace(secret, b"[redacted:passed]") for stream in (out, errors))
    return replace(ran, stdout=out, stderr=errors)


def _tells_cost(argv: Sequence[str]) -> bool:
    """Tell whether a command is known to say what it cost, or was written to be told what it may."""
    name = Path(argv[0]).name
    if name == "claude":
        return any(word.endswith("json") and "stream" not in word for word in argv) or "stream-json" in argv
    return name == "aider" or any("{usd}" in word for word in argv)


def _usd(value: object) -> float | None:
    amount = finite(value)
    return amount if amount is not None and amount >= 0 else None


@contextmanager
def _written(files: Mapping[str, str]) -> Iterator[dict[str, Path]]:
    """The texts as files of their own, outside the workspace: they are no part of the answer."""
    folder = Path(tempfile.mkdtemp(prefix="ratchet-task-"))
    try:
        folder.chmod(0o755)  # the sandbox may run as another user
        paths = {name: folder / f"{name}.md" for name in files}
        for name, path in paths.items():
            path.write_text(files[name], encoding="utf-8", errors="replace")
            path.chmod(0o644)
        yield paths
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _filled(word: str, values: Mapping[str, str]) -> str:
    """The word with its placeholders filled, each once and none within what was filled in."""
    return re.sub(r"\{(\w{1,40})\}", lambda found: values.get(found[1], found[0]), word)


def argument_of(text: str) -> str:
    """The text as one argument of a command, cut to what the system takes."""
    return text.replace("\0", "").encode("utf-8", "replace")[:_ARGUMENT_BYTES].decode("utf-8", "ignore")


def _line(text: str) -> str:
    return " ".join(text.split())[:_SAID]


def _remedy(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        return "no such program is on this machine's PATH"
    real = Path(found).resolve()
    return f"show it with --ro {real.parent} (it is {found}) and whatever it needs, or name it by a path inside"
