"""Tasks of a new user, from the first page on: each takes five actions at most, and its answer is on the page then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from browser.conftest import LIMIT, Site
from ratchet.demo.home import written
from ratchet.improving.settings.knob import Range
from ratchet.improving.settings.versions import StoredSettings
from ratchet.runtime import Runtime

MARCH = datetime(2026, 3, 20, tzinfo=UTC).timestamp()
MOST = 5


class Person:
    """Somebody at a browser, whose actions are counted."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.actions = 0
        page.goto(address)

    def click(self, name: str, *, within: str = "body", role: str = "link") -> None:
        self._act()
        self.page.locator(within).get_by_role(role, name=re.compile(name)).first.click()
        self.page.wait_for_load_state("load")

    def choose(self, label: str, option: str) -> None:
        self._act()
        self.page.get_by_label(label).select_option(option)

    def press(self, key: str) -> None:
        self._act()
        self.page.keyboard.press(key)
        self.page.wait_for_load_state("load")

    def type(self, text: str) -> None:
        self._act()
        self.page.keyboard.type(text)

    def reads(self, said: str) -> None:
        """The page says so, where it is now."""
        self.page.locator("main").get_by_text(re.compile(said)).first.wait_for(timeout=60_000)

    def _act(self) -> None:
        self.actions += 1
        assert self.actions <= MOST


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """A home that knows two projects' sessions of March, three lessons to approve, and a setting that went wrong."""
    folder = tmp_path_factory.mktemp("tasks")
    with Runtime.open(home=folder / "home") as opened:
        for path in (history := written(folder / "history", MARCH)).iterdir():
            if "/home/dev/billing" in (text := path.read_text()):  # a repository of its own
                path.write_text(text.replace("dev/shop", "dev/billing"))
        opened.learn([history])
        for do in ("wait two seconds, then send it again", "delete the queue", "ask for a larger quota"):
            opened.lessons.add(when=LIMIT, do=do, scope="global")
        StoredSettings(opened.store, "support", knobs={"max_retries": Range(0, 10, default=1)}).declare()
        opened.settings.set("support", {"max_retries": 2}, why="most limits pass")
        opened.settings.set("support", {"max_retries": 9}, why="a try")
        yield opened


@pytest.fixture
def person(chromium: Any, runtime: Runtime) -> Iterator[Person]:
    with Site(runtime, workers=0) as site:
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(60_000)
        yield Person(context.new_page(), site.address)
        context.close()


def test_why_did_this_session_fail(person: Person, runtime: Runtime) -> None:
    session = runtime.sessions.list().items[0]
    person.click("Sessions", within="nav#menu")
    person.click(re.escape(session.title[:40]), within="#rows")
    person.reads("Why it failed")
    person.reads("no upstream branch|ModuleNotFoundError|ruff-format|exceeds maximum|not been read")


def test_what_keeps_failing_in_this_project(person: Person) -> None:
    person.click("What fails here", within="nav#menu")
    project = person.page.get_by_label("Project").locator("option").nth(1).inner_text()
    person.choose("Project", project)
    person.click("Show", role="button", within="main")
    person.reads("git push|pytest|git commit")
    assert "project=" in person.page.url


def test_approve_the_right_one_of_three_lessons(person: Person, runtime: Runtime) -> None:
    person.click("All candidates")
    person.click("wait two seconds", within="#rows")
    person.click("Approve: hand it to agents", role="button")
    states = {each.text: each.state for each in runtime.lessons.list() if each.when and "rate limit" in each.when}
    assert states["wait two seconds, then send it again"] == "active"
    assert sorted(states.values()) == ["active", "candidate", "candidate"]


def test_undo_a_bad_setting(person: Person, runtime: Runtime) -> None:
    person.click("Settings", within="nav#menu")
    person.click("History and change")
    person.click("Bring back", role="button")
    assert runtime.settings.show("support").knobs[0].value == 2


def test_find_what_was_done_about_an_error_in_march(person: Person) -> None:
    person.press("/")
    person.type("upstream branch")
    person.press("Enter")
    person.click("has no upstream branch", within="#rows")
    person.reads("What fixed it")
    person.reads("git push --set-upstream")
    person.reads("Mar 2026")
