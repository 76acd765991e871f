from bus import Bus
from once import once


def test_several_once():
    bus, seen = Bus(), []
    for name in "xyz":
        once(bus, "t", lambda payload, name=name: seen.append(name))
    assert bus.emit("t", 0) == 3
    assert bus.emit("t", 0) == 0
    assert seen == ["x", "y", "z"]
