from itertools import combinations

from knapsack_light import best_value


def test_against_all_choices():
    things = [(2, 3), (3, 4), (4, 8), (5, 8), (9, 10), (1, 1)]
    for room in range(0, 25):
        want = max(
            sum(v for _, v in c)
            for n in range(len(things) + 1)
            for c in combinations(things, n)
            if sum(w for w, _ in c) <= room
        )
        assert best_value(things, room) == want
