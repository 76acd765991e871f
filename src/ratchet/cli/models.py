"""`ratchet models`: which language models are asked when, what they cost, and whether they answer."""

from __future__ import annotations

import click

from ratchet.cli import shapes, show
from ratchet.cli.app import Commands, home_option, json_option, opened
from ratchet.cli.show import console, plain
from ratchet.cli.terminal import Styled

_STYLES = {"answers": "green", "silent": "red", "no key": "yellow", "not asked": "dim"}


@click.group(cls=Commands)
def models() -> None:
    """Language models: which is asked for what, what it costs, whether it answers."""


@models.command("list")
@home_option
@json_option
def list_models(as_json: bool) -> None:
    """The models of each kind of work, in the order in which they are asked.

    `session` is work for which a person waits, `loop` is unattended, `fast` summarises. Servers on this machine are
    asked what they serve; nobody else is asked anything.
    """
    found = opened().models.list()
    if as_json:
        show.as_json([shapes.machine.KnownModelShape.built(each) for each in found])
        return
    out = console()
    if not found:
        out.print("No model is named, and no server of one answers here. Next: RATCHET_MODEL=provider:name")
    for each in found:
        place = f"{each.asked_for} {each.rank or ''}".strip()
        line = Styled(f"{place:<11}").append(f"{each.reach:<10} ", _STYLES[each.reach])
        line.append(plain(each.name, 80)).append(f"  {_price(each.usd_sent, each.usd_received)}  ", "dim")
        out.print(line.append(plain(each.address, 120), "dim"))
        if each.note:
            out.print(Styled(" " * 11).append(plain(each.note, 200), "dim"))


@models.command("test")
@click.argument("names", nargs=-1)
@click.option("--allow-unknown-price", is_flag=True, help="Ask a model whose price is not known.")
@home_option
@json_option
def test_models(names: tuple[str, ...], allow_unknown_price: bool, as_json: bool) -> None:
    """Ask each model one short question, for at most 0.05 USD together.

    NAMES are spelled as in RATCHET_MODEL; without any, all models of the settings. Exit code 1 where one does not
    answer.
    """
    found = opened().models.test(names, unpriced=allow_unknown_price)
    if as_json:
        show.as_json([shapes.machine.TestedModelShape.built(each) for each in found])
    else:
        out = console()
        for each in found:
            line = Styled("ok    " if each.ok else "FAILED ", "green" if each.ok else "red").append(
                plain(each.name, 80)
            )
            cost = f"  {each.duration_s:.1f} s, {each.tokens} tokens, {each.cost_usd:.4f} USD"
            out.print(line.append(cost, "dim"))
            out.print(Styled("       ").append(plain(each.said or each.problem, 300)))
    click.get_current_context().exit(0 if all(each.ok for each in found) else 1)


def _price(sent: float | None, received: float | None) -> str:
    if sent is None or received is None:
        return "price not known"
    return f"{sent:g} / {received:g} USD per million" if sent or received else "free"
