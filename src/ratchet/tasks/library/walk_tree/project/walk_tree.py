"""Trees as (value, [children])."""


def depth_first(tree):
    """Values, a parent before its children."""
    value, children = tree
    yield value
    for child in children:
        yield depth_first(child)


def height(tree):
    """Number of levels."""
    _, children = tree
    return 1 + max((height(child) for child in children), default=0)
