from traffic_light import Light


def test_asked_again_after_green():
    light = Light(1)
    seen = []
    for tick in range(6):
        if tick in (0, 3):
            light.press()
        seen.append(light.tick())
    assert seen == ["green", "red", "red", "green", "red", "red"]


def test_pressed_twice_is_once():
    light = Light(1)
    light.press()
    light.press()
    assert [light.tick() for _ in range(3)] == ["green", "red", "red"]
