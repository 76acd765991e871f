from tic_tac_toe import is_draw, winner


def test_row():
    assert winner(["XXX", "OO ", "   "]) == "X"


def test_column():
    assert winner(["OX ", "OX ", "O X"]) == "O"


def test_both_diagonals():
    assert winner(["X  ", " X ", "  X"]) == "X"
    assert winner(["  O", " O ", "O  "]) == "O"


def test_draw():
    assert is_draw(["XOX", "XOO", "OXX"])
    assert not is_draw(["XO ", "   ", "   "])


def test_a_full_board_with_a_winner_is_no_draw():
    assert not is_draw(["XXX", "OOX", "XOO"])


def test_nobody_yet():
    assert winner(["   ", " O ", "   "]) is None
    assert winner(["XOX", "OOX", "XXO"]) is None
