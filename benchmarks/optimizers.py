"""What optimizers and loops keep by their own rule and by the gate, on proposals of known worth.

    python benchmarks/optimizers.py [--seeds 8] [--only NAME]

Real ones, from the registry (`bash scripts/frameworks.sh newest gepa openevolve skillopt dspy`; one that is not there
is left out), on a scripted model: `tests/support/optimizers` has a script for each. Twelve proposals, of which two help
(by 25 and 20 points of 40), five do nothing and five take three points; SkillOpt's nights are fifty, and all but two do
harm. A run tries thirty tasks once; a night's evaluation is one task.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean

from figures import Figure, publish

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "tests" / "support" / "optimizers"


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    framework: str
    script: str
    words: tuple[str, ...] = ()
    unit: str = "runs"

    @property
    def python(self) -> Path:
        if not self.framework:
            return Path(sys.executable)
        return ROOT / ".frameworks" / f"{self.framework}-newest" / "bin" / "python"


CASES = (
    Case("gepa 0.1.4", "gepa", "gepa_run.py"),
    Case("OpenEvolve 0.4.1", "openevolve", "openevolve_run.py"),
    Case("SkillOpt 0.2.0, training", "skillopt", "skillopt_run.py"),
    Case("SkillOpt 0.2.0, 50 nights", "skillopt", "skillopt_nights.py", unit="tasks tried"),
    Case("DSPy 3.4.1, COPRO", "dspy", "dspy_run.py"),
    Case("DSPy 3.4.1, COPRO, nothing helps", "dspy", "dspy_run.py", ("idle",)),
    Case("an autoresearch loop, whose score is a loss", "", "autoresearch_run.py"),
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What one run ended with: the proposals in its result, those of them that are no better, what the result truly
    scores, and what was paid."""

    kept: int
    false: int
    truth: float
    runs: int


def ran(case: Case, how: str, seed: int) -> Kept:
    with tempfile.TemporaryDirectory() as folder:
        command = [str(case.python), str(SCRIPTS / case.script), how, str(seed), folder, *case.words]
        ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    said = json.loads(ended.stdout.splitlines()[-1])
    return Kept(len(said["kept"]), len(said["false"]), said["truth"], said["runs"])


def told(found: list[Kept], unit: str) -> str:
    helps, false = mean(each.kept - each.false for each in found), mean(each.false for each in found)
    truth, runs = mean(each.truth for each in found), mean(each.runs for each in found)
    return f"{helps:.2f} that help, {false:.2f} that do not; true score {truth:.3f}; {runs:,.0f} {unit}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--only", default="", help="part of a name")
    asked = parser.parse_args()
    figures = []
    for case in CASES:
        if asked.only.lower() not in case.name.lower() or not case.python.exists():
            print(f"left out: {case.name}")
            continue
        with ThreadPoolExecutor(2) as pool:
            own, gated = (
                list(pool.map(partial(ran, case, how), range(1, asked.seeds + 1))) for how in ("own", "gated")
            )
        false, kept = sum(each.false for each in gated), sum(each.kept for each in gated)
        figures.append(
            Figure(
                name=f"{case.name}, {asked.seeds} runs",
                measured=told(gated, case.unit),
                goal="of what is kept, <= 5 % no better",
                baseline=f"its own rule: {told(own, case.unit)}",
                holds=false <= 0.05 * kept,
            )
        )
        print(figures[-1].name, "|", figures[-1].measured, "|", figures[-1].baseline, flush=True)
    return publish("optimizers", figures)


if __name__ == "__main__":
    raise SystemExit(main())
