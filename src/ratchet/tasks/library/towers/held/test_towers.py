import pytest

from towers import moves


@pytest.mark.parametrize("disks", range(1, 8))
def test_every_move_is_allowed(disks):
    pegs = {"A": list(range(disks, 0, -1)), "B": [], "C": []}
    steps = moves(disks)
    for source, goal in steps:
        disk = pegs[source].pop()
        assert not pegs[goal] or pegs[goal][-1] > disk
        pegs[goal].append(disk)
    assert pegs["C"] == list(range(disks, 0, -1))
    assert len(steps) == 2**disks - 1
