"""The pages of live settings without a browser: changing, bringing back, and a secret in a knob."""

from __future__ import annotations

import pytest

from ratchet.improving.settings.knob import Choice, Range
from ratchet.improving.settings.versions import StoredSettings
from ratchet.runtime import Runtime

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

HTML = {"accept": "text/html"}


def test_settings_are_changed_and_brought_back_on_their_page(runtime: Runtime, client: TestClient) -> None:
    StoredSettings(runtime.store, "team/agent", knobs={"retries": Range(0, 10, default=0)}).declare()
    address = "/ui/settings/team%2Fagent"
    assert client.get(address, headers=HTML).status_code == 200
    client.post(address, data={"knob:retries": "4", "expected": "0", "why": "it gives up"}, headers=HTML)
    assert runtime.settings.show("team/agent").knobs[0].value == 4
    late = client.post(address, data={"knob:retries": "9", "expected": "0"}, headers=HTML)
    assert late.status_code == 409, "somebody else was first"
    client.post(f"{address}/revert", data={"to": "0"}, headers=HTML)
    assert runtime.settings.show("team/agent").knobs[0].value == 0


def test_a_secret_in_a_knob_is_on_no_page_and_stays_as_it_is(runtime: Runtime, client: TestClient) -> None:
    key = "sk-ant-api03-" + "Ab1" * 20 + "-AA"
    knobs = {"key": Choice("none", key), "retries": Range(0, 10, default=0)}
    StoredSettings(runtime.store, "bot", knobs=knobs).declare()
    runtime.settings.set("bot", {"key": key}, who="person", why="")
    page = client.get("/ui/settings/bot", headers=HTML).text
    assert key not in page + client.get("/ui/settings", headers=HTML).text
    shown = page.split(" selected>")[1].split("<")[0]
    assert shown.startswith("[redacted:")
    client.post("/ui/settings/bot", data={"knob:key": shown, "knob:retries": "4", "expected": "1"}, headers=HTML)
    assert {each.name: each.value for each in runtime.settings.show("bot").knobs} == {"key": key, "retries": 4}
