import normalise


def test_number():
    assert normalise.number(" +1 (555) abc 7 ") == "+15557"
    assert normalise.number("12a") == "12"


def test_name():
    assert normalise.name("  grace   HOPPER ") == "Grace Hopper"
