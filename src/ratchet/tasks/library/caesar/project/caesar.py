"""A shift cipher for ASCII letters; everything else stays."""

import string


def shift(text, by):
    """Move every letter `by` places on, round the end of the alphabet."""
    moved = []
    for char in text:
        if char in string.ascii_lowercase:
            start = ord("a")
        elif char in string.ascii_uppercase:
            start = ord("A")
        else:
            moved.append(char)
            continue
        moved.append(chr((ord(char) - start + by) % 25 + start))
    return "".join(moved)
