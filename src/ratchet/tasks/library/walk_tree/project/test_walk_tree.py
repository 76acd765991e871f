from walk_tree import depth_first, height

TREE = ("a", [("b", [("c", [])]), ("d", [])])


def test_parents_first():
    assert list(depth_first(TREE)) == ["a", "b", "c", "d"]


def test_a_leaf():
    assert list(depth_first(("x", []))) == ["x"]


def test_height():
    assert height(TREE) == 3
