"""Calls an agent that is a Python callable, inside the sandbox: `call.py MODULE:FUNCTION`.

It is called with one mapping: task, workdir, agent, seed, settings. What it returns is laid into the working folder as
an endpoint's answer would be: {"files": {path: text}, "answer": anything, "cost_usd": ..., "tokens": ...}; a text or a
list is the answer itself; None: what it left in the folder is its answer.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
from pathlib import Path

TOLD = ("files", "answer", "cost_usd", "tokens", "infrastructure")


def main() -> None:
    module_name, _, path = sys.argv[1].partition(":")
    folder, seed = os.environ["RATCHET_AGENT"], int(os.environ["RATCHET_SEED"])
    sys.path[0] = folder or str(Path.cwd())
    random.seed(seed)
    function: object = importlib.import_module(module_name)
    for name in path.split("."):
        function = getattr(function, name)
    assert callable(function), sys.argv[1]
    asked = {
        "task": sys.stdin.read(),
        "workdir": os.environ["RATCHET_WORKDIR"],
        "agent": folder,
        "seed": seed,
        "settings": json.loads(os.environ["RATCHET_AGENT_SETTINGS"]),
    }
    answered = function(asked)
    if isinstance(answered, dict) and any(name in answered for name in TOLD):
        lay(answered)
    elif answered is not None:
        lay({"answer": answered})


def lay(answered: dict[str, object]) -> None:
    files = answered.get("files") or {}
    assert isinstance(files, dict), "files is no mapping of paths to texts"
    for path, text in files.items():
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", errors="surrogateescape")
    answer = answered.get("answer")
    if answer is not None:
        Path("answer.json").write_text(answer if isinstance(answer, str) else json.dumps(answer), encoding="utf-8")
    usage = {name: answered[name] for name in TOLD[2:] if name in answered}
    if usage:
        Path("usage.json").write_text(json.dumps(usage), encoding="utf-8")


if __name__ == "__main__":
    main()
