"""Evaluates expressions in postfix form."""

from operators import OPERATORS


def evaluate(text):
    """Raises ValueError where operands are missing or left over."""
    stack = []
    for word in text.split():
        if word in OPERATORS:
            if len(stack) < 2:
                raise ValueError(f"{word} needs two numbers")
            right, left = stack.pop(), stack.pop()
            stack.append(OPERATORS[word](left, right))
        else:
            stack.append(float(word))
    if len(stack) != 1:
        raise ValueError("numbers are left over")
    return stack[0]
