from matrix_turn import multiply, turn_right


def test_four_turns_are_none():
    grid = [[1, 2, 3], [4, 5, 6]]
    turned = grid
    for _ in range(4):
        turned = turn_right(turned)
    assert turned == grid
    assert turn_right(grid) == [[4, 1], [5, 2], [6, 3]]


def test_wide_by_tall():
    assert multiply([[1, 2, 3]], [[1], [2], [3]]) == [[14]]
    assert multiply([[1], [2]], [[3, 4]]) == [[3, 4], [6, 8]]
