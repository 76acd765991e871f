import pytest

from chunks import chunks


def test_cuts_evenly():
    assert chunks([1, 2, 3, 4], 2) == [[1, 2], [3, 4]]


def test_the_last_may_be_short():
    assert chunks([1, 2, 3], 2) == [[1, 2], [3]]


def test_one_item():
    assert chunks(["x"], 3) == [["x"]]


def test_no_size():
    with pytest.raises(ValueError):
        chunks([1], 0)
