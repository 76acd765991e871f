"""Heals the project in the current folder with `ratchet run --solver model`, using the prompts beside this file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEMPORARY_FAILURE = 75  # EX_TEMPFAIL of sysexits.h
NO_ANSWER = (5, 6)  # no model is named, or none can be reached: the prompts are not to blame


def main() -> int:
    # The agent is confined as a whole; within, there is nothing more to keep away.
    command = ["ratchet", "run", "--in", ".", "--solver", "model", "--attempts", "1", "--apply", "--unsafe-no-sandbox"]
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "RATCHET_PROMPTS": str(HERE / "prompts"), "RATCHET_HOME": home}
        done = subprocess.run([*command, "--json"], env=environ, capture_output=True, text=True, check=False)  # noqa: S603
    print(done.stdout[-4_000:], done.stderr[-2_000:], sep="\n")
    if done.returncode in NO_ANSWER:
        return TEMPORARY_FAILURE
    cost_usd = json.loads(done.stdout).get("cost_usd", 0)
    Path("usage.json").write_text(json.dumps({"cost_usd": cost_usd}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
