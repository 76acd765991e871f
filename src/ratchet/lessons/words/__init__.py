"""A person's words: what they corrected, refused and asked for, as evidence with a quote."""
