"""The evolve loop: propose, try, measure in pairs, keep or revert."""
