from spiral import spiral


def test_square():
    assert spiral([[1, 2, 3], [8, 9, 4], [7, 6, 5]]) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_row():
    assert spiral([[1, 2]]) == [1, 2]


def test_column():
    assert spiral([[1], [2]]) == [1, 2]
