from word_counts import counts, most_common


def test_equal_by_name():
    assert most_common("pear fig apple", 2) == ["apple", "fig"]


def test_nothing():
    assert counts("1, 2 ... 3") == {}


def test_case():
    assert counts("It's it's IT'S") == {"it's": 3}
