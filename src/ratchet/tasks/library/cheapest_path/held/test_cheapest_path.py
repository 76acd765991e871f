from cheapest_path import cost


def test_against_all_pairs():
    graph = {0: {1: 4, 2: 1}, 1: {3: 1}, 2: {1: 2, 3: 5}, 3: {4: 3}, 4: {0: 8}}
    far = {(i, j): 0 if i == j else graph[i].get(j, 99) for i in graph for j in graph}
    for k in graph:
        for i in graph:
            for j in graph:
                far[i, j] = min(far[i, j], far[i, k] + far[k, j])
    for (i, j), want in far.items():
        assert cost(graph, i, j) == want
