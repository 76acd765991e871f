"""Write an episode as Markdown for people who review its patch: what failed, what was changed, how sure that is."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ratchet.failures.redaction.text import redact
from ratchet.failures.spans import span
from ratchet.healing.episode import Attempt, Episode
from ratchet.healing.models.quoting import quoted
from ratchet.healing.sibling_checks import SiblingPatch

_HEADS = {
    "passed": "Healed",
    "doubtful": "Healed, but doubtful",
    "already_passing": "Nothing to heal: the check passes",
    "flaky": "Nothing is broken: the tests are flaky",
}
_DIFF_CHARS, _LINE_CHARS = 20_000, 600
BY_CHANCE = "It passes its check, and may do so by chance: read the change before you take it."
"""Of a doubtful result."""


def markdown(episode: Episode, siblings: Sequence[SiblingPatch] = ()) -> str:
    """The report. Texts of programs stand between fences that they cannot close."""
    passed = episode.attempts[-1] if episode.status == "passed" and episode.attempts else None
    spent = f"{episode.cost_usd:.2f} USD, {span(episode.duration_s)}"
    head = f"Episode {_code(episode.id)}, attempts: {len(episode.attempts)}, {spent}, solver {_code(episode.solver)}."
    parts = [
        f"# {_HEADS.get(_ended(episode), 'Not healed')}",
        f"Check: {_code(shlex.join(episode.task.check))}{_python(episode)}\n\n{head}",
        quoted(redact(_reason(episode))) if episode.reason else "",
        _flakes(episode),
        _change(passed) if passed is not None else _tried(episode),
        _taking(episode),
        _siblings(siblings),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def next_steps(episode: Episode) -> Sequence[tuple[str, str]]:
    """The commands that take a result that passed, or go on from it, each with the question that it answers."""
    resumed = f"ratchet run --resume {episode.id}"
    if episode.is_doubtful:
        wrong = "Is it wrong? Say what one call should give:"
        return ("Is it right?", f"{resumed} --apply"), (wrong, f'{resumed} "NAME(1, 2) should be 3"')
    more = [("Something is still wrong?", f'{resumed} "what it is"')] if episode.task.steps else []
    return ("Next:", f"{resumed} --apply"), *more


def told_as(attempt: Attempt) -> tuple[str, str]:
    """Name its cause and its change: a doubtful one is a guess."""
    return ("guess", "perhaps") if attempt.standing == "doubtful" else ("cause", "fix")


def _reason(episode: Episode) -> str:
    """Why it ended, without what stands at the last attempt already where there is more."""
    last = episode.attempts[-1].reason if episode.attempts else ""
    return episode.reason.removeprefix(last).lstrip("; ") or episode.reason


def _ended(episode: Episode) -> str:
    return "doubtful" if episode.is_doubtful else episode.status


def _python(episode: Episode) -> str:
    """Say under which interpreter the tests ran: another one than a person's may lack what theirs has."""
    ran = episode.first.python if episode.first is not None else ""
    return f", run under Python {_code(ran)}" if ran else ""


def _change(attempt: Attempt) -> str:
    cause, fix = told_as(attempt)
    told = ((cause, attempt.cause), (fix, attempt.fix), ("by", attempt.solver))
    said = [f"- {name}: {_code(text)}" for name, text in told if text]
    if attempt.standing:
        why, _, figures = attempt.grounds.partition("\n")
        said.append(f"- **{attempt.standing}**: {_code(why.rstrip(';'))}")
        said += [f"- grounds: {_code(figures)}"] if figures else []
    if attempt.standing == "doubtful":
        said += [f"- passes as well:\n\n{quoted(attempt.rivals)}"] if attempt.rivals else []
        said.append(f"\n{BY_CHANCE}")
    return "## The change\n\n" + "\n".join(said) + "\n\n" + quoted(attempt.shown[:_DIFF_CHARS])


def _taking(episode: Episode) -> str:
    """Say how a result is taken that lies in a patch or on a branch."""
    kind, _, name = episode.applied.partition(" ")
    command = {"patch": "git apply", "branch": "git merge"}.get(kind)
    return f"Take it: {_code(shlex.join([*command.split(), name]))}" if command else ""


def _siblings(found: Sequence[SiblingPatch]) -> str:
    if not found:
        return ""
    parts = [
        f"- {_code(f'{each.path}:{each.line} {each.function}')}: "
        + (_code(each.broken) if each.broken else f"{each.kept} tests pass with it as before; none fails without it")
        + f"\n\n{quoted(each.shown[:_DIFF_CHARS])}"
        for each in found
    ]
    return "## The same mistake elsewhere\n\nProposals: nothing of them is in the patch.\n\n" + "\n\n".join(parts)


def _tried(episode: Episode) -> str:
    if not episode.attempts:
        return ""
    parts = ["## What was tried"]
    for each in episode.attempts:
        parts.append(
            f"- {each.n}, {each.status.replace('_', ' ')}: {_code(each.fix or 'no change')} {_code(each.reason)}"
        )
        parts += [quoted(redact(each.note))] if each.candidates and each.note else []
        parts += [quoted(each.shown[:_DIFF_CHARS])] if each.shown else []
    return "\n\n".join(parts)


def _flakes(episode: Episode) -> str:
    if not episode.flakes:
        return ""
    rows = [f"- {_code(each.test)} failed in {each.failed} of {each.runs} runs" for each in episode.flakes]
    return "## Flaky tests\n\nThey count for nothing, and nothing was edited for them.\n\n" + "\n".join(rows)


def _code(text: str) -> str:
    """One line of foreign text as code."""
    line = " ".join(redact(text).split()).replace("`", "'")
    if len(line) > _LINE_CHARS:
        line = f"{line[:_LINE_CHARS].rpartition(' ')[0] or line[:_LINE_CHARS]} ..."
    return f"`{line}`" if line else ""
