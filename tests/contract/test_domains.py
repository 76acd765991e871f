"""A network of named domains: no way round it gets through, honest work does, and what cannot hold it refuses."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.errors import Refused, UsageError
from ratchet.ports import Sandbox
from ratchet.sandbox import domain_canary
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.command import Command, Limits, Ran, View
from ratchet.sandbox.landlock import Landlock
from ratchet.sandbox.plain import Plain
from ratchet.testing.abuse_domains import DIRECT, WAYS, Run, all_through, broken, through
from ratchet.testing.domain_world import DomainWorld, domain_world
from support.sandboxes import working


@pytest.fixture(scope="module", autouse=True)
def _sandbox() -> None:
    working(Bubblewrap())


@pytest.fixture(scope="module")
def world() -> Iterator[DomainWorld]:
    with domain_world() as made:
        yield made


@pytest.fixture
def work() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="domains-"))
    folder.chmod(0o755)
    yield folder
    remove_tree(folder)


def running(work: Path, net: str, environ: dict[str, str] | None = None) -> Run:
    def run(code: str, argument: str) -> str:
        argv = ("python", "-c", code, argument)
        limits = Limits(wall_s=180)
        ran = Bubblewrap().run(
            Command(argv=argv, view=View(folder=work), limits=limits, net=net, environ=environ or {})
        )
        return (ran.stdout + ran.stderr).decode(errors="replace")

    return run


def test_no_way_round_gets_through(work: Path, world: DomainWorld) -> None:
    assert len({way.name for way in WAYS}) == len(WAYS) >= 40
    assert all_through(running(work, world.net), world) == []


def test_honest_work_passes(work: Path, world: DomainWorld) -> None:
    assert broken(running(work, world.net), world) == []


def test_what_gets_through_is_heard(work: Path, world: DomainWorld) -> None:
    """The control of the battery: with all of the network, and no proxy, the direct ways are open."""
    run = running(work, "host", {"http_proxy": "http://127.0.0.1:9"})
    ways = [
        way for way in DIRECT if way.name in ("a direct connection", "a datagram", "a socket with an abstract name")
    ]
    assert len(through(run, world, ways)) == len(ways)


@pytest.mark.parametrize("sandbox", [Landlock(), Plain()], ids=lambda sandbox: sandbox.name)
def test_a_sandbox_without_a_network_of_its_own_refuses(sandbox: Sandbox, work: Path) -> None:
    with pytest.raises(Refused, match="cannot hold a command to named domains"):
        sandbox.run(Command(argv=("true",), view=View(folder=work), net="domains:example.org"))


def test_a_proof_that_fails_refuses_before_anything_runs() -> None:
    def open_to_all(command: Command) -> Ran:
        environ = {"http_proxy": f"http://127.0.0.1:{command.argv[-2]}"}
        return Bubblewrap().run(replace(command, net="host", environ=environ))

    with pytest.raises(Refused, match="open all the same"):
        domain_canary.prove("open", open_to_all)


def test_a_sandbox_that_cuts_all_off_is_no_network_of_domains_either() -> None:
    with pytest.raises(Refused, match=r"does not end|not reached"):
        domain_canary.prove("closed", lambda command: Bubblewrap().run(replace(command, net="none")))


def test_what_was_refused_is_told(work: Path) -> None:
    code = "import urllib.request as u\ntry: u.urlopen('http://elsewhere.test/')\nexcept OSError as error: print(error)"
    ran = Bubblewrap().run(
        Command(argv=("python", "-c", code), view=View(folder=work), net="domains:example.org,*.example.com")
    )
    assert (ran.stdout, ran.refused) == (
        b"HTTP Error 403: Forbidden\n",
        ("elsewhere.test:80: not among the domains",),
    )


def test_a_name_of_this_machine_is_no_public_one(work: Path) -> None:
    code = "import urllib.request as u\ntry: u.urlopen('http://localhost/')\nexcept OSError as error: print(error)"
    ran = Bubblewrap().run(
        Command(
            argv=("python", "-c", code),
            view=View(folder=work),
            net="domains:localhost",
            environ={"no_proxy": "", "NO_PROXY": ""},
        )
    )
    assert ran.refused == ("localhost:80: its address is not public",)


def test_no_proxy_stays(work: Path, world: DomainWorld) -> None:
    others = _below_the_keeper()  # those of a database that other tests have started
    Bubblewrap().run(Command(argv=("true",), view=View(folder=work), net=world.net))
    give_up = time.monotonic() + 60  # a supervisor that has answered ends by itself
    while (left := _below_the_keeper() - others) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert left == set()


def _below_the_keeper() -> set[str]:
    """Children of the processes that this one started: whatever a supervisor leaves comes to the keeper."""
    keepers = [pid for each in os.listdir("/proc/self/task") for pid in _children("self", each)]
    return {child for pid in keepers for child in _children(pid, pid)}


def _children(pid: str, task: str) -> list[str]:
    return Path(f"/proc/{pid}/task/{task}/children").read_text().split()


def test_a_command_with_a_network_that_does_not_exist_is_not_made() -> None:
    for net in ("all", "domains:", "domains:127.0.0.1", "domains:example.org:x", "domains:*"):
        with pytest.raises(UsageError):
            Command(argv=("true",), view=View(folder=Path()), net=net)
