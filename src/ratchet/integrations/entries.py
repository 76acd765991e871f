"""Adds our entries to the files of coding agents, touching nothing else, and takes them out again.

Several entries of one file are one change. What is written is read back before it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ratchet.errors import Refused
from ratchet.integrations.settings_file import Installed, KeptOriginal, read, replace
from ratchet.records import Json


class Form(Protocol):
    """A way in which an entry is written into a file."""

    def held(self, path: Path, text: str) -> Json:
        """Our entry as it stands in the file, None where there is none. Raises Refused for a file that does not parse,
        or in which somebody else's entry stands in its place."""
        ...

    def with_ours(self, path: Path, text: str, wanted: Json) -> str:
        """The text, which holds none of ours, with our entry."""
        ...

    def without_ours(self, path: Path, text: str, original: str | None) -> str:
        """The text without our entry, and without what it leaves empty but for what was there in the `original`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedEntry:
    """One entry that shall stand in a file."""

    form: Form
    entry: Json


def install(
    path: Path, wanted: Sequence[WantedEntry], *, home: Path, dry_run: bool = False, mode: int = 0o600
) -> Installed:
    """Bring a file's entries of ours to what is wanted. Again: nothing changes, or only our own entries. A file that is
    not there is made with `mode`.

    Raises Refused when the file does not parse or cannot be edited safely (it is left untouched), BackendError when it
    cannot be read or written, Conflict when it changed meanwhile.
    """
    before = read(path)
    if before is not None and all(each.form.held(path, before) == each.entry for each in wanted):
        return Installed(path=str(path), changed=False, diff="")
    kept = KeptOriginal.of(home, path)
    is_left = before is not None and kept.is_as_left(before)
    base = before or ""
    for each in wanted:
        base = each.form.without_ours(path, base, kept.original)
    original = kept.original if is_left else base if base or before is not None else None
    after = base
    for each in wanted:
        after = each.form.with_ours(path, after, each.entry)
    _check(path, after, {each.form: each.entry for each in wanted})
    if not dry_run:
        kept.remember(original, after)
        replace(path, before, after, mode=mode)
    return Installed.of(path, before, after, backup=kept.backup_if_any())


def uninstall(
    path: Path, forms: Sequence[Form], others: Sequence[Form] = (), *, home: Path, dry_run: bool = False
) -> Installed:
    """Take our entries out: byte for byte what was there before when nobody else changed the file since and nothing of
    the `others` is left in it, else only our entries, keeping the person's later edits. Raises as `install`."""
    before = read(path)
    if before is None or all(form.held(path, before) is None for form in forms):
        return Installed(path=str(path), changed=False, diff="")
    kept = KeptOriginal.of(home, path)
    is_left, more = kept.is_as_left(before), any(form.held(path, before) is not None for form in others)
    after: str | None
    if is_left and not more:
        after = kept.original
    else:
        after = before
        for form in forms:
            after = form.without_ours(path, after, kept.original)
        _check(path, after, dict.fromkeys(forms))
        if not more and kept.is_known and _is_bare(kept.original) and _is_bare(after):
            after = kept.original  # it was not there or empty before us, and nothing but us was ever in it
    if not dry_run:
        if more and is_left:
            kept.remember(kept.original, after or "")
        elif not more:
            kept.forget()
        replace(path, before, after)
        if after is None:
            kept.remove_folders()
    return Installed.of(path, before, after, backup=kept.backup_if_any())


def _is_bare(text: str | None) -> bool:
    return not (text or "").translate(_NOTHING)


_NOTHING = str.maketrans("", "", "{} \t\r\n\ufeff")


def _check(path: Path, text: str, wanted: Mapping[Form, Json]) -> None:
    """See that a text holds what it shall. Raises Refused: then nothing is written."""
    try:
        fits = all(form.held(path, text) == entry for form, entry in wanted.items())
    except Refused:
        fits = False
    if not fits:
        raise Refused(
            f"{path} is written in a way that cannot be edited safely; it is left as it is: change it by hand"
        )
