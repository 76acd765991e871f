"""What people wrote is compared by its meaning, too, where the model is there."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from ratchet.lessons import meaning
from ratchet.lessons.lessons import add
from ratchet.lessons.meaning import tokens_of
from ratchet.lessons.prose import ranked
from ratchet.store.sqlite import SqliteStore

ASKED = "the program quits when a picture is pasted into the editor"
BY_WORDS = "a picture of the program when it starts, for the handbook"
BY_MEANING = "crash on inserting an image from the clipboard into the editor"


@pytest.fixture(autouse=True)
def _cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has no model and may not load one, whatever other tests allowed it."""
    with meaning._loading:
        monkeypatch.setattr(meaning, "_held", [])
        monkeypatch.setattr(meaning, "_allowed", threading.Event())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "ratchet.db")) as held:
        for text in (BY_WORDS, BY_MEANING, "printing in colour needs another driver", "the menu is too wide"):
            add(held, when=text, do=f"see {text[:9]}", state="active", source="report")
        yield held


@pytest.fixture
def model() -> meaning.Meaning:
    if not meaning.installed():
        pytest.skip("the extra is not installed: ratchet-ai[semantic]")
    return meaning.load()


def first(store: SqliteStore) -> str:
    return str(ranked(store, ASKED, {"state": "active"}, limit=5)[0].row["when_text"])


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("The cat's café", [1996, 4937, 1005, 1055, 7668]),
        ("日本", [1864, 1876]),
        ("unbelievably-odd", [4895, 8671, 2666, 3567, 6321, 1011, 5976]),
        ("in\x00side\ufffd", [2503]),
        ("\U0001f9ff", [100]),
        ("x" * 101, [100]),
        ("", []),
    ],
)
def test_a_text_is_cut_as_bert_cuts_it(text: str, pieces: Sequence[int]) -> None:
    assert tokens_of(text) == [101, *pieces, 102]


def test_a_long_text_is_cut_off_and_ends_as_a_text() -> None:
    tokens = tokens_of("word " * 500)
    assert len(tokens) == 128
    assert tokens[-1] == 102


def test_without_the_model_words_alone_decide(store: SqliteStore) -> None:
    assert first(store) == BY_WORDS


def test_the_same_said_in_other_words_comes_first(store: SqliteStore, model: meaning.Meaning) -> None:
    near = model.near(ASKED, [BY_MEANING, "the menu is too wide"])
    assert near[0] > near[1]
    assert first(store) == BY_MEANING


def test_only_a_process_that_lives_on_begins_to_load_it(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bool] = []
    monkeypatch.setattr(meaning, "_begin", lambda: begun.append(True))
    first(store)
    assert not begun
    meaning.allow()
    assert first(store) == BY_WORDS, "until it is loaded, words decide"
    assert begun


def test_a_model_that_cannot_be_loaded_is_said_once_in_one_line_and_words_decide(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> meaning.Meaning:
        raise OSError("the file\nis cut off")

    monkeypatch.setattr(meaning, "Meaning", broken)
    monkeypatch.setattr(meaning, "installed", lambda: True)
    meaning._begin.cache_clear()
    meaning.allow()
    for _ in range(2):
        assert first(store) == BY_WORDS
        for each in threading.enumerate():
            if each.name == "ratchet-meaning":
                each.join(10)  # what it raised would fail this test as a warning
    meaning._begin.cache_clear()
    (told,) = [each for each in caplog.records if each.name == meaning.__name__]
    assert told.getMessage() == "meaning.broken: OSError: the file is cut off; words alone decide"
