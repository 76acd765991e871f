"""Lets any coding agent with a command line change the agent: `command:claude -p --output-format json {prompt}`.

It works in the sandbox, in a copy of the agent's files. It finds what is known on its standard input, in a file
(RATCHET_TASK_FILE), and in its arguments where they hold `{prompt}` (or `{task}`), `{task_file}` or `{usd}`.
"""

from __future__ import annotations

from dataclasses import replace

from ratchet.evolving.job import ProposalJob, Proposed, ProposerOptions
from ratchet.evolving.proposers.answers import fixed, outcome, said_in
from ratchet.evolving.proposers.evidence import told
from ratchet.healing.models.prompts import Prompts
from ratchet.healing.solvers.coding_agent import CodingAgent, Errand

_ROOM = 24_000  # characters of evidence
_MOST_S = 3_600.0  # longest run of an agent: one that hangs must not take the whole run's time


class CommandProposer:
    """Port `AgentProposer` over a command."""

    name = "command"

    def __init__(self, options: ProposerOptions) -> None:
        self._agent = CodingAgent(options)
        self._prompts = Prompts(options.prompts)

    def propose(self, job: ProposalJob) -> Proposed:
        """Run the agent once, and take what it left in the workspace. Raises Refused where no budget can hold."""
        if (answer := fixed(job)) is not None:
            return answer
        text = f"{self._prompts.text('delegate')}\n\n{told(job, _ROOM)}"
        job.note(f"running {self._agent.name}")
        account = self._agent.run(
            Errand(
                arguments={"prompt": text, "task": text},
                files={"task": text},
                stdin=text,
                workspace=job.workspace,
                sandbox=job.sandbox,
                limits=replace(job.limits, wall_s=min(job.limits.wall_s, _MOST_S)),
                purse=job.purse,
            )
        )
        return outcome(job, said_in(account.said), problem=account.problem, told=account.told)


def create(options: ProposerOptions) -> CommandProposer:
    """The proposer `command:WORDS`. Raises UsageError."""
    return CommandProposer(options)
