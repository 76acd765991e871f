"""Read a grid from the outside to the inside."""


def spiral(grid):
    rows = [list(row) for row in grid]
    seen = []
    while rows:
        seen.extend(rows.pop(0))
        rows = [list(column) for column in zip(*rows)]
        rows.reverse()
    return seen
