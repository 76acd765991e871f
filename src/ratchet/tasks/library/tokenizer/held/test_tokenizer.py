import shlex

import pytest

from tokenizer import tokens


@pytest.mark.parametrize("line", ["", "a", "a b", "  a  b  ", "'x y' z", 'a"b c"d', r"a\ b c", "'' x", "ab 'c'"])
def test_like_the_shell(line):
    assert tokens(line) == shlex.split(line)
