from itertools import combinations

from subset_sums import subsets


def test_against_all_combinations():
    numbers = [3, 1, 4, 1, 5, 9]
    for target in range(24):
        want = [list(c) for n in range(7) for c in combinations(numbers, n) if sum(c) == target]
        assert sorted(subsets(numbers, target)) == sorted(want)
