"""Repair by one small edit: templates, localisation, order, and the search that runs inside a sandbox.

This package stands by itself (standard library and its own modules only), since it is loaded by path into whatever
interpreter the project uses, inside the sandbox. `ratchet.healing.solvers.repair` is the side that the loop sees.
"""
