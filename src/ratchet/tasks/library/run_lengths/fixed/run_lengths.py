"""Run-length coding of text: "aaab" is [("a", 3), ("b", 1)]."""


def encode(text):
    """Pairs of character and count, in order."""
    runs = []
    for char in text:
        if runs and runs[-1][0] == char:
            runs[-1] = (char, runs[-1][1] + 1)
        else:
            runs.append((char, 1))
    return runs


def decode(runs):
    """The text of such pairs."""
    return "".join(char * count for char, count in runs)
