from wrap_words import wrap

TEXT = "it was the best of times it was the worst of times it was the age of wisdom"


def test_no_line_is_too_long():
    for width in range(6, 30):
        lines = wrap(TEXT, width)
        assert all(len(line) <= width for line in lines)
        assert " ".join(lines) == TEXT


def test_lines_are_full():
    for width in range(6, 30):
        lines = wrap(TEXT, width)
        for line, following in zip(lines, lines[1:]):
            assert len(line) + 1 + len(following.split()[0]) > width
