"""A run becomes an outcome: in code, through hooks, out of histories (`sources`), by OTLP."""
