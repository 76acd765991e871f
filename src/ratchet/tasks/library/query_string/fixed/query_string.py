"""Take a query string apart and put it together."""


def parse(text):
    """Name -> list of values, in order."""
    found = {}
    for part in text.lstrip("?").split("&"):
        if not part:
            continue
        name, _, value = part.partition("=")
        found.setdefault(name, []).append(value)
    return found


def build(values):
    """The query string of name -> list of values."""
    return "&".join(f"{name}={value}" for name, each in values.items() for value in each)
