from flatten_deep import flatten


def test_empty_ones_vanish():
    assert flatten([[], [[]], ()]) == []


def test_very_deep():
    nested = [0]
    for i in range(1, 60):
        nested = [nested, i]
    assert flatten(nested) == list(range(60))
