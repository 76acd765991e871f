"""A scripted agent: it looks up what it once answered to a task, and writes it down as its rules and settings say."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import sys
from pathlib import Path

from reading import files_of

HERE = Path(__file__).resolve().parent
SLIPS = 0.06  # share of tasks that it gets wrong although it knows better, as models do
SLIPS_UNCHECKED = 0.45


def main() -> int:
    task = sys.stdin.read().strip()
    known = json.loads((HERE / "memory.json").read_text(encoding="utf-8"))
    answer = known.get(key_of(task, Path.cwd()))
    if answer is None:
        print("I do not know such a task.")
        return 0
    rules = (HERE / "prompts" / "rules.md").read_text(encoding="utf-8")
    settings = json.loads(os.environ.get("RATCHET_AGENT_SETTINGS") or "{}")
    slips = slipped(task, rules)
    for path, text in files_of(answer, Path.cwd()).items():
        written = shortened(text, rules) if path != "answer.json" else called(text, settings)
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        if not text:
            file.unlink(missing_ok=True)
            continue
        file.write_bytes((written[: len(written) // 3] if slips else written).encode(errors="surrogateescape"))
        print(f"wrote {path}")
    return 0


def key_of(task: str, folder: Path) -> str:
    """What it remembers a task by: the instruction, and the files that came with it."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    files = {str(path.relative_to(folder)): path.read_bytes().decode(errors="surrogateescape") for path in found}
    return hashlib.sha256(json.dumps([task, files], sort_keys=True).encode()).hexdigest()[:16]


def slipped(task: str, rules: str) -> bool:
    """Whether it makes a mistake this time. The seed decides, so that a run can be repeated."""
    share = SLIPS if "check every answer" in rules.lower() else SLIPS_UNCHECKED
    return random.Random(f"{os.environ.get('RATCHET_SEED', '0')} {task}").random() < share  # noqa: S311  (no secret)


def shortened(text: str, rules: str) -> str:
    """A file as the rules want it."""
    found = re.search(r"never write more than (\d+) lines", rules, re.IGNORECASE)
    lines = text.splitlines(keepends=True)
    return "".join(lines[: int(found[1])]) if found else text


def called(text: str, settings: dict[str, object]) -> str:
    """A plan, or calls of tools: no more steps than the settings allow."""
    most = settings.get("most_calls")
    answer = json.loads(text)
    if not isinstance(most, int):
        return text
    if isinstance(answer, list):
        return json.dumps(answer[:most])
    return json.dumps({key: value[:most] if isinstance(value, list) else value for key, value in answer.items()})


if __name__ == "__main__":
    sys.exit(main())
