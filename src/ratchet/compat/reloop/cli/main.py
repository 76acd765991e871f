"""Takes failures elsewhere, through a running server. Needs typer, httpx and PyYAML, which reloop brought along."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ratchet.compat.reloop.config import settings

if TYPE_CHECKING:
    import httpx

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
    path = Path(output)
    try:
        answer = _http_client().get("/v1/memories/export")
        answer.raise_for_status()
        said = answer.json()
        if fmt is FormatChoice.json:
            path = path.with_suffix(".json")
            path.write_text(json.dumps(said, indent=2), encoding="utf-8")
        else:
            import yaml

            path.write_text(yaml.safe_dump(said, sort_keys=False), encoding="utf-8")
    except Exception as fault:  # noqa: BLE001  (the edge of a command)
        _end(str(fault))
    typer.echo(f"Exported {len(said.get('failures', ()))} failures to {path}")


def import_playbook(file: str) -> None:
    """Hand the failures of a file to the server."""
    path = Path(file)
    if not path.is_file():
        _end(f"File not found: {path}")
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            said = json.loads(text)
        else:
            import yaml

            said = yaml.safe_load(text)
        answer = _http_client().post("/v1/memories/import", json=said)
        answer.raise_for_status()
        taken = answer.json().get("imported", 0)
    except Exception as fault:  # noqa: BLE001  (the edge of a command)
        _end(str(fault))
    typer.echo(f"Imported {taken} failures from {path}")


def _end(why: str) -> None:
    typer.echo(f"Error: {why}")
    raise typer.Exit(1)


app.command("export")(export_playbook)
app.command("import")(import_playbook)
