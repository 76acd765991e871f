"""Boards of three by three: "X", "O" and " "."""


def lines(board):
    rows = [list(row) for row in board]
    columns = [[row[i] for row in board] for i in range(3)]
    diagonals = [[board[i][i] for i in range(3)], [board[i][2 - i] for i in range(3)]]
    return rows + columns + diagonals


def winner(board):
    for line in lines(board):
        if line[0] != " " and len(set(line)) == 1:
            return line[0]
    return None


def is_draw(board):
    return winner(board) is None and all(cell != " " for row in board for cell in row)
