"""Change a live agent, and undo what hurts: settings, trials, targets, notifiers."""
