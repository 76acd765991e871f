"""An agent's folder may come from anybody: what it asks for beyond its sandbox it gets once a person granted it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet.errors import Refused, UsageError
from ratchet.evolving.bench.agents import agent_of
from ratchet.evolving.bench.benchmark import Agent
from ratchet.evolving.bench.book import BenchAsked
from ratchet.evolving.bench.granting import grant, need_granted, wishes
from ratchet.evolving.request import EvolveAsked
from ratchet.runtime import Runtime
from ratchet.testing.evolving import synthetic_benchmark
from support.healing import needs_sandbox

ASKS = {
    'net = "host"': "the network (host)",
    'net = "domains:example.org"': "the network (domains:example.org)",
    'pass_env = ["SOME_KEY"]': "the variable SOME_KEY",
    'readable = ["../.ssh"]': "to read",
    'readable = ["out"]': "to read",  # a link out of the folder
}
OWN = ['net = "none"', "pass_env = []", 'readable = ["data", "../agent/data"]', 'readable = ["."]', ""]


def agent(tmp_path: Path, line: str) -> Agent:
    folder = tmp_path / "agent"
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (tmp_path / ".ssh").mkdir(exist_ok=True)
    if not (folder / "out").is_symlink():
        (folder / "out").symlink_to("../.ssh")
    (folder / "ratchet-agent.toml").write_text(f'command = "true"\nchanges = ["*.md"]\n{line}\n')
    return agent_of(str(folder), cwd=tmp_path)


@pytest.mark.parametrize("line", ASKS)
def test_what_a_declaration_asks_for_is_refused_until_it_is_granted_and_again_when_it_changes(
    tmp_path: Path, line: str
) -> None:
    home, asking = tmp_path / "home", agent(tmp_path, line)
    with pytest.raises(Refused, match=f"bench grant {asking.folder}") as refused:
        need_granted(home, asking)
    assert ASKS[line] in str(refused.value)
    assert not grant(home, asking, show=True).granted
    with pytest.raises(Refused):
        need_granted(home, asking)
    granted = grant(home, asking)
    assert (granted.granted, len(granted.asks)) == (True, 1)
    need_granted(home, asking)
    with pytest.raises(Refused):
        need_granted(tmp_path / "another home", asking)
    more = agent(tmp_path, 'pass_env = ["SOME_KEY", "ANOTHER"]')
    with pytest.raises(Refused, match="the variable ANOTHER"):
        need_granted(home, more)
    elsewhere = tmp_path / "elsewhere"
    os.rename(asking.folder, elsewhere)
    (elsewhere / "ratchet-agent.toml").write_text(f'command = "true"\n{line.replace("../", f"{tmp_path}/")}\n')
    with pytest.raises(Refused):
        need_granted(home, agent_of(str(elsewhere), cwd=tmp_path))


@pytest.mark.parametrize("line", OWN)
def test_an_agent_that_asks_for_nothing_beyond_its_folder_is_not_asked_about(tmp_path: Path, line: str) -> None:
    need_granted(tmp_path / "home", agent(tmp_path, line))


def test_what_a_person_gives_or_writes_needs_no_grant(tmp_path: Path) -> None:
    lines = 'net = "host"\npass_env = ["SOME_KEY"]\nreadable = ["../.ssh"]'
    asking, home = agent(tmp_path, lines), tmp_path / "home"
    need_granted(home, asking, net="host", pass_env=("SOME_KEY",), readable=(tmp_path / ".ssh",))
    with pytest.raises(Refused, match="asks for the variable SOME_KEY;"):
        need_granted(home, asking, net="host", readable=(tmp_path / ".ssh",))
    with pytest.raises(Refused, match="asks for the network"):  # another one was given than it takes
        need_granted(home, asking, net="none", pass_env=("SOME_KEY",), readable=(tmp_path / ".ssh",))
    tool = tmp_path / "tool" / "bin" / "run"
    tool.parent.mkdir(parents=True)
    tool.write_text("")
    typed = agent_of(f"{tool} {asking.folder}/ratchet-agent.toml", cwd=tmp_path)
    assert (typed.folder, typed.readable) == (asking.folder, (str(tmp_path / "tool"),))
    need_granted(home, typed)


def test_only_a_folder_can_be_granted_anything(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ratchet-agent"):
        grant(tmp_path / "home", agent_of("echo {task}", cwd=tmp_path))


def test_neither_a_measurement_nor_evolving_begins_without_the_grant(tmp_path: Path) -> None:
    needs_sandbox(tmp_path)
    asking = agent(tmp_path, 'net = "host"')
    with Runtime.open(home=tmp_path / "home") as runtime:
        bench = runtime.benchmarks.freeze(synthetic_benchmark(dev=1, gate=2, sealed=1))
        for named in (asking, asking.folder):
            with pytest.raises(Refused, match="asks for the network"):
                runtime.benchmarks.run(BenchAsked(agent=named, bench=bench.name))
        evolving = EvolveAsked(agent=asking, benchmark=bench, proposer="command:true")
        with pytest.raises(Refused, match="asks for the network"):
            runtime.evolutions.run(evolving)
        assert runtime.benchmarks.history() == []
        assert wishes(replace(asking, net="none")) == ()
