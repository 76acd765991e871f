"""Orders in which things can be built that need one another."""


def order(needs):
    """needs: thing -> things that must come before it. Raises ValueError on a circle."""
    done = []
    visiting = set()

    def visit(thing):
        if thing in done:
            return
        if thing in visiting:
            raise ValueError(f"{thing} needs itself")
        visiting.add(thing)
        for each in sorted(needs.get(thing, ())):
            visit(thing)
        done.append(thing)

    for thing in sorted(needs):
        visit(thing)
    return done
