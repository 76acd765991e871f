"""Takes failures elsewhere, through a running server. Needs typer, httpx and PyYAML, which reloop brought along."""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ratchet.compat.reloop.config import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

log = logging.getLogger(__name__)
app = typer.Typer(help=__doc__)


class FormatChoice(StrEnum):
    """Form of an export."""

    yaml = "yaml"
    json = "json"


def _http_client() -> httpx.Client:
    import httpx

    said = settings()
    return httpx.Client(base_url=f"http://{said.api_host}:{said.api_port}", timeout=30.0)


def export_playbook(
    output: Annotated[str, typer.Option("--output", "-o")] = "reloop-playbook.yaml",
    fmt: Annotated[FormatChoice, typer.Option("--format", "-f")] = FormatChoice.yaml,
) -> None:
    """Write the failures of the server into a file."""
    import yaml

    path = Path(output)
    with _faults_told():
        answer = _http_client().get("/v1/memories/export")
        answer.raise_for_status()
        said = answer.json()
        if fmt is FormatChoice.json:
            path = path.with_suffix(".json")
            text = json.dumps(said, indent=2)
        else:
            text = yaml.safe_dump(said, sort_keys=False)
        path.write_text(text, encoding="utf-8")
    typer.echo(f"Exported {len(said.get('failures', ()))} failures to {path}")


def import_playbook(file: str) -> None:
    """Hand the failures of a file to the server."""
    import yaml

    path = Path(file)
    if not path.is_file():
        _end(f"File not found: {path}")
    with _faults_told():
        text = path.read_text(encoding="utf-8")
        said = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
        answer = _http_client().post("/v1/memories/import", json=said)
        answer.raise_for_status()
        taken = answer.json().get("imported", 0)
    typer.echo(f"Imported {taken} failures from {path}")


@contextmanager
def _faults_told() -> Iterator[None]:
    """End as reloop's commands do, whatever a file, the network or an answer raises: with a line and exit code 1."""
    try:
        yield
    except Exception as fault:
        log.debug("the command failed", exc_info=True)
        _end(str(fault))


def _end(why: str) -> None:
    typer.echo(f"Error: {why}")
    raise typer.Exit(1)


app.command("export")(export_playbook)
app.command("import")(import_playbook)
