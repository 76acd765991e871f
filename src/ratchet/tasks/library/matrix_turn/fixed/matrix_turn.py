"""Grids as lists of rows."""


def transpose(grid):
    return [list(column) for column in zip(*grid)]


def turn_right(grid):
    """By a quarter, clockwise."""
    return [row[::-1] for row in transpose(grid)]


def multiply(left, right):
    """The product of two matrices."""
    return [[sum(a * b for a, b in zip(row, column)) for column in transpose(right)] for row in left]
