"""What a sandbox costs to start, and what checkpoints, restores and differences of a workspace cost.

usage: python benchmarks/sandbox.py [--rounds N]

Times are wall clock, since most of it is the kernel's work in other processes; rounds of all variants are interleaved
and the median is taken, beside plain processes, `cp -a` and git on the same files in the same run.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from figures import Figure, at_most, publish
from ratchet.sandbox import running
from ratchet.sandbox.bubblewrap import Bubblewrap, binary, planned
from ratchet.sandbox.command import Command, Limits, View
from ratchet.sandbox.landlock import Landlock
from ratchet.sandbox.workspace import LayeredWorkspace

SIZES = (1_000, 20_000)
CHANGED_SHARE = 0.01
FIRST_BYTE_LIMIT_MS = 5.0
DIFF_LIMIT_MS = 10.0
FORKS, FORK_LIMIT_MS = 10, 10.0
GIT = ("git", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "user.name=b", "-c", "user.email=b@example.org")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        Path(folder).chmod(0o755)
        figures = [*starts(Path(folder), rounds)]
        medians = {}
        for size in SIZES:
            made, medians[size] = checkpoints(Path(folder, str(size)), size, rounds)
            figures += made
        growth = medians[SIZES[1]] - medians[SIZES[0]]
        figures.append(at_most("first byte after restore: 20,000 files minus 1,000 files", growth, 2.0, unit="ms"))
    publish("sandbox", figures)


def timed_ms(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def medians_ms(variants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median of each variant; one untimed round first, then all of them in turn, in a new order each round."""
    taken: dict[str, list[float]] = {name: [] for name in variants}
    for each in variants.values():
        each()
    names = list(variants)
    for _ in range(rounds):
        random.shuffle(names)
        for name in names:
            taken[name].append(timed_ms(variants[name]))
    return {name: statistics.median(values) for name, values in taken.items()}


def starts(folder: Path, rounds: int) -> list[Figure]:
    work = folder / "work"
    work.mkdir()
    command = Command(argv=("true",), view=View(folder=work), limits=Limits(wall_s=30))
    found = medians_ms(
        {
            "plain": lambda: subprocess.run(["true"], check=True),
            "python": lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
            "bubblewrap": lambda: Bubblewrap().run(command),
            "landlock": lambda: Landlock().run(command),
        },
        rounds,
    )
    baseline = f"plain process {found['plain']:.1f} ms, python -c pass {found['python']:.1f} ms"
    return [
        Figure(
            name=f"start and end of a command, {name}",
            measured=f"{found[name] / found['plain']:.1f} x ({found[name]:.1f} ms)",
            baseline=baseline,
        )
        for name in ("bubblewrap", "landlock")
    ]


def fill(project: Path, size: int) -> list[Path]:
    files = []
    for number in range(size):
        path = project / f"package{number // 100:03d}" / f"module{number:05d}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"VALUE = {number}\n" * 40)
        files.append(path)
    return files


