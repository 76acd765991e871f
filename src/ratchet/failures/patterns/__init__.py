"""Group failures that have one cause, in the transaction of their insert: patterns, loops, correlations, health."""
