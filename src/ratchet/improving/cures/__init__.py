"""A lesson that held becomes a permanent change: proposed as a diff, on trial like every change, undone when it does
not help."""
