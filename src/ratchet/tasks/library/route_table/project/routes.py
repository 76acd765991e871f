"""A table of routes."""

from pattern import match


class Routes:
    def __init__(self):
        self._routes = []

    def add(self, pattern, function):
        self._routes.append((pattern, function))

    def call(self, path):
        """The first route that fits. Raises LookupError."""
        for pattern, function in self._routes:
            values = match(pattern, path)
            if values is not None:
                return function(**values)
        raise LookupError(path)
