from insertion_sort import insertion_sort


def test_sorts():
    assert insertion_sort([3, 1, 2]) == [1, 2, 3]


def test_keeps_the_order_of_equals():
    assert insertion_sort(["bb", "a", "cc", "d"], key=len) == ["a", "d", "bb", "cc"]


def test_leaves_the_original():
    items = [2, 1]
    insertion_sort(items)
    assert items == [2, 1]
