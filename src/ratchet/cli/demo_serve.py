"""`ratchet demo --serve`: the pages over a made-up home, which ends with the server."""

from __future__ import annotations

import logging
import tempfile
import threading
from pathlib import Path

import click

from ratchet.cli import serve as serving
from ratchet.errors import RatchetError, UsageError
from ratchet.registry import adding
from ratchet.runtime import Runtime

log = logging.getLogger(__name__)


def serve(port: int) -> None:
    """Fill a temporary home and serve it; what runs in a sandbox comes while the pages are open."""
    try:
        from ratchet.demo import home
        from ratchet.serving.api.serving import Serving
    except ImportError as error:
        raise UsageError(f"this needs the extra `serve`: {adding('serve')} ({error})") from error
    with (
        tempfile.TemporaryDirectory(prefix="ratchet-demo-", ignore_cleanup_errors=True) as scratch,
        Runtime.open(home=Path(scratch) / "home", withheld_share=0.3) as runtime,
    ):
        home.furnish(runtime, Path(scratch), lambda what: click.echo(f"  {what}"))
        click.echo("  healed tasks and a measured agent come within minutes")

        def run() -> None:
            try:
                home.run(runtime, Path(scratch))
            except (RatchetError, OSError) as error:  # no sandbox here, or the server ended and its home with it
                log.warning("demo.skipped", extra={"why": str(error)})

        threading.Thread(target=run, name="ratchet-demo", daemon=True).start()
        serving.run(runtime, Serving(workers=1), port)
