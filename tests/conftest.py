"""Fixtures that every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real histories and logs beside the project; tests that need it are skipped loudly without it."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs the real histories in ../shared, which is absent here")
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Ratchet home that nothing outside the test can see."""
    folder = tmp_path / "home"
    monkeypatch.setenv("RATCHET_HOME", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the long campaigns too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--soak"):
        return
    skipped = pytest.mark.skip(reason="a long campaign; run `make soak`")
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(skipped)
