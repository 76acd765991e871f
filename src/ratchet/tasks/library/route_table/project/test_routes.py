import pytest

from routes import Routes


def table():
    routes = Routes()
    routes.add("/", lambda: "home")
    routes.add("/user/<name>", lambda name: f"hello {name}")
    routes.add("/user/<name>/post/<post>", lambda name, post: f"{post} by {name}")
    return routes


def test_home():
    assert table().call("/") == "home"


def test_placeholder():
    assert table().call("/user/ada") == "hello ada"


def test_two():
    assert table().call("/user/ada/post/7") == "7 by ada"


def test_unknown():
    with pytest.raises(LookupError):
        table().call("/user")
