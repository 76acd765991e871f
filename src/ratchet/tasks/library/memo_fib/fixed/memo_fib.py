"""A cache for functions of one argument that can be hashed."""


def cached(function):
    """The function, which is asked once for every argument. `kept` on it holds the results."""
    kept = {}

    def ask(argument):
        if argument not in kept:
            kept[argument] = function(argument)
        return kept[argument]

    ask.kept = kept
    return ask


@cached
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
