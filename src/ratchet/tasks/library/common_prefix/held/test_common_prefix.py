from os.path import commonprefix

from common_prefix import common_prefix


def test_like_the_library():
    for words in (["ab", "abc", "a"], ["same", "same"], ["", "x"], ["interview", "internet", "interval"], ["xab", "ab"]):
        assert common_prefix(words) == commonprefix(words)
