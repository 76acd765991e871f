from datetime import date

from workdays import add_workdays, workdays


def test_a_full_week_has_five():
    assert workdays(date(2024, 1, 1), date(2024, 1, 7)) == 5


def test_holidays_are_left_out():
    assert workdays(date(2024, 1, 1), date(2024, 1, 5), {date(2024, 1, 1)}) == 4


def test_friday_and_one_is_monday():
    assert add_workdays(date(2024, 1, 5), 1) == date(2024, 1, 8)


def test_within_a_week():
    assert add_workdays(date(2024, 1, 1), 2) == date(2024, 1, 3)
