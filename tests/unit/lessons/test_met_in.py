"""A project's patterns are those that its sessions met; the list says its own order, and it is the one it has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from ratchet.cli.app import cli
from ratchet.errors import NotFound
from ratchet.runtime import Runtime
from support.histories import lines
from support.shop import shell

SAID = {"cart": "fatal: the cart has no wheels at all", "barn": "panic: nobody closed this barn before the storm"}


def ran(path: Path, session: str, folder: str, target: str, start: float, *, times: int = 1) -> Path:
    calls = [
        each
        for n in range(times)
        for each in shell(f"{session}{n}", f"make {target}", SAID[target], start + 2 * n, failed=True)
    ]
    return lines(path, [{**each, "sessionId": session, "cwd": folder} for each in calls])


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime.open(home=tmp_path / "home") as opened:
        paths = [
            ran(tmp_path / "a.jsonl", "one", "/p/shop", "cart", 0),
            ran(tmp_path / "b.jsonl", "two", "/p/shop", "cart", 4),
            ran(tmp_path / "c.jsonl", "three", "/p/farm", "barn", 8, times=9),
        ]
        opened.learn(paths)
        yield opened


def test_a_projects_patterns_are_those_that_its_sessions_met(runtime: Runtime) -> None:
    by_template = {each.template: each for each in runtime.patterns()}
    met = {each.template for each in by_template.values() if each.id in runtime.failing.met_in("shop")}
    assert len(by_template) > len(met) == 1
    assert "cart" in met.pop()
    with pytest.raises(NotFound):
        runtime.failing.met_in("nowhere")
    shown = CliRunner().invoke(cli, ["--home", str(runtime.home), "patterns", "--project", "farm"]).output
    assert "barn" in shown
    assert "cart" not in shown
    assert "of all projects" not in shown, "nobody else met it"


def test_a_pattern_of_several_projects_tells_how_much_of_it_is_this_ones(runtime: Runtime, tmp_path: Path) -> None:
    runtime.learn([ran(tmp_path / "d.jsonl", "four", "/p/farm", "cart", 12)])
    shop, farm = (runtime.failing.met_in(name) for name in ("shop", "farm"))
    cart = next(each for each in runtime.patterns() if "cart" in each.template)
    assert (shop[cart.id].sessions, farm[cart.id].sessions, cart.sessions) == (2, 1, 3)
    assert shop[cart.id].count + farm[cart.id].count == cart.count
    shown = CliRunner().invoke(cli, ["--home", str(runtime.home), "patterns", "--project", "farm"]).output
    assert f"{cart.count}x in 3 sessions of all projects ({farm[cart.id].count}x in 1 here)" in shown


def test_what_several_sessions_met_stands_before_what_one_paid_more_for(runtime: Runtime) -> None:
    cart, *others = runtime.pattern_list().rows
    assert ("cart" in cart.template, cart.group, {each.group for each in others}) == (True, 0, {2})
    assert max(each.impact for each in others) > cart.impact
    shown = CliRunner().invoke(cli, ["--home", str(runtime.home), "patterns", "--limit", "1"]).output
    assert "first what several sessions met lately, then what they met before" in shown
    assert "--project NAME" in shown