def checkpoints(folder: Path, size: int, rounds: int) -> tuple[list[Figure], float]:
    project = folder / "project"
    files = fill(project, size)
    copied: list[Path] = []

    def copy_in() -> LayeredWorkspace:
        copied.append(folder / f"place{len(copied)}")
        return LayeredWorkspace.create(project, copied[-1])

    def copy_a() -> None:
        copied.append(folder / f"copy{len(copied)}")
        subprocess.run(["cp", "-a", project, copied[-1]], check=True)

    costs = medians_ms({"copy in": copy_in, "cp -a": copy_a}, 3)
    workspace = LayeredWorkspace.open(copied[0], next(each.name for each in (copied[0] / "spaces").iterdir()))
    plain = folder / "plain"
    plain.mkdir()
    shutil.copy(files[0], plain / "file")
    changed = [str(each.relative_to(project)) for each in random.Random(1).sample(files, int(size * CHANGED_SHARE))]
    repository = Repository(folder / "git", project, changed)
    Bubblewrap().run(
        Command(argv=("sh", "-c", f"for f in {' '.join(changed)}; do echo 1 >> $f; done"), view=workspace.view())
    )
    assert len(workspace.diff()) == len(changed)
    token = workspace.checkpoint()
    first = first_byte(workspace, token, plain, changed[0], rounds)
    work = medians_ms(
        {
            "checkpoint": workspace.checkpoint,
            "restore": lambda: workspace.restore(token),
            "ten forks": lambda: workspace.forks(token, FORKS),
            "diff": workspace.diff,
            "git checkpoint": repository.checkpoint,
            "git restore": repository.restore,
            "git diff": repository.diff,
        },
        rounds,
    )
    at = f"{size:,} files"
    git = "git with its own GIT_DIR"
    return [
        at_most(
            f"restore to first byte read inside, minus the same start without overlay, {at}",
            first,
            FIRST_BYTE_LIMIT_MS,
            unit="ms",
            baseline=f"cp -a {costs['cp -a']:.0f} ms, {git} {work['git restore']:.0f} ms",
        ),
        at_most(
            f"diff of a 1 % change, {at}",
            work["diff"],
            DIFF_LIMIT_MS,
            unit="ms",
            baseline=f"{git} {work['git diff']:.0f} ms",
        ),
        at_most(
            f"a fork, of {FORKS} from one checkpoint, {at}",
            work["ten forks"] / FORKS,
            FORK_LIMIT_MS,
            unit="ms",
            baseline=f"cp -a {costs['cp -a']:.0f} ms",
        ),
        Figure(
            name=f"checkpoint, restore (calls), {at}",
            measured=f"{work['checkpoint']:.2f} ms, {work['restore']:.2f} ms",
            baseline=f"{git} {work['git checkpoint']:.0f} ms, {work['git restore']:.0f} ms",
        ),
        Figure(
            name=f"copy in, {at}",
            measured=f"{costs['copy in'] / costs['cp -a']:.1f} x ({costs['copy in']:.0f} ms)",
            baseline=f"cp -a {costs['cp -a']:.0f} ms",
        ),
    ], first


def first_byte(workspace: LayeredWorkspace, token: str, plain: Path, name: str, rounds: int) -> float:
    """From the call of restore to the first byte read inside, minus the same start with a bound folder that is nobody
    else's, so that neither start looks through what is there before."""
    command = Command(argv=("head", "-c", "1", "file"), view=View(folder=plain))
    bound_plan = replace(planned(command, binary()), in_place=False)

    def overlaid() -> None:
        workspace.restore(token)
        ran = Bubblewrap().run(Command(argv=("head", "-c", "1", name), view=workspace.view()))
        assert ran.stdout == b"V", ran

    def bound() -> None:
        ran = running.run(bound_plan, b"", isolation="bubblewrap", cancelled=None, paused=None, on_output=None)
        assert ran.stdout == b"V", ran

    found = medians_ms({"overlaid": overlaid, "bound": bound}, rounds)
    return found["overlaid"] - found["bound"]


class Repository:
    """The same with git: a checkpoint is a commit, a restore a hard reset."""

    def __init__(self, git_dir: Path, project: Path, changed: list[str]) -> None:
        tree = git_dir.with_name("git-tree")
        shutil.copytree(project, tree)
        self._tree, self._changed, self._round = tree, changed, 0
        self._git = [*GIT, "--git-dir", str(git_dir), "--work-tree", str(tree)]
        subprocess.run([*GIT, "init", "-q", "--bare", git_dir], check=True)
        self._run("add", "-A")
        self._run("commit", "-q", "-m", "start")

    def _run(self, *words: str) -> None:
        subprocess.run([*self._git, *words], cwd=self._tree, check=True, stdout=subprocess.DEVNULL)

    def _change(self) -> None:
        self._round += 1
        for name in self._changed:
            (self._tree / name).write_text(f"{self._round}\n" * 40)

    def checkpoint(self) -> None:
        self._change()
        self._run("add", "-A")
        self._run("commit", "-q", "-m", "checkpoint")

    def restore(self) -> None:
        self._change()
        self._run("reset", "-q", "--hard")
        self._run("clean", "-fdq")

    def diff(self) -> None:
        self._change()
        self._run("add", "-A", "-N")
        self._run("diff", "HEAD")


if __name__ == "__main__":
    main()
