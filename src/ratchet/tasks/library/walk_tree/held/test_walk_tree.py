from walk_tree import depth_first, height


def test_deep_and_wide():
    tree = (0, [(1, [(2, [(3, [])])]), (4, []), (5, [(6, [])])])
    assert list(depth_first(tree)) == list(range(7))
    assert height(tree) == 4


def test_a_leaf_has_one_level():
    assert height((9, [])) == 1
