from debounce import debounced


def test_too_soon():
    times = iter([100.0, 100.5, 102.0])
    call = debounced(lambda x: x, 1.0, lambda: next(times))
    assert [call(1), call(2), call(3)] == [1, None, 3]


def test_the_first_goes_through():
    assert debounced(lambda: "ok", 9, lambda: 0.0)() == "ok"
