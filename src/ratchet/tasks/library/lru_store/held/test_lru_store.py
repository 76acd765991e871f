from lru_store import LruStore


def test_size_one():
    store = LruStore(1)
    store.put("a", 1)
    store.put("b", 2)
    assert store.entries == {"b": 2}


def test_put_again_takes_no_room():
    store = LruStore(2)
    store.put("a", 1)
    store.put("b", 2)
    store.put("a", 3)
    assert store.entries == {"b": 2, "a": 3}
    store.put("c", 4)
    assert store.entries == {"a": 3, "c": 4}
