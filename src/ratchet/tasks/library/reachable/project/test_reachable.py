from reachable import components, reachable


def test_follows_edges():
    assert reachable({"a": ["b"], "b": ["c"], "c": [], "d": ["a"]}, "a") == {"a", "b", "c"}


def test_a_node_alone():
    assert reachable({}, "x") == {"x"}


def test_parts():
    assert components({1: [2], 2: [1], 3: []}) == [{1, 2}, {3}]
