"""A plain table: columns as wide as their widest cell, numbers to the right."""


def table(rows):
    """Lines of text; every row has the same number of cells."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(rows[0]))]
    lines = []
    for row, text in zip(rows, texts):
        cells = []
        for cell, shown, width in zip(row, text, widths):
            if isinstance(cell, (int, float)):
                cells.append(shown.rjust(width))
            else:
                cells.append(shown.ljust(width))
        lines.append("  ".join(cells).rstrip())
    return lines
