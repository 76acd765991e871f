"""`python -m ratchet` is the command line."""

import os
import sys

# `-m` looks for modules in the working directory first, which may be a stranger's: then its `json.py` would run.
try:
    _here = os.getcwd()  # noqa: PTH109
except FileNotFoundError:  # the folder was deleted: nothing lies in it
    _here = ""
if not sys.flags.safe_path and sys.path[0] == _here and not __file__.startswith(_here + os.sep):
    del sys.path[0]

from ratchet.cli import main

main()
