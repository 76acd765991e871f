"""How many metres a unit has."""

METRES = {"mm": 0.001, "cm": 0.01, "m": 1.0, "km": 1000.0}
