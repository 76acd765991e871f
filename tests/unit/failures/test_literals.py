"""Literals are found in texts by their words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.failures.redaction import literals, providers
from ratchet.failures.redaction.literals import Literals
from ratchet.failures.redaction.named import lowered
from ratchet.failures.redaction.text import redact

LITERALS = ("key", "keys", " -p", "login ", "net user ", "| passwd ", "@", "$", "://", "пароль")
_PIECES = st.sampled_from([*LITERALS, *(each.strip() for each in LITERALS), "a", "-", "KEY", " ", "\n", "\t", "\u00a0"])
_TEXTS = st.lists(_PIECES, max_size=12).map("".join)


def standing(known: Literals, text: str) -> set[str]:
    return known.found(set(text.split()), lowered(text))


@given(texts=st.lists(_TEXTS, max_size=6))
def test_the_literals_found_are_those_that_stand_in_a_text_whatever_was_met_before(texts: list[str]) -> None:
    known = Literals(LITERALS)
    for text in texts:
        assert standing(known, text) == {each for each in LITERALS if each in lowered(text)}


def test_words_that_were_forgotten_are_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(literals, "MOST", 3)
    known = Literals(LITERALS)
    for number in range(20):
        assert standing(known, f"word{number} key{number} monkey") == {"key"}


def test_a_credential_is_hidden_beside_words_that_were_none(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    monkeypatch.setattr(providers, "_plain", set())
    assert redact("the ghp_prefix_of_tokens is documented") == "the ghp_prefix_of_tokens is documented"
    assert redact(f"the ghp_prefix_of_tokens is in {secret}") == "the ghp_prefix_of_tokens is in [redacted:github]"
    assert redact(f"documented {secret}") == "documented [redacted:github]"
