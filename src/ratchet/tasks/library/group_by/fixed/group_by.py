"""Grouping and turning dictionaries."""


def group_by(items, key):
    """Key -> items that have it, in order."""
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def inverted(mapping):
    """Value -> keys that lead to it."""
    turned = {}
    for name, value in mapping.items():
        turned.setdefault(value, []).append(name)
    return turned
