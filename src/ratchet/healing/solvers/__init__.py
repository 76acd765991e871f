"""Who changes the files so that a check passes."""
