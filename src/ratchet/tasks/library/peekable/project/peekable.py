"""An iterator whose next item can be looked at without taking it."""

_NOTHING = object()


class Peekable:
    def __init__(self, items):
        self._items = iter(items)
        self._held = _NOTHING

    def __iter__(self):
        return self

    def __next__(self):
        if self._held is not _NOTHING:
            item = self._held
            self._held = item
            return item
        return next(self._items)

    def peek(self, default=None):
        if self._held is _NOTHING:
            self._held = next(self._items, default)
        return default if self._held is _NOTHING else self._held
