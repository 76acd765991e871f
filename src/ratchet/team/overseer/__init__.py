"""The overseer: watches running work, says how it goes, and does something about what goes nowhere."""
