"""Words of a line; quotes keep spaces together, a backslash keeps one character."""


def tokens(line):
    found = []
    word = None
    quote = ""
    escaped = False
    for char in line:
        if escaped:
            word = (word or "") + char
            escaped = False
        elif char == "\\":
            escaped = True
        elif quote:
            if char == quote:
                quote = ""
            else:
                word += char
        elif char in "'\"":
            quote = char
            word = word or ""
        elif char.isspace():
            if word is not None:
                found.append(word)
                word = None
        else:
            word = (word or "") + char
    if word is not None:
        found.append(word)
    return found
