from chunks import chunks


def test_nothing_is_lost():
    for length in range(12):
        for size in range(1, 6):
            items = list(range(length))
            assert sum(chunks(items, size), []) == items
            assert all(len(piece) <= size for piece in chunks(items, size))


def test_strings_are_cut_as_well():
    assert chunks("abcde", 2) == ["ab", "cd", "e"]
