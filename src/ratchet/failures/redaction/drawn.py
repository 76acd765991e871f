"""Tells text that a machine drew from words, names and identifiers, by the pairs of characters that words do not have.

Lean: a hook process imports this.
"""

from __future__ import annotations

from _operator import add  # `operator` and what it loads take a hook 0.2 ms

# Second letters after each first that make at least 1 in 5,000 of the letter pairs of Python's standard library and of
# this project. Random letters miss this table every other time, words and identifiers 15 times in 1,000.
_COMMON = (
    "abcdfgiklmnprstuvwxy bacdeijloprsuy cacehiklmoprstuvy dabdefgilnorstuy eabcdefghiklmnopqrstuvwxy facdefilorstuy"
    " gaeghilmnorstu haeilmortu iabcdefgklmnoprstvxz jeou kadeilnsw labcdefilnopstuvy mabdeilmopstu"
    " nacdefgiklmnopstuvy oabcdefgiklmnoprstuvwx pacdehiloprstuwy qu rabcdefgiklmnoprstuvwy sacdefghiklmnopqrstuwy"
    " tacdefhilmnoprstuwy uabcdefgilmnoprst vaeio wadehinors xaceipt yeimnopst zei"
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = str.maketrans("123456789", "000000000")
_JUDGED = 64  # characters that decide
_LEAST_SHARE = 0.3  # of odd pairs; drawn letters and digits have .45 to .7, names at most .2
_odd: frozenset[str] = frozenset()


def _odd_ones() -> frozenset[str]:
    """Built at first use: letter pairs that words do not have, and each change between letters and digits."""
    global _odd
    if not _odd:
        common = {row[0]: row[1:] for row in _COMMON.split()}
        pairs = {a + b for a in _LETTERS for b in _LETTERS if a != b and b not in common[a]}
        _odd = frozenset(pairs.union(*((f"0{letter}", f"{letter}0") for letter in _LETTERS)))
    return _odd


def odd_pairs(text: str) -> int:
    """Neighbours in a text that no word has."""
    low = text.lower().translate(_DIGITS)
    return sum(map(_odd_ones().__contains__, map(add, low, low[1:])))


def is_drawn(piece: str, share: float = _LEAST_SHARE) -> bool:
    """Tell whether a machine drew these letters and digits: at least this share of their pairs is in no word."""
    piece = piece[:_JUDGED]
    return odd_pairs(piece) >= share * (len(piece) - 1)
