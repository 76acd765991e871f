"""Patterns such as "/user/<name>"."""


def match(pattern, path):
    """Name -> text of the placeholders, or None where the path does not fit."""
    wanted, given = pattern.strip("/").split("/"), path.strip("/").split("/")
    if len(wanted) != len(given):
        return None
    found = {}
    for part, text in zip(wanted, given):
        if part.startswith("<") and part.endswith(">"):
            found[part[1:-1]] = text
        elif part != text:
            return None
    return found
