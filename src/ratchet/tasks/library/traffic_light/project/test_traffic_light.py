from traffic_light import Light


def test_red_until_asked():
    light = Light()
    assert [light.tick(), light.tick()] == ["red", "red"]


def test_green_for_a_while():
    light = Light(2)
    light.press()
    assert [light.tick() for _ in range(4)] == ["green", "green", "red", "red"]


def test_pressed_while_green():
    light = Light(1)
    light.press()
    light.tick()
    light.press()
    assert [light.tick(), light.tick()] == ["red", "red"]
