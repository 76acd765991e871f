from table_text import table


def test_mixed():
    assert table([["name", 1.5], ["x", 10], ["long name", 7]]) == [
        "name       1.5",
        "x           10",
        "long name    7",
    ]


def test_one_cell():
    assert table([[3], [44]]) == [" 3", "44"]
