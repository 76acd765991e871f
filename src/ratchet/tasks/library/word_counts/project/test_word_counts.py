from word_counts import counts, most_common


def test_counts():
    assert counts("The cat. The dog!") == {"the": 2, "cat": 1, "dog": 1}


def test_apostrophes_belong():
    assert counts("don't") == {"don't": 1}


def test_most():
    assert most_common("b a b c a b", 2) == ["b", "a"]
