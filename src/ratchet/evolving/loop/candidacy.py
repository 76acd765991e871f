"""From a proposer's answer to a candidate of the archive, past the screens that cost no evaluation."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ratchet.errors import ModelError, Refused, SandboxError
from ratchet.evolving import rows as evolutions
from ratchet.evolving.archive import Archive
from ratchet.evolving.bench.benchmark import Agent
from ratchet.evolving.candidate import Candidate
from ratchet.evolving.job import AgentProposer, ProposalJob, Proposed
from ratchet.evolving.loop import screens as screening
from ratchet.evolving.loop.standing import NO_IDEA, screened_out
from ratchet.failures.redaction.text import clean
from ratchet.healing.attempt import proposal
from ratchet.healing.judges.protection import MOST_BYTES
from ratchet.healing.judges.verdicts import last_line
from ratchet.healing.shown import shown_text
from ratchet.ports import Sandbox, Workspace
from ratchet.records import Json
from ratchet.sandbox.command import Command, FileChange, Limits

log = logging.getLogger(__name__)

_HYPOTHESIS_CHARS, _REASON_CHARS, _DIFF_CHARS = 500, 1_000, 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposerAnswer:
    """Answer of a proposer: its own account, and the changed files of its workspace."""

    proposed: Proposed
    changes: tuple[FileChange, ...] = ()


def ask(proposer: AgentProposer, job: ProposalJob) -> ProposerAnswer:
    """Ask once. What goes wrong in a proposer is part of the answer; only a broken sandbox raises (SandboxError)."""
    try:
        proposed = proposer.propose(job)
        changes = proposal(job.workspace.diff()) if proposed.status == "proposed" else ()
    except SandboxError:
        raise
    except Refused as error:
        return ProposerAnswer(proposed=Proposed(status="refused", reason=str(error)))
    except ModelError as error:
        status: Literal["nothing", "refused"] = "nothing" if error.retryable else "refused"
        return ProposerAnswer(proposed=Proposed(status=status, reason=f"the model could not answer: {error}"))
    except Exception as error:
        # A proposer may be anybody's: its fault costs the asking, not the run.
        log.exception("proposer.failed", extra={"proposer": proposer.name})
        reason = f"{proposer.name} broke: {type(error).__name__}: {error}"
        return ProposerAnswer(proposed=Proposed(status="nothing", reason=reason))
    return ProposerAnswer(proposed=proposed, changes=changes)


def candidate_of(
    answer: ProposerAnswer,
    *,
    run: str,
    n: int,
    agent: Agent,
    parent: Candidate,
    incumbent: Candidate,
    tried: Sequence[Candidate],
    archive: Archive,
    proposer: str,
) -> Candidate:
    """The candidate that an answer makes: `proposed`, or `screened_out` with the reason."""
    proposed, changes = answer.proposed, answer.changes
    objection = screening.foreign(agent, changes)
    unknown = screening.unknown_settings(agent, proposed.settings)
    settings: Mapping[str, Json] = parent.settings if unknown else {**parent.settings, **proposed.settings}
    too_large = sum(len(each.after or b"") for each in changes) > MOST_BYTES
    tree = parent.tree if too_large else archive.amended(parent.tree, changes)
    made = Candidate(
        id=evolutions.version_id(tree, settings),
        run=run,
        n=n,
        state="proposed",
        parent=parent.id,
        proposer=proposer,
        hypothesis=clean(proposed.hypothesis, _HYPOTHESIS_CHARS),
        expected=min(1.0, max(-1.0, proposed.expected)) if proposed.expected == proposed.expected else 0.0,
        diff="" if too_large else shown_text(changes)[:_DIFF_CHARS],
        tree=tree,
        settings=settings,
    )
    if proposed.status != "proposed":
        return screened_out(made, f"{NO_IDEA}: {proposed.reason or 'the proposer had no idea'}")
    reason = (
        objection
        or unknown
        or screening.unparsable(changes)
        or screening.known_already(made.id, parent.id, incumbent.id, tried)
    )
    return screened_out(made, reason) if reason else made


def carried(waiting: Candidate, parent: Candidate, incumbent: Candidate, *, n: int, archive: Archive) -> Candidate:
    """A candidate that beat an incumbent of before, carried over to the present one: its change on top of that where
    both changed other lines, else the version as it is."""
    merged = archive.carried_over(parent.tree, waiting.tree, incumbent.tree)
    tree = waiting.tree if merged is None else merged
    base = parent if merged is None else incumbent
    own = {name: value for name, value in waiting.settings.items() if parent.settings.get(name) != value}
    settings = waiting.settings if merged is None else {**incumbent.settings, **own}
    return replace(
        waiting,
        n=n,
        id=evolutions.version_id(tree, settings),
        state="proposed",
        parent=base.id,
        diff=shown_text(archive.changes(base.tree, tree))[:_DIFF_CHARS],
        tree=tree,
        settings=settings,
        reason="",
        batch=0,
        retry_of=waiting.n,
        merges=(),
        alone=False,
        level=0.0,
        e_value=1.0,
        peak=1.0,
        pairs=0,
        mean=0.0,
        differed=0.0,
        unmeasured=0,
        cost_usd=0.0,
        decided_at=0.0,
        revision=0,
    )


def merged(
    waiting: Sequence[Candidate],
    parent_of: Callable[[Candidate], Candidate],
    incumbent: Candidate,
    *,
    n: int,
    archive: Archive,
) -> Candidate | None:
    """One candidate of the changes of several that were proven better, on top of the present incumbent: together they
    are a larger step, which a race sees sooner. None where fewer than two of them go together."""
    tree, settings = incumbent.tree, dict(incumbent.settings)
    together = []
    for each in waiting:
        parent = parent_of(each)
        own = {name: value for name, value in each.settings.items() if parent.settings.get(name) != value}
        moved = archive.carried_over(parent.tree, each.tree, tree)
        if moved is None or any(settings.get(name) != incumbent.settings.get(name) for name in own):
            continue  # both changed the same lines or settings
        tree = moved
        settings |= own
        together.append(each)
    if len(together) < 2:
        return None
    made = carried(together[0], incumbent, incumbent, n=n, archive=archive)
    return replace(
        made,
        id=evolutions.version_id(tree, settings),
        parent=incumbent.id,
        diff=shown_text(archive.changes(incumbent.tree, tree))[:_DIFF_CHARS],
        tree=tree,
        settings=settings,
        merges=tuple(each.n for each in together),
        hypothesis=clean("; ".join(each.hypothesis for each in together), _HYPOTHESIS_CHARS),
    )


def fails_own_check(
    agent: Agent, folder: str, workspace: Callable[[], Workspace], sandbox: Sandbox, limits: Limits
) -> str:
    """Why a version does not pass the agent's own check; "" where it does, or there is none. `folder` is where its
    files lie read-only; the check runs in a copy of them. Raises SandboxError."""
    if not agent.own_check:
        return ""
    copy = workspace()
    try:
        argv = tuple(word.replace("{agent}", folder) for word in agent.own_check)
        shown = (Path(folder), *map(Path, agent.readable))
        ran = sandbox.run(Command(argv=argv, view=copy.view(), limits=limits, readable=shown))
    finally:
        copy.close()
    if ran.exit_code == 0:
        return ""
    said = clean((ran.stdout + b"\n" + ran.stderr).decode("utf-8", "replace").strip(), _REASON_CHARS)
    return f"its own check ends with {ran.exit_code}: {last_line(said) or 'it said nothing'}"
