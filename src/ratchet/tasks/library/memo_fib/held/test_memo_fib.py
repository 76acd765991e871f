from memo_fib import cached, fibonacci


def test_none_is_a_result():
    calls = []
    ask = cached(lambda x: calls.append(x))
    ask(1)
    ask(1)
    assert calls == [1]


def test_far():
    assert fibonacci(80) == 23416728348467685
    assert len(fibonacci.kept) >= 81
