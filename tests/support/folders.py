"""Folders that somebody made to be in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def deeply_nested(top: Path, name: str = "x") -> Iterator[int]:
    """Make folders within one another in `top`, deeper than Python recurses, and remove them again: yields how many. A
    test in the innermost one is called test_deep.py."""
    depth = sys.getrecursionlimit() + 100
    above = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=above)
        below = os.open(name, os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(os.open("test_deep.py", os.O_WRONLY | os.O_CREAT, dir_fd=above))
    os.close(above)
    try:
        yield depth
    finally:
        subprocess.run(["rm", "-rf", str(top / name)], check=True)  # pytest's own removal recurses
