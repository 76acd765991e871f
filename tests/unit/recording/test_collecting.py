"""Python's collector rests while a batch is moved, and works again afterwards, whoever ends last."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest

from ratchet.recording.collecting import held_back


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_the_last_of_several_switches_it_on_again() -> None:
    first, second = held_back(), held_back()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_one_that_was_off_stays_off() -> None:
    gc.disable()
    with held_back():
        pass
    assert not gc.isenabled()


def test_an_error_switches_it_on_again() -> None:
    with pytest.raises(KeyError), held_back():
        raise KeyError
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_process_forked_meanwhile_collects() -> None:
    with held_back():
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not gc.isenabled()
