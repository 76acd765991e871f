"""Judges: what says whether the files of a workspace are what a task asked for."""
