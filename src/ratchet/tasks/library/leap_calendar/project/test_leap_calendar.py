from leap_calendar import day_of_year, days_in_month


def test_february():
    assert days_in_month(2023, 2) == 28
    assert days_in_month(2024, 2) == 29


def test_centuries():
    assert days_in_month(1900, 2) == 28
    assert days_in_month(2000, 2) == 29


def test_the_last_day():
    assert day_of_year(2023, 12, 31) == 365
