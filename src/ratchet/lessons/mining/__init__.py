"""Find in finished sessions what fixed what had failed."""
