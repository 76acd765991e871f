"""What a log says, by day and level."""

from logline import parse


def tally(lines):
    """(day, level) -> how many."""
    found = {}
    for line in lines:
        entry = parse(line)
        if entry is not None:
            key = entry[:2]
            found[key] = found.get(key, 0) + 1
    return found


def worst_day(lines):
    """The day with the most errors; None without any."""
    errors = {day: count for (day, level), count in tally(lines).items() if level == "ERROR"}
    return max(errors, key=errors.get) if errors else None
