from cheapest_path import cost

GRAPH = {"a": {"b": 7, "c": 2}, "b": {"d": 1}, "c": {"b": 3, "d": 9}, "d": {}}


def test_a_detour_may_be_cheaper():
    assert cost(GRAPH, "a", "b") == 5


def test_over_several():
    assert cost(GRAPH, "a", "d") == 6


def test_no_way():
    assert cost(GRAPH, "d", "a") is None


def test_nowhere():
    assert cost(GRAPH, "a", "a") == 0
