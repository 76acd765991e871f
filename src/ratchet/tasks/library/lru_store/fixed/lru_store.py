"""A store of limited size; the entry that was not used for longest makes room."""


class LruStore:
    def __init__(self, size):
        self.size = size
        self.entries = {}

    def get(self, key, default=None):
        if key not in self.entries:
            return default
        value = self.entries.pop(key)
        self.entries[key] = value
        return value

    def put(self, key, value):
        self.entries.pop(key, None)
        if len(self.entries) >= self.size:
            oldest = next(iter(self.entries))
            del self.entries[oldest]
        self.entries[key] = value
