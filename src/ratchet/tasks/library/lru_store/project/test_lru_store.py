from lru_store import LruStore


def test_get_again():
    store = LruStore(2)
    store.put("a", 5)
    assert [store.get("a"), store.get("a")] == [5, 5]


def test_missing():
    assert LruStore(1).get("x", 9) == 9


def test_no_more_than_its_size():
    store = LruStore(2)
    for key in "abc":
        store.put(key, key)
    assert list(store.entries) == ["b", "c"]


def test_what_was_used_stays():
    store = LruStore(2)
    store.put("a", 1)
    store.put("b", 2)
    store.get("a")
    store.put("c", 3)
    assert sorted(store.entries) == ["a", "c"]
