import pytest

from money_text import money


@pytest.mark.parametrize(
    ("cents", "text"),
    [(0, "0.00 EUR"), (-1, "-0.01 EUR"), (-199, "-1.99 EUR"), (100_000_000, "1,000,000.00 EUR"), (7, "0.07 EUR")],
)
def test_many(cents, text):
    assert money(cents) == text
