import random

from merge_lists import merge, merge_sort


def test_all_sizes():
    draw = random.Random(1)
    for _ in range(60):
        left = sorted(draw.choices(range(20), k=draw.randrange(8)))
        right = sorted(draw.choices(range(20), k=draw.randrange(8)))
        assert merge(left, right) == sorted(left + right)
        both = left[::-1] + right
        assert merge_sort(both) == sorted(both)
