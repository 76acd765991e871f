from calendar import isleap
from datetime import date

from leap_calendar import day_of_year, is_leap


def test_leap_years():
    for year in range(1600, 2401):
        assert is_leap(year) == isleap(year), year


def test_days_of_the_year():
    for day in (date(2024, 3, 1), date(2023, 3, 1), date(2100, 12, 31), date(2000, 2, 29)):
        assert day_of_year(day.year, day.month, day.day) == day.timetuple().tm_yday
