"""Says a proven lesson before the step that it is about."""
