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
