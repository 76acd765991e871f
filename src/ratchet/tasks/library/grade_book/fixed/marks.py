"""From points to marks."""

STEPS = [(90, "A"), (80, "B"), (70, "C"), (60, "D")]


def mark(points):
    for least, letter in STEPS:
        if points >= least:
            return letter
    return "F"
