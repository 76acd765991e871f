from counters import adders, counter


def test_counts():
    count = counter()
    assert [count(), count(), count()] == [0, 1, 2]


def test_steps():
    count = counter(10, 5)
    assert [count(), count()] == [10, 15]


def test_adders():
    assert [add(1) for add in adders([1, 2])] == [2, 3]
