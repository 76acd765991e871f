"""What the outcomes have in common: patterns, loops, correlations, health. Works in the insert's own transaction."""
