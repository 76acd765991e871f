"""One list of all that nested lists and tuples hold."""


def flatten(items):
    flat = []
    for item in items:
        if isinstance(item, (list, tuple)):
            flat.extend(flatten(item))
        else:
            flat.append(item)
    return flat
