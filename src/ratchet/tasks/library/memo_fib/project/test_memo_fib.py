from memo_fib import cached, fibonacci


def test_asks_once():
    calls = []

    @cached
    def double(x):
        calls.append(x)
        return 2 * x

    assert [double(2), double(2), double(3)] == [4, 4, 6]
    assert calls == [2, 3]


def test_fibonacci():
    assert fibonacci(30) == 832040
