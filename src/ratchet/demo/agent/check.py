"""The agent's own check: whatever changes, it can still read an answer that is one whole file."""

from __future__ import annotations

import json
from pathlib import Path

import agent
from reading import files_of

ANSWER = "@@ FILE a.txt\n@@ WHOLE\none\n  two\n@@ END"

assert files_of(ANSWER, Path()) == {"a.txt": "one\n  two"}, files_of(ANSWER, Path())
assert json.loads(agent.called("[1]", {"most_calls": 1})) == [1]
assert agent.shortened("one\n", "") == "one\n"
