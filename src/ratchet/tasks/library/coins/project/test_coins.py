from coins import fewest, ways


def test_ways():
    assert ways(5, [1, 2, 5]) == 4


def test_nothing_can_be_paid_in_one_way():
    assert ways(0, [3]) == 1


def test_no_way():
    assert ways(3, [2]) == 0


def test_fewest():
    assert fewest(11, [1, 2, 5]) == 3
    assert fewest(3, [2]) is None
