"""Fixtures that every test may use."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from support.postgres_server import Databases, PostgresServer, programs

ROOT = Path(__file__).resolve().parent.parent

# A property that holds slowly holds: a busy machine is no counter-example. A change is judged by the same examples each
# time; new ones are looked for in `make soak`, and what they find becomes an `@example`.
settings.register_profile("untimed", deadline=None, derandomize=True)
settings.register_profile("quick", settings.get_profile("untimed"), max_examples=25)  # for `make check`
settings.register_profile("searching", deadline=None, max_examples=2000)
settings.load_profile("untimed")

# Taken out of what tests start: to Ratchet they would be settings that it does not know.
GIVEN_POSTGRES = os.environ.pop("RATCHET_TEST_POSTGRES", "")
ON_POSTGRES = os.environ.pop("RATCHET_TEST_STORE", "") == "postgres"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real histories and logs beside the project; tests that need it are skipped loudly without it."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs the real histories in ../shared, which is absent here")
    return folder


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder of the test's own. Pytest's own fixture looks through those of all tests before for a free number."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    return tmp_path_factory.mktemp(f"{name}-{next(_FOLDERS)}", numbered=False)


_FOLDERS = count()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Ratchet home that nothing outside the test can see."""
    folder = tmp_path / "home"
    monkeypatch.setenv("RATCHET_HOME", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Databases]:
    """Databases of the server that RATCHET_TEST_POSTGRES names, else of one of its own; skipped loudly without any."""
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("needs the driver of Postgres: pip install 'ratchet-ai[postgres]'")
    if not GIVEN_POSTGRES and programs() is None:
        pytest.skip("needs a Postgres: set RATCHET_TEST_POSTGRES, or pip install pgserver")
    server = None if GIVEN_POSTGRES else PostgresServer()
    databases = Databases(server.url() if server else GIVEN_POSTGRES, kept=server is not None)
    yield databases
    databases.close()
    if server is not None:
        server.close()


if ON_POSTGRES:

    @pytest.fixture(autouse=True)
    def _on_postgres(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Every test has a database of its own, which all it starts finds by its address. A test about the SQLite
        file itself says so (`@pytest.mark.sqlite`)."""
        if request.node.get_closest_marker("sqlite"):
            pytest.skip("about the SQLite file")
        databases: Databases = request.getfixturevalue("postgres")
        url = databases.fresh()
        monkeypatch.setenv("RATCHET_DATABASE_URL", url)
        yield
        databases.give_back(url)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the long campaigns too")


def pytest_collection_finish() -> None:
    """Look for cycles of garbage seldom, and never among what was collected: it took a quarter of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--soak"):
        return
    skipped = pytest.mark.skip(reason="a long campaign; run `make soak`")
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(skipped)
