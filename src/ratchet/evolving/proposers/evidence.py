"""Write what a proposer is told: the agent, its weakest tasks, what keeps failing, what was tried. Data, redacted and
capped.

Of the benchmark it holds tasks of the `dev` split only, and of those neither graders nor references: a proposer that
saw what decides would sooner or later write it into the agent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ratchet.evolving.bench.benchmark import Evaluation
from ratchet.evolving.candidate import Candidate
from ratchet.evolving.competitors.comparing import ComparedFeature
from ratchet.evolving.job import ProposalJob, WeakTask
from ratchet.failures.redaction.text import cap, clean, redact
from ratchet.healing.models.quoting import output_excerpt, quoted
from ratchet.records import Json, Pattern

MOST_WEAK, MOST_EXAMPLES, MOST_PATTERNS, MOST_TRIED, MOST_GAPS = 8, 2, 8, 12, 12
HEADINGS = (
    "# The agent",
    "# Tasks on which it does worst",
    "# What keeps failing",
    "# What was tried already: propose something else",
    "# What other projects offer that the agent does not",
)
"""What the parts of the text begin with: what repeats them is no change of an agent."""
_LINE = 300
_LEAST = 200
_WEAK_SHARE, _TRIED_SHARE, _GAPS_SHARE = 3, 6, 6  # a room's part that each may take: a third, a sixth
_SCRIPT_OUTPUT, _SCRIPT_INSTRUCTION, _SCRIPT_DIFF, _SCRIPT_TRIED = 4_000, 4_000, 8_000, 100


def start_of(job: ProposalJob) -> dict[str, Json]:
    """The values of the agent as it was: its own, else the defaults of its knobs."""
    defaults = {name: each.get("default") for name, each in job.agent.knobs.items()}
    return {**defaults, **job.agent.settings}


def values_of(job: ProposalJob) -> dict[str, Json]:
    """The values of the parent: its own, else those of the agent as it was."""
    return {**start_of(job), **job.parent.settings}


def weakest_of(job: ProposalJob) -> tuple[WeakTask, ...]:
    """The weakest tasks that a proposer may see, the worst first."""
    return tuple(each for each in job.weakest if each.task.split == "dev")[:MOST_WEAK]


# -- as text, for models and coding agents -----------------------------------------------------------------------------


def told(job: ProposalJob, room: int) -> str:
    """All of it in `room` characters or little more, the parts in the order of their weight."""
    parts = [
        _agent(job),
        _weakest(weakest_of(job), room // _WEAK_SHARE),
        _patterns(job.patterns),
        _gaps(job.gaps, room // _GAPS_SHARE),
        _tried(job.tried, room // _TRIED_SHARE),
    ]
    return redact("\n\n".join(part for part in parts if part))


def _agent(job: ProposalJob) -> str:
    files = ", ".join(job.agent.changes[:20])
    lines = [HEADINGS[0], f"Files that may change: {files}" if files else "No file of it may change."]
    values = values_of(job)
    for name, knob in list(job.agent.knobs.items())[:40]:
        bounds = {key: value for key, value in knob.items() if key not in ("type", "default")}
        lines.append(cap(f"Setting {name} is {_json(values.get(name))}; it may be {_json(bounds)}", _LINE))
    return "\n".join(lines)


def _weakest(weakest: Sequence[WeakTask], room: int) -> str:
    if not weakest:
        return ""
    each = max(_LEAST, room // len(weakest))
    return f"{HEADINGS[1]}\n" + "\n".join(_weak(task, each) for task in weakest)


def _weak(weak: WeakTask, room: int) -> str:
    task = weak.task
    head = f"## {task.id} ({task.kind}): score {weak.score:.2f} over {weak.runs} runs"
    parts = [head, quoted(cap(task.instruction, max(_LEAST, room // 2)))]
    for run in weak.examples[:1]:
        said = (_line(run.reason), output_excerpt(run.output, max(_LEAST, room // 3)))
        parts.append(f"What it did there: {run.result}\n{quoted(chr(10).join(filter(None, said)))}")
    return "\n".join(parts)


def _patterns(patterns: Sequence[Pattern]) -> str:
    if not patterns:
        return ""
    lines = "\n".join(f"{each.count} times, {each.kind}: {_line(each.template)}" for each in patterns[:MOST_PATTERNS])
    return f"{HEADINGS[2]}\n{quoted(lines)}"


def _gaps(gaps: Sequence[ComparedFeature], room: int) -> str:
    if not gaps:
        return ""
    shown = gaps[:MOST_GAPS]
    lines = "\n".join(cap(_gap_text(each), max(_LEAST // 2, room // len(shown))) for each in shown)
    return f"{HEADINGS[4]}\n{quoted(lines)}"


def _gap_text(gap: ComparedFeature) -> str:
    return f"{gap.kind} {_line(gap.name)}: " + "; ".join(
        f"{p} {c.place} {_line(c.shown)}" for p, c in gap.cells.items()
    )


def _tried(tried: Sequence[Candidate], room: int) -> str:
    shown = tried[-MOST_TRIED:]
    if not shown:
        return ""
    each = max(_LEAST, room // len(shown))
    return f"{HEADINGS[3]}\n" + "\n".join(_try(one, each) for one in shown)


def _try(one: Candidate, room: int) -> str:
    gain = f", {100 * one.mean:+.1f} points over {one.pairs} pairs" if one.pairs else ""
    parts = (_line(one.hypothesis), f"Decision: {_line(one.reason)}", cap(one.diff, room))
    return f"## Proposal {one.n}: {one.state}{gain}\n{quoted(chr(10).join(filter(None, parts)))}"


def _line(text: str) -> str:
    return cap(" ".join(text.split()), _LINE)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


# -- as a value, for scripts -------------------------------------------------------------------------------------------


def row_of(job: ProposalJob) -> dict[str, Json]:
    """All of it as JSON: what a script finds on its standard input."""
    return {
        "agent": {
            "changes": [*job.agent.changes],
            "settings": values_of(job),
            "knobs": {name: dict(knob) for name, knob in job.agent.knobs.items()},
        },
        "parent": _candidate(job.parent),
        "weakest": [_weak_row(each) for each in weakest_of(job)],
        "patterns": [
            {"kind": each.kind, "template": clean(each.template, _LINE), "count": each.count}
            for each in job.patterns[:MOST_PATTERNS]
        ],
        "gaps": [
            {"kind": each.kind, "name": clean(each.name, _LINE), "shown": clean(_gap_text(each), 2 * _LINE)}
            for each in job.gaps[:_SCRIPT_TRIED]
        ],
        "tried": [_candidate(each) for each in job.tried[-_SCRIPT_TRIED:]],
        "tried_before": len(job.tried),
        "seed": job.seed,
    }


def _weak_row(weak: WeakTask) -> dict[str, Json]:
    task = weak.task
    return {
        "task": task.id,
        "kind": task.kind,
        "title": task.title,
        "instruction": clean(task.instruction, _SCRIPT_INSTRUCTION),
        "score": weak.score,
        "runs": weak.runs,
        "examples": [_example(each) for each in weak.examples[:MOST_EXAMPLES]],
    }


def _example(run: Evaluation) -> dict[str, Json]:
    return {
        "result": run.result,
        "score": run.score,
        "reason": clean(run.reason, _LINE),
        "output": clean(output_excerpt(run.output, _SCRIPT_OUTPUT), _SCRIPT_OUTPUT),
        "kind": run.kind,
        "signature": run.signature,
        "seed": run.seed,
    }


def _candidate(one: Candidate) -> dict[str, Json]:
    return {
        "n": one.n,
        "id": one.id,
        "parent": one.parent,
        "state": one.state,
        "hypothesis": clean(one.hypothesis, _LINE),
        "expected": one.expected,
        "settings": dict(one.settings),
        "diff": clean(one.diff, _SCRIPT_DIFF),
        "reason": clean(one.reason, _LINE),
        "mean": one.mean,
        "pairs": one.pairs,
    }
