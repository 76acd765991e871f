"""What was learnt: resolutions mined from history, lessons made of them, and recall at the next failure."""
