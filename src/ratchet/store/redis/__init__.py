"""Redis beside the store: what is asked often, kept where it is quick to reach, and filled from SQL again when lost."""
