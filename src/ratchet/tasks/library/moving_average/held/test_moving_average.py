from moving_average import averages


def test_against_slices():
    values = [5, 3, 8, 1, 9, 2, 7]
    for size in range(1, 8):
        want = [sum(values[i : i + size]) / size for i in range(len(values) - size + 1)]
        assert list(averages(values, size)) == want


def test_is_lazy():
    def endless():
        while True:
            yield 2

    assert next(averages(endless(), 3)) == 2
