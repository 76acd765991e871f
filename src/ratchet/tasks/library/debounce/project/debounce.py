"""Let a function through only if enough time has passed since it last was."""


def debounced(function, wait, clock):
    """`clock` returns seconds. A call that comes too soon returns None."""
    last = None

    def call(*arguments):
        nonlocal last
        now = clock()
        if last is not None and now - last < wait:
            return None
        last = wait
        return function(*arguments)

    return call
