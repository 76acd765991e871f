from bus import Bus
from once import once


def test_all_are_told():
    bus, seen = Bus(), []
    bus.on("a", seen.append)
    assert bus.emit("a", 1) == 1
    assert bus.emit("b", 2) == 0
    assert seen == [1]


def test_once_leaves_the_others_in_peace():
    bus, seen = Bus(), []
    once(bus, "a", lambda payload: seen.append(("once", payload)))
    bus.on("a", lambda payload: seen.append(("always", payload)))
    bus.emit("a", 1)
    bus.emit("a", 2)
    assert seen == [("once", 1), ("always", 1), ("always", 2)]
