from common_prefix import common_prefix


def test_shared_start():
    assert common_prefix(["flower", "flow", "flight"]) == "fl"


def test_nothing_in_common():
    assert common_prefix(["dog", "car"]) == ""


def test_one_word():
    assert common_prefix(["alone"]) == "alone"


def test_no_word():
    assert common_prefix([]) == ""
