import random

from insertion_sort import insertion_sort


def test_many():
    draw = random.Random(4)
    for _ in range(40):
        items = [(draw.randrange(5), i) for i in range(draw.randrange(12))]
        assert insertion_sort(items, key=lambda pair: pair[0]) == sorted(items, key=lambda pair: pair[0])
        assert insertion_sort(items) == sorted(items)
