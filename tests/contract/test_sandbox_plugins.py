"""A sandbox that another distribution brings is found, listed first, and used once it holds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ratchet.errors import Refused
from ratchet.sandbox.choice import Sandboxes, proves

MODULE = """
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.plain import Plain

class Tight(Bubblewrap):
    name = "tight"

class Open(Plain):
    name = "open"
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Registers sandboxes as an installed distribution does."""

    def installed(**points: str) -> None:
        site = tmp_path / "site"
        folder = site / "backend-1.0.dist-info"
        folder.mkdir(parents=True)
        (site / "backend_of_a_stranger.py").write_text(MODULE)
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: backend\nVersion: 1.0\n")
        lines = "".join(f"{name} = backend_of_a_stranger:{value}\n" for name, value in points.items())
        (folder / "entry_points.txt").write_text(f"[ratchet.sandboxes]\n{lines}")
        monkeypatch.syspath_prepend(str(site))

    yield installed
    sys.modules.pop("backend_of_a_stranger", None)


def test_a_plugin_that_holds_is_listed_first_and_used(install: Callable[..., None], tmp_path: Path) -> None:
    try:
        Sandboxes(tmp_path).chosen()
    except Refused as error:
        pytest.skip(f"no sandbox holds on this machine: {error}")
    install(tight="Tight")
    found = Sandboxes(tmp_path).probe(quick=True)
    assert (found[0].name, found[0].verified) == ("tight", False)
    if not found[0].works:
        pytest.skip(f"bubblewrap, on which this plugin stands, does not work here: {found[0].note}")
    assert Sandboxes(tmp_path).chosen().name == "tight"


def test_a_plugin_that_does_not_hold_is_not_used(install: Callable[..., None], tmp_path: Path) -> None:
    install(open="Open")
    found = Sandboxes(tmp_path).probe(quick=True)
    assert (found[0].name, found[0].works) == ("open", True)
    chosen = next((each.name for each in found if proves(each)), "")
    assert chosen != "open"


def test_a_plugin_that_cannot_be_loaded_is_told_with_its_reason(install: Callable[..., None], tmp_path: Path) -> None:
    install(gone="Missing")
    first = Sandboxes(tmp_path).probe(quick=True)[0]
    assert (first.name, first.works) == ("gone", False)
    assert "cannot be loaded" in first.note
