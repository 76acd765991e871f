from tic_tac_toe import is_draw, winner


def test_nobody():
    assert winner(["   ", "   ", "   "]) is None
    assert winner(["XOX", "OXO", "OXO"]) is None


def test_a_full_board_that_is_won_is_no_draw():
    assert not is_draw(["XXX", "OOX", "XOO"])
