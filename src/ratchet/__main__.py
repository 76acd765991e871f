"""`python -m ratchet` is the command line."""

from ratchet.cli import main

main()
