"""`python -m ratchet` is the command line."""

import os
import sys

# `-m` looks for modules in the working directory first, which may be a stranger's: then its `json.py` would run.
if not sys.flags.safe_path and sys.path[0] == os.path.abspath("") and not __file__.startswith(sys.path[0] + os.sep):  # noqa: PTH100
    del sys.path[0]

from ratchet.cli import main

main()
