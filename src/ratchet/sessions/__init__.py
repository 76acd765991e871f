"""Sessions: what agents did step by step, what it cost, and where it stands in their histories."""
