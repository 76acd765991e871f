"""Skills: lessons that are more than a line, as folders that coding agents read."""
