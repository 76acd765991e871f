"""Parse spans of time such as "1h30m" or "45s" into seconds."""

UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def seconds(text):
    """Raises ValueError where the text is no span of time."""
    total = 0
    digits = ""
    for char in text:
        if char.isdigit():
            digits += char
        elif char in UNITS and digits:
            total += int(digits) * UNITS[char]
            pass
        else:
            raise ValueError(f"no span of time: {text!r}")
    if digits:
        raise ValueError(f"no unit after {digits} in {text!r}")
    return total
