"""A small set of names, kept as bits."""

NAMES = ["read", "write", "execute", "delete"]


def pack(names):
    bits = 0
    for name in names:
        bits |= 1 << NAMES.index(name)
    return bits


def unpack(bits):
    return [name for place, name in enumerate(NAMES) if bits >> place]


def without(bits, name):
    return bits & ~(1 << NAMES.index(name))
