from gradebook import best, report


def test_report():
    assert report({"Bo": [100, 80], "Al": [65, 70]}) == {"Al": "D", "Bo": "A"}


def test_without_points():
    assert report({"Cy": []}) == {"Cy": "F"}


def test_best():
    assert best({"a": [1], "b": [2]}) == "b"
