from towers import moves


def test_one_disk():
    assert moves(1) == [("A", "C")]


def test_two_disks():
    assert moves(2) == [("A", "B"), ("A", "C"), ("B", "C")]


def test_none():
    assert moves(0) == []
