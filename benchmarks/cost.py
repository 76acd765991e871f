"""What sessions took, beside ccusage on the same files: tokens by what they are, and money.

    python benchmarks/cost.py --histories DIR [--ccusage CLI.JS] [--former CLI.JS]

DIR holds histories of Claude Code as its own folder does, in `projects/`; the published figures use the 110 files of
the public projects marot/spotter, entireio/cli and d-kimuson/claude-code-viewer. `--ccusage` is the program of the npm
package (its newest release), `--former` that of a release before 20, which counted the first line of a streamed answer.
Both use the prices that they ship, since neither may ask a service here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, at_most, publish
from ratchet.runtime import Runtime
from ratchet.sessions.cost import Cost

_CLASSES = {
    "given": "inputTokens",
    "stored": "cacheCreationTokens",
    "cached": "cacheReadTokens",
    "made": "outputTokens",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Sums of another program: tokens by our name of their class, and USD."""

    tokens: dict[str, int]
    usd: float


def counted(command: Sequence[str], histories: Path, scratch: Path) -> Counted:
    """Ask a release of ccusage for the sums of all days."""
    told = subprocess.run(
        ["node", *command, "--offline", "--json"],
        env={"PATH": os.environ["PATH"], "HOME": str(scratch), "CLAUDE_CONFIG_DIR": str(histories)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    totals = json.loads(told.stdout)["totals"]
    return Counted(tokens={ours: int(totals[theirs]) for ours, theirs in _CLASSES.items()}, usd=totals["totalCost"])


def learned(histories: Path, home: Path) -> Cost:
    """What Ratchet counts of the same files, in a home of its own."""
    with Runtime.open(home=home) as runtime:
        runtime.learn([histories])
        return runtime.sessions.costs().total


def apart(one: float, other: float) -> float:
    """How far one number is from another, in percent of the other."""
    return 100 * abs(one - other) / other if other else 0.0 if one == other else 100.0


def figures(ours: Cost, newest: Counted | None, former: Counted | None) -> list[Figure]:
    found = []
    for name in _CLASSES:
        mine = getattr(ours.tokens, name)
        if newest is not None:
            theirs = newest.tokens[name]
            found.append(
                at_most(f"tokens {name}, from ccusage", apart(mine, theirs), 1, unit="%", baseline=f"{theirs:,}")
            )
        if former is not None:
            said = f"first line of an answer: {former.tokens[name]:,}"
            found.append(Figure(name=f"  counted here: {mine:,}", measured="", baseline=said))
    if newest is not None and ours.cost_usd is not None:
        away = apart(ours.cost_usd, newest.usd)
        found.append(at_most(f"money, {ours.cost_usd:,.2f} USD", away, 1, unit="%", baseline=f"{newest.usd:,.2f} USD"))
    if former is not None and ours.cost_usd is not None:
        more = f"{100 * (ours.cost_usd / former.usd - 1):+.1f} %"
        found.append(
            Figure(name="  the same beside a release before 20", measured=more, baseline=f"{former.usd:,.2f} USD")
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=Path, required=True, help="a folder with `projects/` in it")
    parser.add_argument("--ccusage", type=Path, help="ccusage 20 or later: node_modules/ccusage/src/cli.js")
    parser.add_argument("--former", type=Path, help="ccusage before 20: node_modules/ccusage/dist/index.js")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        ours = learned(given.histories / "projects", scratch / "home")
        newest = counted([str(given.ccusage), "claude", "daily"], given.histories, scratch) if given.ccusage else None
        former = counted([str(given.former), "daily"], given.histories, scratch) if given.former else None
    publish("cost", figures(ours, newest, former))


if __name__ == "__main__":
    main()
