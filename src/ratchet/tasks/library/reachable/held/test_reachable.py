from reachable import components, reachable


def test_cycles_end():
    ring = {i: [(i + 1) % 7] for i in range(7)}
    assert reachable(ring, 3) == set(range(7))


def test_direction_counts():
    assert reachable({1: [2], 2: []}, 2) == {2}


def test_three_parts():
    graph = {1: [2], 2: [1], 3: [4, 5], 4: [3], 5: [3], 6: []}
    assert components(graph) == [{1, 2}, {3, 4, 5}, {6}]
