from run_lengths import decode, encode


def test_counts_each_run():
    assert encode("aaab") == [("a", 3), ("b", 1)]


def test_of_nothing_there_is_no_run():
    assert encode("") == []


def test_single_characters():
    assert encode("xyx") == [("x", 1), ("y", 1), ("x", 1)]


def test_decode_repeats():
    assert decode([("z", 2), ("q", 1)]) == "zzq"
