"""Trials: a change runs beside what it would replace, and is kept only when proven better."""
