from marks import mark


def test_each_step():
    assert [mark(p) for p in (100, 90, 89, 80, 79, 70, 69, 60, 59, 0)] == list("AABBCCDDFF")
