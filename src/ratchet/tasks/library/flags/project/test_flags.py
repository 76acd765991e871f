from flags import pack, unpack, without


def test_pack():
    assert pack(["read", "execute"]) == 5


def test_unpack():
    assert unpack(5) == ["read", "execute"]


def test_none():
    assert unpack(0) == []


def test_without():
    assert without(7, "write") == 5
