"""A table of what projects offer against one's own, the gaps ranked by how many others have them. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ratchet.evolving.competitors.features import KINDS, Feature, FeatureKind

_STEM, _LONGEST_ENDING = 4, 5  # letters: "-ation" after a stem that both share, which may lose its last letter
_ALIKE = 0.67  # share of words that two headings must have in common to be one: two of three


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFeature:
    """One row: who offers it, at which place of whose files."""

    kind: FeatureKind
    name: str
    cells: Mapping[str, Feature]
    """Project -> the line that shows it; absent where nothing does."""

    def is_gap(self, own: str) -> bool:
        """Tell whether one's own project lacks it."""
        return own not in self.cells


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureTable:
    """All rows, the widest gaps first."""

    own: str
    others: tuple[str, ...]
    rows: tuple[ComparedFeature, ...]

    @property
    def gaps(self) -> tuple[ComparedFeature, ...]:
        return tuple(each for each in self.rows if each.is_gap(self.own))


def table_of(own: str, found: Mapping[str, Sequence[Feature]]) -> FeatureTable:
    """Bring the features of projects (name -> features, one's own among them) together: gaps first, those that most
    others have before the rest, and what files declare before what docs talk about: all have a heading on a license."""
    rows: dict[tuple[str, str], dict[str, Feature]] = {}
    headings = _Headings()
    for project in (own, *(each for each in found if each != own)):
        for feature in found[project]:
            key = headings.key(feature.name) if feature.kind == "topic" else _spelled(feature.name)
            rows.setdefault((feature.kind, key), {}).setdefault(project, feature)
    made = [
        ComparedFeature(kind=first.kind, name=first.name, cells=cells)
        for cells in rows.values()
        for first in [next(iter(cells.values()))]
    ]
    ranked = {each: n for n, each in enumerate(KINDS)}
    made.sort(key=lambda each: (each.kind == "topic", -len(each.cells), ranked[each.kind], each.name))
    made.sort(key=lambda each: not each.is_gap(own))
    return FeatureTable(own=own, others=tuple(each for each in found if each != own), rows=tuple(made))


def _spelled(name: str) -> str:
    """Names are one but for case and dashes."""
    return name.casefold().replace("_", "-")


class _Headings:
    """The headings so far: two are one by the words that they share. Forms of one word begin alike, so each is compared
    with those only that share a beginning."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._words: list[frozenset[str]] = []
        self._beginning: dict[str, set[int]] = {}

    def key(self, heading: str) -> str:
        """The first heading that this one is a form of, by its words in order; else its own."""
        words = _words(heading)
        if not words:
            return heading.casefold()
        shared: Counter[int] = Counter()
        for word in words:
            near = self._beginning.get(word[:_STEM], set())
            shared.update(at for at in near if any(_is_form(word, each) for each in self._words[at]))
        alike = (at for at, n in shared.items() if n / (len(words) + len(self._words[at]) - n) >= _ALIKE)
        first = min(alike, default=None)
        if first is not None:
            return self._keys[first]
        for word in words:
            self._beginning.setdefault(word[:_STEM], set()).add(len(self._keys))
        self._keys.append(" ".join(sorted(words)))
        self._words.append(words)
        return self._keys[-1]


def _words(heading: str) -> frozenset[str]:
    """Words of a heading; one with a capital within is two (FeatureCell)."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", heading)
    return frozenset(re.findall(r"[a-z][a-z0-9-]{2,}", apart.casefold()))


def _is_form(a: str, b: str) -> bool:
    """Tell whether two words are forms of one: install and installation, configure and configuring."""
    alike = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    endings = sorted((len(a) - alike, len(b) - alike))
    return a == b or (alike >= _STEM and endings[0] <= 1 and endings[1] <= _LONGEST_ENDING)
