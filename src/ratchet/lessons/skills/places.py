"""Folders in which coding agents look for skills, below a project or a person's home.

From their own documentation: Claude Code, developers.openai.com/codex/skills, geminicli.com, opencode.ai,
docs.github.com. `.agents/skills` is what Codex, Gemini CLI, opencode, Copilot and Amp share.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from ratchet.lessons.lookup import SKILLS

Taker: TypeAlias = Literal["claude-code", "agents"]
TAKERS: tuple[Taker, ...] = get_args(Taker)

WRITTEN: dict[Taker, str] = dict(zip(TAKERS, SKILLS, strict=True))
"""Where an export goes: Claude Code's own folder, or the one that all others share."""
READ = (
    *WRITTEN.values(),
    *(".codex/skills", ".gemini/skills", ".opencode/skills", ".config/opencode/skills", ".github/skills"),
    *(".copilot/skills", ".qwen/skills", ".cursor/skills"),
)


def folders(place: Path) -> Iterator[Path]:
    """The folders below a project or a home that hold skills, in the order in which agents look."""
    for name in READ:
        folder = place / name
        if folder.is_dir() and not folder.is_symlink():
            yield folder
