"""`python -m ratchet.demo FOLDER`: lay the agent of the tutorial out into a new folder."""

from __future__ import annotations

import sys
from pathlib import Path

from ratchet.demo.laying import IDEAS, lay_out
from ratchet.errors import RatchetError


def main(arguments: list[str]) -> int:
    """Write the agent, and say where it and its ideas are."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python -m ratchet.demo FOLDER", file=sys.stderr)
        return 2
    try:
        folder = lay_out(Path(arguments[0]))
    except RatchetError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"an agent with three weaknesses: {folder} (its README.md says which)")
    print(f"ideas to change it, good and bad: {IDEAS}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
