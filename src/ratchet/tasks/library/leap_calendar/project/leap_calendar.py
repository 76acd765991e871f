"""Days of months in the Gregorian calendar."""

LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 != 0)


def days_in_month(year, month):
    if month == 2 and is_leap(year):
        return 29
    return LENGTHS[month - 1]


def day_of_year(year, month, day):
    """1 for the first of January."""
    return sum(days_in_month(year, each) for each in range(1, month)) + day
