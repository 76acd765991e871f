"""Drives an autoresearch loop in a real git repository, on commits of known worth: each experiment is committed, run,
logged in results.tsv, then kept or reset by autoresearch's own rule (val_bpb is lower) or by `ratchet gate keep`;
prints what the branch holds in the end, as JSON. `python autoresearch_run.py own|gated SEED FOLDER`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random

from click.testing import CliRunner

from ratchet.cli.app import cli

GAINS = {3: 0.012, 9: 0.010}
"""Experiment -> what it takes off the loss; of all others every second adds a little. One run varies by .004."""
NOISE = 0.004
EXPERIMENTS = 12
HOW, SEED, FOLDER = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
chance = Random(SEED)
log = FOLDER / "results.tsv"


def git(*words: str) -> str:
    settings = ("-c", "user.name=agent", "-c", "user.email=agent@example.com", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *settings, *words], cwd=FOLDER, capture_output=True, text=True, check=True).stdout


def applied() -> list[int]:
    return [int(each) for each in re.findall(r"idea (\d+)", (FOLDER / "train.py").read_text())]


def loss() -> float:
    return 0.998 - sum(GAINS.get(each, -0.001 * (each % 2)) for each in applied())


def run(commit: str, description: str) -> float:
    """Train what a commit holds, and log it."""
    git("checkout", "-q", "--detach", commit)
    score = chance.gauss(loss(), NOISE)
    git("checkout", "-q", "research")
    with log.open("a") as file:
        file.write(f"{commit}\t{score:.6f}\t44.0\tdone\t{description}\n")
    return score


def gated(commit: str) -> bool:
    """Ask the gate, and run what it names, until it decides."""
    while True:
        asked = CliRunner().invoke(cli, ["gate", "keep", str(log), "--score", "val_bpb", "--lower", "--json"])
        said = json.loads(asked.output)
        if said["decision"] != "again":
            assert said["version"] == commit
            return asked.exit_code == 0
        run(said["next"], "once more")


git("init", "-q", "-b", "research")
(FOLDER / ".gitignore").write_text("results.tsv\n")
(FOLDER / "train.py").write_text("# training\n")
git("add", "-A")
git("commit", "-q", "-m", "baseline")
log.write_text("commit\tval_bpb\tmemory_gb\tstatus\tdescription\n")
best = run(git("rev-parse", "--short=10", "HEAD").strip(), "baseline")
for n in range(EXPERIMENTS):
    with (FOLDER / "train.py").open("a") as file:
        file.write(f"# idea {n}\n")
    git("commit", "-q", "-a", "-m", f"idea {n}")
    commit = git("rev-parse", "--short=10", "HEAD").strip()
    score = run(commit, f"idea {n}")
    if gated(commit) if HOW == "gated" else score < best:
        best = score
    else:
        git("reset", "-q", "--hard", "HEAD~1")
kept = applied()
print(
    json.dumps(
        {
            "kept": kept,
            "false": [each for each in kept if each not in GAINS],
            "truth": round(loss(), 4),
            "runs": len(log.read_text().splitlines()) - 1,
        }
    )
)
