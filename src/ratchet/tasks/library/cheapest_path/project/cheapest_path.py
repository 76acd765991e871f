"""Dijkstra's algorithm with a heap."""

import heapq


def cost(graph, start, goal):
    """Sum of the weights on the cheapest path; None where there is none. graph: node -> {neighbour: weight}."""
    best = {start: 0}
    heap = [(0, start)]
    while heap:
        so_far, node = heapq.heappop(heap)
        if node == goal:
            return so_far
        if so_far > best[node]:
            continue
        for neighbour, weight in graph.get(node, {}).items():
            new = so_far + weight
            if neighbour not in best:
                best[neighbour] = new
                heapq.heappush(heap, (new, neighbour))
    return None
