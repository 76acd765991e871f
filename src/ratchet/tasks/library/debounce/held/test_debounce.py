from debounce import debounced


def test_counts_from_the_last_that_went_through():
    times = iter([0.0, 0.9, 1.8, 1.9, 2.9])
    call = debounced(lambda x: x, 1.0, lambda: next(times))
    assert [call(i) for i in range(5)] == [0, None, 2, None, 4]


def test_exactly_in_time():
    times = iter([5.0, 6.0])
    call = debounced(lambda: 1, 1.0, lambda: next(times))
    assert [call(), call()] == [1, 1]
