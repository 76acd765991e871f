from logreport import tally, worst_day

LINES = ["2024-01-05 ERROR disk full", "2024-01-05 INFO all is well", "nothing", "2024-01-06 ERROR a", "2024-01-06 ERROR b"]


def test_tally():
    assert tally(LINES) == {
        ("2024-01-05", "ERROR"): 1,
        ("2024-01-05", "INFO"): 1,
        ("2024-01-06", "ERROR"): 2,
    }


def test_worst():
    assert worst_day(LINES) == "2024-01-06"


def test_no_errors():
    assert worst_day([]) is None
