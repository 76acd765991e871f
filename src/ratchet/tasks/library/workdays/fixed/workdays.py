"""Working days: Monday to Friday, without holidays."""

from datetime import date, timedelta


def is_workday(day, holidays=()):
    return day.weekday() < 5 and day not in holidays


def workdays(start, end, holidays=()):
    """How many working days there are from start to end, both included."""
    count = 0
    day = start
    while day <= end:
        if is_workday(day, holidays):
            count += 1
        day += timedelta(days=1)
    return count


def add_workdays(start, days, holidays=()):
    """The day that is so many working days later."""
    day = start
    while days > 0:
        day += timedelta(days=1)
        if is_workday(day, holidays):
            days -= 1
    return day
