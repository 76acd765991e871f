from matrix_turn import multiply, transpose, turn_right


def test_transpose():
    assert transpose([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]


def test_turn():
    assert turn_right([[1, 2], [3, 4]]) == [[3, 1], [4, 2]]


def test_multiply():
    assert multiply([[1, 2], [3, 4]], [[5, 6], [7, 8]]) == [[19, 22], [43, 50]]
