"""The option that says which network a command reaches."""

from __future__ import annotations

import click

from ratchet.errors import UsageError
from ratchet.sandbox import network


class NetType(click.ParamType[str]):
    """`none`, `host`, or `domains:` with names, as `sandbox.network` has it."""

    name = "net"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        del param, ctx
        return "none|host|domains:NAME,..."

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return network.checked(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


NET = NetType()
