from run_lengths import decode, encode


def test_there_and_back():
    for text in ("", "a", "aa", "abba", "mississippi", "  x  "):
        assert decode(encode(text)) == text


def test_a_long_run():
    assert encode("k" * 40) == [("k", 40)]
