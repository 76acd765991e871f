"""A skill's folder as a target: it is there whole, as one version, or not at all.

Its name says all about it (`skill:FOLDER`), so that any process can undo what another one did. A folder that a person
changed is theirs: it is neither replaced nor taken away.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ratchet import files
from ratchet.errors import BackendError, Conflict, Refused, UsageError
from ratchet.improving.targets import edit as edits
from ratchet.improving.targets.pieces import KEY
from ratchet.lessons.skills.skill import MAIN, is_name
from ratchet.ports import Edit, Held, Restored
from ratchet.records import Json

PREFIX = "skill:"
_MOST_FILES, _MOST_BYTES = 50, 1_000_000


class SkillFolder:
    """Port `Target` over one folder. Its one key is the JSON of its texts by their paths."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        if not is_name(self.path.name):
            raise UsageError(f"{self.path} is no folder of a skill: a name is lower-case letters, digits and hyphens")

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.path}"

    def is_there(self) -> bool:
        """Tell whether anything has that name, whoever put it there."""
        return os.path.lexists(self.path)

    def read(self) -> Held:
        held = self._held()
        return Held(values=_values(held), version=_version(held))

    def plan(self, change: Mapping[str, Json]) -> Edit:
        values = edits.plain_values(change, self.name)
        if set(values) != {KEY} or MAIN not in _texts(values.get(KEY)):
            raise UsageError(f"{self.name}: it has one key, {KEY!r}: its texts by their paths, {MAIN} among them")
        held = self._held()
        return Edit(
            target=self.name,
            before=_values(held),
            after=values,
            version=_version(held),
            result=_version(_texts(values[KEY])),
        )

    def diff(self, piece: str) -> str:
        """Tell what writing these texts would change, as a unified diff."""
        held, new = self._held() or {}, _texts(piece)
        lines: list[str] = []
        for name in sorted({*held, *new}):
            sides = (held.get(name, "").splitlines(), new.get(name, "").splitlines())
            before = str(self.path / name) if name in held else "/dev/null"
            lines += difflib.unified_diff(*sides, fromfile=before, tofile=str(self.path / name), lineterm="", n=1)
        return "\n".join(lines)

    def apply(self, edit: Edit) -> None:
        version = _version(self._held())
        if version != edit.result:
            self._swap(edit.version, _texts(edit.after.get(KEY)))

    def restore(self, edit: Edit) -> Restored:
        held = self._held()
        back = edits.way_back(edit, _values(held))
        if back.restored:
            before = edit.before.get(KEY)
            self._swap(_version(held), _texts(before) if before is not None else None)
        return Restored(version=_version(self._held()), restored=back.restored, kept=back.kept)

    def _held(self) -> dict[str, str] | None:
        """The texts of the folder; None where there is none. Raises Refused for one that is no skill of ours."""
        if not os.path.lexists(self.path):
            return None
        found: dict[str, str] = {}
        try:
            for above, _, names in files.walk(self.path):
                for name in names:
                    path = Path(above, name)
                    plain = path.is_file() and not path.is_symlink() and path.stat().st_size <= _MOST_BYTES
                    if self.path.is_symlink() or not plain or len(found) >= _MOST_FILES:
                        raise Refused(f"{path} is nothing that Ratchet wrote; take the folder away, then try again")
                    found[str(path.relative_to(self.path))] = files.text_of(path.read_bytes())
        except OSError as error:
            raise BackendError(f"{self.path} cannot be read ({error.strerror}); check its permissions") from error
        return found

    def _swap(self, version: str, texts: Mapping[str, str] | None) -> None:
        """Put another version in the place of `version`, by renaming: a reader finds the one or the other. Raises
        Conflict, Refused for a folder behind a link that leads away, BackendError."""
        files.need_inside(self.path)
        above = self.path.parent
        busy = Conflict(f"another process writes below {above}; nothing was written: try again")
        try:
            above.mkdir(parents=True, exist_ok=True)
            with files.Locked(above, busy, wait_s=5.0):
                self._mend(above)
                if _version(self._held()) != version:
                    raise Conflict(f"{self.path} was changed by somebody else meanwhile; look and try again")
                scratch = Path(tempfile.mkdtemp(prefix=self._prefix, dir=above))
                try:
                    if texts is not None:
                        _write(scratch / "new", texts)
                    if self.path.exists():
                        self.path.rename(scratch / "old")
                    if texts is not None:
                        (scratch / "new").rename(self.path)
                finally:
                    shutil.rmtree(scratch, ignore_errors=True)
                if texts is None and not any(above.iterdir()):
                    above.rmdir()
        except OSError as error:
            raise BackendError(f"{self.path} cannot be written ({error.strerror}); give write access to it") from error

    @property
    def _prefix(self) -> str:
        return f".ratchet-{self.path.name}."  # no name has a dot: `mine` is not the beginning of `mine-too`

    def _mend(self, above: Path) -> None:
        """Finish what a process left that was killed between two renames."""
        for left in above.glob(f"{self._prefix}*"):
            if (left / "old").is_dir() and not self.path.exists():
                (left / "old").rename(self.path)
            shutil.rmtree(left, ignore_errors=True)


def skill_named(name: str) -> SkillFolder | None:
    """The target of a name that a `SkillFolder` gave, None for another's."""
    return SkillFolder(Path(name.removeprefix(PREFIX))) if name.startswith(PREFIX) else None


def piece_of(texts: Mapping[str, str]) -> str:
    """The texts of a skill as the value of its target's one key."""
    return json.dumps(texts, ensure_ascii=False, sort_keys=True)


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise Refused(f"{name} leads out of the skill's folder; nothing was written")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files.bytes_of(text))
        if text.startswith("#!"):
            path.chmod(0o755)


def _values(texts: Mapping[str, str] | None) -> dict[str, Json]:
    return {} if texts is None else {KEY: piece_of(texts)}


def _version(texts: Mapping[str, str] | None) -> str:
    return files.version_of(None if texts is None else files.bytes_of(piece_of(texts)))


def _texts(piece: Json) -> dict[str, str]:
    try:
        held = json.loads(piece) if isinstance(piece, str) else {}
    except ValueError:
        held = {}
    return {str(name): str(text) for name, text in held.items()} if isinstance(held, dict) else {}
