"""The OpenAPI document, and a page that shows it: no script, no network, open to everybody."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.routing import iter_route_contexts
from pydantic import TypeAdapter
from starlette.responses import HTMLResponse, Response

from ratchet.serving.api import inputs, problems
from ratchet.serving.api.access import Needs
from ratchet.store.tokens import Scope

router = APIRouter()

METHODS = ("get", "post", "put", "delete", "patch")
_REF = "#/components/schemas/{model}"
_PAGE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def scopes(app: FastAPI) -> dict[tuple[str, str], tuple[Scope, ...]]:
    """(method, path) -> the scopes of which a caller needs one, for every route that has any."""
    found: dict[tuple[str, str], tuple[Scope, ...]] = {}
    for context in iter_route_contexts(app.routes):
        dependant = getattr(context, "dependant", None)
        needed = [each.call for each in getattr(dependant, "dependencies", ()) if isinstance(each.call, Needs)]
        for method in getattr(context, "methods", None) or ():
            for needs in needed:
                found[str(method), str(context.path_format)] = needs.scopes
    return found


def complete(app: FastAPI, document: dict[str, Any]) -> dict[str, Any]:
    """Add what FastAPI does not know: problems, bodies that are read without it, and who may ask. Shapes have the names
    that docs/reference/json.md gives them."""
    document = json.loads(re.sub(r'Shape(?=["_[\]])', "", json.dumps(document)))
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["Problem"] = problems.SCHEMA
    for model in (inputs.SentOutcome, inputs.Observed, inputs.ExportedLesson):
        schema: dict[str, Any] = TypeAdapter(model).json_schema(ref_template=_REF)
        schemas.update(schema.pop("$defs", {}))
        schemas[model.__name__] = schema
    told = "`ratchet token add NAME --scope SCOPE`. A server on this machine without any token asks for none."
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": told}}
    needed = scopes(app)
    for path, operations in document["paths"].items():
        for method in METHODS:
            operation = operations.get(method)
            wanted = needed.get((method.upper(), path))
            if operation is not None and wanted:
                operation["security"] = [{"token": []}, {}]
                operation["x-scopes"] = [*wanted]
    return document


@router.get("/openapi.json", include_in_schema=False)
def openapi(request: Request) -> Response:
    """The document, encoded once: whoever asks for it needs no token, and may ask often."""
    return Response(_kept(request.app, "openapi", _encoded), media_type="application/json")


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> HTMLResponse:
    """Every route, what it takes and who may ask, on one page."""
    page = _kept(request.app, "docs", _page)
    return HTMLResponse(page, headers={"Content-Security-Policy": _PAGE_POLICY})


def _kept(app: FastAPI, name: str, make: Callable[[dict[str, Any]], bytes]) -> bytes:
    held: dict[str, bytes] = app.state.described
    if name not in held:
        held[name] = make(app.openapi())
    return held[name]


def _encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _page(document: dict[str, Any]) -> bytes:
    rows = [
        _row(method, path, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if method in METHODS
    ]
    return _PAGE.format(title=escape(document["info"]["title"]), rows="\n".join(rows)).encode()


def _row(method: str, path: str, operation: dict[str, Any]) -> str:
    needs = " or ".join(operation.get("x-scopes", ())) or "nothing"
    told = escape(str(operation.get("description") or operation.get("summary") or ""))
    return (
        f"<tr><td><code>{method.upper()}</code></td><td><code>{escape(path)}</code></td>"
        f"<td>{escape(needs)}</td><td>{told}</td></tr>"
    )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}: routes</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ text-align: left; vertical-align: top; padding: .4rem .6rem; border-bottom: 1px solid #8884 }}
</style></head>
<body><main><h1>{title}: routes</h1>
<p>The whole description, with bodies and answers: <a href="/openapi.json">/openapi.json</a>. A token is sent as
<code>Authorization: Bearer TOKEN</code>; errors are RFC 9457 problems with a <code>remedy</code>.</p>
<table><thead><tr><th>Method</th><th>Path</th><th>Scope</th><th>What it does</th></tr></thead>
<tbody>
{rows}
</tbody></table></main></body></html>
"""
