"""`python -m ratchet.demo FOLDER`: lay an agent to evolve out into a new folder; with `--prompts`, our own solver."""

from __future__ import annotations

import sys
from pathlib import Path

from ratchet.demo.laying import IDEAS, lay_out, lay_out_prompts
from ratchet.errors import RatchetError


def main(arguments: list[str]) -> int:
    """Write the agent, and say what to do with it."""
    own = arguments[:1] == ["--prompts"]
    names = arguments[own:]
    if len(names) != 1 or names[0].startswith("-"):
        print("usage: python -m ratchet.demo [--prompts] FOLDER", file=sys.stderr)
        return 2
    folder = Path(names[0])
    try:
        lay_out_prompts(folder) if own else lay_out(folder)
    except RatchetError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    if own:
        print(f"Ratchet's own solver: {folder}; its prompts may change")
        print(f"  ratchet bench grant {folder}    it asks for the network and the keys of models")
        print(f"  ratchet evolve --agent {folder} --bench repair --proposer model")
    else:
        print(f"an agent with three weaknesses: {folder} (its README.md says which)")
        print(f"  ratchet evolve --agent {folder} --bench quick --proposer script:{IDEAS}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
