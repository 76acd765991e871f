"""The rules that models are given, a file each: to be read, replaced (setting `prompts`), evolved like all else."""

from __future__ import annotations

from pathlib import Path

from ratchet.errors import UsageError

FOLDER = Path(__file__).parent
NAMES = (
    "repair", "rewrite", "rewrite_line", "summarise", "propose", "improve", "delegate", "plan", "plan_check", "compare",
)  # fmt: skip
"""For a failing check: edits, a whole file, one line of it, a long output in short. For an agent: a change of it, a
file of it as a whole, a change that a coding agent makes. For a task in words: its steps, or one check. For a table of
features: sentences about them."""
MOST_CHARS = 20_000  # far more than rules take, and little enough to leave room for what they are about


class Prompts:
    """The prompts of a folder, and those that come with Ratchet where it has none of a name. Each is read once."""

    def __init__(self, folder: Path | None = None) -> None:
        """Raises UsageError for a folder that holds no prompt, since nothing of it would count."""
        self._folder = folder
        self._read: dict[str, str] = {}
        if folder is not None and not any((folder / f"{name}.md").is_file() for name in NAMES):
            names = ", ".join(f"{name}.md" for name in NAMES)
            raise UsageError(f"prompts: {folder} holds none of {names}; copy them from {FOLDER}")

    def text(self, name: str) -> str:
        """The prompt of a name of `NAMES`. Raises UsageError where the folder's file cannot be used."""
        if name not in self._read:
            self._read[name] = self._of(name)
        return self._read[name]

    def _of(self, name: str) -> str:
        own = None if self._folder is None else self._folder / f"{name}.md"
        path = own if own is not None and own.exists() else FOLDER / f"{name}.md"
        try:
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the prompt {path} cannot be read: {error}") from error
        if not text or len(text) > MOST_CHARS:
            said = f"holds {len(text)} characters, at most {MOST_CHARS} are used" if text else "is empty"
            raise UsageError(f"the prompt {path} {said}; mend it, or remove it to use the one that comes along")
        return text
