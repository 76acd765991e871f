"""Headings: all words but the small ones start with a capital, the first one always."""

SMALL = {"a", "an", "and", "of", "or", "the", "in", "on", "to"}


def heading(text):
    words = text.lower().split()
    done = []
    for place, word in enumerate(words):
        if word in SMALL and place > 0:
            done.append(word)
        else:
            done.append(word.capitalize())
    return " ".join(done)
