"""Hashed vectors: the same everywhere, and near where features are shared."""

from __future__ import annotations

from array import array
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.config import Config, load
from ratchet.errors import UsageError
from ratchet.failures.features import features_in
from ratchet.failures.redaction.text import redact
from ratchet.store.redis.vectors import SIZE, vector_of

FEATURES = st.dictionaries(st.from_regex(r"[0-9a-f]{8}", fullmatch=True), st.floats(0.1, 12.0), max_size=60)


def numbers(vector: bytes | None) -> list[float]:
    assert vector is not None
    return list(array("f", vector))


def alike(one: str, other: str) -> float:
    """Cosine of the vectors of two texts."""
    left, right = (numbers(vector_of(dict.fromkeys(features_in(text), 1.0))) for text in (one, other))
    return sum(a * b for a, b in zip(left, right, strict=True))


@given(FEATURES)
def test_a_vector_has_length_one_or_is_none(weights: dict[str, float]) -> None:
    vector = vector_of(weights)
    if vector is None:
        return  # no features, or two that take each other away
    held = numbers(vector)
    assert len(held) == SIZE
    assert isclose(sum(each * each for each in held), 1.0, rel_tol=1e-4)


def test_no_feature_is_no_vector() -> None:
    assert vector_of({}) is None
    assert vector_of({"masked": 1.0}) is None, "a mark is no feature"


def test_the_order_of_features_says_nothing() -> None:
    weights = dict.fromkeys(features_in("cannot open shared object file: libfoo"), 1.0)
    assert vector_of(weights) == vector_of(dict(reversed(weights.items())))


def test_texts_that_share_words_are_nearer_than_texts_that_do_not() -> None:
    asked = "connection to the build cache refused while the artifact was fetched"
    near = "connection to the build cache refused while the manifest was fetched"
    far = "assertion failed: seventeen rows were expected in the ledger, none came"
    assert alike(asked, near) > 0.5 > alike(asked, far)


def test_an_address_that_is_none_of_a_redis_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="redis://"):
        load(environ={"RATCHET_REDIS_URL": "localhost:6379"})


def test_the_password_of_the_address_is_in_no_text_of_the_settings() -> None:
    config = load(environ={"RATCHET_REDIS_URL": "redis://me:hunter2hunter2@localhost/0"})
    assert "hunter2" not in repr(config)
    assert "hunter2" not in redact(config.redis_url)
    assert Config(home=config.home).redis_url == ""
