from counters import adders, counter


def test_each_counts_for_itself():
    one, two = counter(), counter(100, -1)
    assert [one(), two(), one(), two(), two()] == [0, 100, 1, 99, 98]


def test_many_adders():
    assert [add(10) for add in adders(range(5))] == [10, 11, 12, 13, 14]
