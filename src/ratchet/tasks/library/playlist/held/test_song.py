from song import Song


def test_shown():
    assert Song("x", 0).shown == "x (0:00)"
    assert Song("x", 59).shown == "x (0:59)"
    assert Song("x", 601).shown == "x (10:01)"
