"""`pytest --ratchet`: failing tests are recorded as outcomes, and what is known about them stands under the traceback.

Pytest loads this module in every run: without the flag it imports nothing and does nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ratchet")
    group.addoption(
        "--ratchet", action="store_true", help="record failing tests, and print what is known to fix them (Ratchet)"
    )
    group.addoption("--ratchet-home", metavar="FOLDER", default=None, help="where Ratchet keeps what it knows")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--ratchet"):
        from ratchet.integrations.pytest_recording import Recording

        config.pluginmanager.register(Recording(config), "ratchet-recording")
