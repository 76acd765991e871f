"""Amounts of money as text."""


def money(cents, currency="EUR"):
    """1234567 cents are "12,345.67 EUR"; below zero a minus comes first."""
    sign = "-" if cents < 0 else ""
    whole, part = divmod(abs(cents), 100)
    return f"{sign}{whole:,}.{part:02d} {currency}"


def total(amounts, currency="EUR"):
    return money(sum(amounts), currency)
