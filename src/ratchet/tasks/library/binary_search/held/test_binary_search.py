from bisect import bisect_left

from binary_search import contains, first_at_least


def test_like_bisect():
    items = [0, 2, 2, 2, 5, 7, 7, 9]
    for wanted in range(-1, 11):
        assert first_at_least(items, wanted) == bisect_left(items, wanted)
        assert contains(items, wanted) == (wanted in items)
