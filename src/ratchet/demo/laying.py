"""Lays agents to evolve out into folders of yours: the demo's, with its memory of a benchmark's answers, and Ratchet's
own solver with the prompts that it gives to models."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

from ratchet.errors import UsageError
from ratchet.evolving.bench.benchmark import Benchmark, BenchTask
from ratchet.evolving.bench.shipped import shipped
from ratchet.healing.models import prompts

AGENT = Path(__file__).parent / "agent"
IDEAS = Path(__file__).parent / "ideas.py"
OWN = Path(__file__).parent / "prompts"
SOLVER_PROMPTS = ("repair", "rewrite", "summarise")


def lay_out(folder: Path, *benchmarks: Benchmark) -> Path:
    """Write the demo's agent into a new folder, with answers to all tasks of the benchmarks (`core` and `quick` unless
    given); return it. Raises UsageError where there is something."""
    _copied(AGENT, folder)
    known = benchmarks or (shipped("core"), shipped("quick"))
    memory = {_key(task): _answer(task) for benchmark in known for task in benchmark.tasks}
    (folder / "memory.json").write_text(json.dumps(memory, indent=0, sort_keys=True), encoding="utf-8")
    return folder


def lay_out_prompts(folder: Path) -> Path:
    """Write Ratchet's own solver as an agent whose prompts may change; return its folder. `repair` is its benchmark.
    Raises UsageError where there is something."""
    _copied(OWN, folder)
    (folder / "prompts").mkdir()
    for name in SOLVER_PROMPTS:
        shutil.copy(prompts.FOLDER / f"{name}.md", folder / "prompts")
    return folder


def _copied(source: Path, folder: Path) -> None:
    if folder.exists():
        raise UsageError(f"{folder} exists: name a new folder")
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))


def _key(task: BenchTask) -> str:
    told = json.dumps([task.instruction.strip(), dict(task.files)], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def _answer(task: BenchTask) -> str:
    """The reference as the agent would write it: edits of files that are there, other files as a whole."""
    parts = [f"@@ FILE {path}\n@@ GONE" for path in task.removes]
    for path, text in sorted(task.reference.items()):
        before = task.files.get(path)
        hunks = [] if before is None else list(_hunks(before, text))
        parts.append(f"@@ FILE {path}")
        if before is not None and hunks and _made(before, hunks) == text:
            parts += [f"@@ OLD\n{old}\n@@ NEW\n{new}\n@@ END" for old, new in hunks]
        else:
            parts.append(f"@@ WHOLE\n{text}\n@@ END")
    return "\n".join(parts)


def _hunks(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Edits that make one text the other, each with enough lines around it to stand in the text once."""
    old, new = before.split("\n"), after.split("\n")
    done = 0  # lines of `old` that an earlier edit has taken
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal" or i1 < done:
            continue
        above, below = i1, i2
        while before.count("\n".join(old[above:below])) != 1 or below - above < 3:
            if above == done and below == len(old):
                return
            above, below = max(done, above - 1), min(len(old), below + 1)
        yield (
            "\n".join(old[above:below]),
            "\n".join([*old[above:i1], *new[j1:j2], *old[i2:below]]),
        )
        done = below


def _made(text: str, hunks: list[tuple[str, str]]) -> str:
    for old, new in hunks:
        if text.count(old) != 1:
            return ""
        text = text.replace(old, new)
    return text
