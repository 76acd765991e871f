"""The OpenAPI document holds for whatever is sent: no 500, no status and no shape that is not documented."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import pytest
import requests
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.python import asgi
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from ratchet import Choice, Ratchet
from ratchet.runtime import Runtime
from ratchet.serving.api.app import create
from ratchet.serving.api.serving import Serving
from support.api_client import BASE
from surfaces.test_api_access import ROUTES

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
FEW, MANY = 6, 300
STORES = ("sqlite", "postgres")


@dataclass
class Held:
    """The app, and a client of it that schemathesis can use."""

    app: FastAPI
    session: requests.Session
    store: str

    @cached_property
    def schema(self) -> Any:
        return schemathesis.openapi.from_dict(self.app.openapi())

    @cached_property
    def ids(self) -> dict[str, str]:
        """One id of each noun, so that half of the requests lead somewhere."""
        first = {f"{name}_id": self.first(f"/v1/{name}s") for name in ("pattern", "lesson", "trial", "task")}
        return {**first, "agent": "a", "checkpoint_id": "0"}

    def post(self, path: str, body: Any) -> None:
        self.session.post(BASE + path, json=body).raise_for_status()

    def first(self, path: str) -> str:
        return str(self.session.get(BASE + path).json()["items"][0]["id"])


@pytest.fixture(scope="module", params=STORES)
def held(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    """The app over a home with some of everything; its streams end at once."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.delenv("RATCHET_DATABASE_URL", raising=False)
        if request.param == "postgres":
            databases = request.getfixturevalue("postgres")
            url = databases.fresh()
            stack.callback(databases.give_back, url)
            patch.setenv("RATCHET_DATABASE_URL", url)
        home = tmp_path_factory.mktemp("schema") / "home"
        runtime = stack.enter_context(Runtime.open(home=home))
        assert type(runtime.store).__name__.lower().startswith(request.param)
        app = create(runtime, Serving(requests_per_s=0.0))
        with asgi.get_client(cast("Any", app)) as session:
            filled = Held(app, session, request.param)
            fill(filled, home)
            app.state.served.feed.close()
            yield filled
        asgi.shutdown_lifespans()


def fill(held: Held, home: Path) -> None:
    for n in range(12):
        held.post("/v1/outcomes", {"agent": "a", "ok": False, "error": f"TimeoutError: no answer in {n} s"})
    held.post("/v1/lessons", {"when": "TimeoutError: no answer in 3 s", "do": "wait longer"})
    with Ratchet(home=home) as ratchet:
        ratchet.settings("a", model=Choice("x", "y")).current()
    held.post("/v1/trials", {"target": "settings:a", "new": {"model": "y"}})
    project = home.with_name("project")
    project.mkdir()
    held.post("/v1/tasks", {"dir": str(project), "check": "false"})


def takes_any_text(operation: Any) -> bool:
    """Nothing can be asked wrongly: schemathesis would look for it hundreds of times."""
    raw = operation.definition.raw
    return "requestBody" not in raw and all(each["in"] == "path" for each in raw.get("parameters", ()))


def hold(held: Held, method: str, path: str, examples: int) -> None:
    """Ask a route so many times, within its schema and outside of it."""
    operation, known = held.schema[path][method.lower()], held.ids
    limits = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    for mode in schemathesis.GenerationMode:
        wrongly = mode == schemathesis.GenerationMode.NEGATIVE
        # Most of what is asked wrongly is refused above the store: of few examples one store gets them.
        if wrongly and (takes_any_text(operation) or (examples == FEW and held.store != STORES[0])):
            continue
        strategy = operation.as_strategy(generation_mode=mode)

        @given(case=strategy)
        @limits
        def ask(case: Any) -> None:
            for name in case.path_parameters or {}:
                if name in known and len(str(case.path_parameters[name])) % 2:
                    case.path_parameters[name] = known[name]
            case.call_and_validate(base_url=BASE, session=held.session, checks=CHECKS)

        with suppress(Unsatisfiable):  # what takes any text cannot be asked for wrongly
            ask()


@pytest.mark.parametrize(("method", "path"), sorted(ROUTES), ids=lambda part: str(part))
def test_a_route_answers_anything_as_it_is_documented(held: Held, method: str, path: str) -> None:
    hold(held, method, path, FEW)


@pytest.mark.soak
@pytest.mark.parametrize(("method", "path"), sorted(ROUTES), ids=lambda part: str(part))
def test_a_route_answers_a_great_many_things_as_it_is_documented(held: Held, method: str, path: str) -> None:
    hold(held, method, path, MANY)
