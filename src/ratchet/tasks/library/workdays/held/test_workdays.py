from datetime import date

from workdays import add_workdays, is_workday, workdays


def test_saturday_is_none():
    assert not is_workday(date(2024, 6, 1))
    assert not is_workday(date(2024, 6, 2))
    assert is_workday(date(2024, 6, 3))


def test_february_of_a_leap_year():
    assert workdays(date(2024, 2, 1), date(2024, 2, 29)) == 21


def test_two_weeks_on():
    assert add_workdays(date(2024, 3, 28), 10, {date(2024, 4, 1)}) == date(2024, 4, 12)
