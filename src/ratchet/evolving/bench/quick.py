"""The benchmark `quick`: tasks that any agent should do, made up and scored in milliseconds.

To try out how an agent is declared, and what the loop does with it, before the hours that a real benchmark takes.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from ratchet.evolving.bench.benchmark import Benchmark, BenchTask, Split, TaskKind

NAME = "quick"
_COUNTS: tuple[tuple[Split, int], ...] = (("dev", 1), ("gate", 5), ("sealed", 2))
_LINES, _STEPS, _EDITED = 40, 8, 5


def quick() -> Benchmark:
    """Long files, edits of files, plans, and one easy task in each split."""
    kinds: tuple[TaskKind, ...] = ("code", "fix", "plan")
    tasks = [_task(kind, split, n) for split, count in _COUNTS for kind in kinds for n in range(1, count + 1)]
    easy = [_task("tools", split, 1) for split, _count in _COUNTS]
    return Benchmark(name=NAME, title="Tiny made-up tasks, to try an agent and the loop", tasks=(*tasks, *easy))


def _task(kind: TaskKind, split: Split, number: int) -> BenchTask:
    name = f"{kind}-{split}-{number}"
    instruction, path, before, after = _ASKED[kind](name)
    # White space within JSON means nothing.
    read = f"tr -d ' \\n' < {path}" if path.endswith(".json") else f"cat {path}"
    right = read.replace(path, "held/right")
    return BenchTask(
        id=name,
        kind=kind,
        split=split,
        title=instruction.split(":")[0],
        instruction=f"{instruction}\n",
        scorer="command",
        files={path: before} if before else {"about.txt": f"The task {name}.\n"},
        graders={"held/right": after},
        spec={"command": ["sh", "-c", f'test "$({read})" = "$({right})"']},
        reference={path: after},
        smoke=kind == "tools",
        wall_s=30.0,
    )


def _long_file(name: str) -> tuple[str, str, str, str]:
    text = "".join(f"line {at} of {name}\n" for at in range(1, _LINES + 1))
    return f"Write out.txt: {_LINES} lines, `line 1 of {name}` and so on.", "out.txt", "", text


def _edit(name: str) -> tuple[str, str, str, str]:
    lines = [f"  {'  ' * (at % 3)}step {at} of {name}\n" for at in range(1, 13)]
    after = [*lines[: _EDITED - 1], "    mended\n", *lines[_EDITED:]]
    asked = f"Edit notes.txt: the line of step {_EDITED} becomes `mended`, behind four spaces."
    return asked, "notes.txt", "".join(lines), "".join(after)


def _plan(name: str, steps: int = _STEPS) -> tuple[str, str, str, str]:
    text = json.dumps([f"step {at} of {name}" for at in range(1, steps + 1)])
    asked = f"Write answer.json: a JSON list of {steps} texts, `step 1 of {name}` and so on."
    return asked, "answer.json", "", text


_ASKED: dict[TaskKind, Callable[[str], tuple[str, str, str, str]]] = {
    "code": _long_file,
    "fix": _edit,
    "plan": _plan,
    "tools": lambda name: _plan(name, 1),
}
