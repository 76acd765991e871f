from group_by import group_by


def test_by_parity():
    assert group_by(range(6), lambda n: n % 2) == {0: [0, 2, 4], 1: [1, 3, 5]}


def test_by_first_letter():
    assert group_by(["ant", "bee", "ape"], lambda w: w[0]) == {"a": ["ant", "ape"], "b": ["bee"]}
