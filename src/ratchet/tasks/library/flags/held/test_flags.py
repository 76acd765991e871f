from itertools import combinations

from flags import NAMES, pack, unpack, without


def test_there_and_back():
    for count in range(5):
        for names in combinations(NAMES, count):
            assert unpack(pack(names)) == list(names)


def test_without_what_is_not_there():
    assert without(pack(["read"]), "delete") == 1
