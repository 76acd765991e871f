"""Walks over graphs given as node -> list of neighbours."""


def reachable(graph, start):
    """All nodes that can be reached, the start among them."""
    found = {start}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        for neighbour in graph.get(node, []):
            if neighbour not in found:
                found.add(node)
                waiting.append(neighbour)
    return found


def components(graph):
    """Sets of nodes that hang together, where every edge is told from both ends."""
    left = set(graph)
    parts = []
    while left:
        part = reachable(graph, min(left))
        parts.append(part)
        left -= part
    return parts
