"""Other projects of the kind: their features, read from their files with the line of each; nothing of theirs is run."""
