"""Lines such as "2024-01-05 ERROR disk full"."""


def parse(line):
    """(day, level, message), or None for a line of another form."""
    parts = line.strip().split(" ", 2)
    if len(parts) != 3:
        return None
    day, level, message = parts
    return day, level, message
