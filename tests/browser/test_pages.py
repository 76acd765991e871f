"""Every page in a real browser: it opens, reads well, and renews itself; what is clicked happens."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browser.conftest import LIMIT, PATIENCE_S, PUSH, Site
from ratchet.errors import StoreError
from support.healing import Bench

PAGES = (
    *(
        "/",
        "/?range=all",
        "/ui/patterns",
        "/ui/fails",
        "/ui/fails?by=hour",
        "/ui/lessons",
        "/ui/skills",
        "/ui/backtest",
        "/ui/report",
    ),
    *(
        "/ui/recall",
        "/ui/search",
        "/ui/search?q=upstream",
        "/ui/sessions",
        "/ui/cost",
        "/ui/trials",
        "/ui/proposals",
        "/ui/settings",
    ),
    *("/ui/settings/support", "/ui/episodes", "/ui/evolve", "/ui/bench"),
)
SCHEMES: dict[str, dict[str, object]] = {
    "light": {},
    "dark": {"runOnly": {"type": "rule", "values": ["color-contrast"]}},
}
"""The rules of accessibility that each is held to: of all that is looked at, the second changes colours only."""
PHONE = {"width": 390, "height": 844}


def details(site: Site) -> dict[str, str]:
    """A page for one record of each noun that there is."""
    runtime = site.runtime
    return {
        "pattern": f"/ui/patterns/{runtime.patterns()[0].id}",
        "lesson": f"/ui/lessons/{runtime.lessons.list()[0].id}",
        "trial": f"/ui/trials/{runtime.trials.list()[0].id}",
        "episode": f"/ui/episodes/{runtime.episodes.list()[0].id}",
        "session": f"/ui/sessions/{runtime.sessions.list().items[0].id}",
        "outcome": f"/ui/outcomes/{next(iter(runtime.outcomes(ok=False))).id}",
    }


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.1)
    return False


@pytest.fixture(scope="module")
def pictured(screenshots: Path | None) -> Callable[[Any, str], None]:
    """Take a picture of what is shown, where somebody wants pictures."""

    def picture(page: Any, name: str) -> None:
        if screenshots is not None:
            page.screenshot(path=screenshots / f"{name}.png", full_page=True)

    return picture


def test_every_page_opens_without_a_fault_or_a_serious_one_of_accessibility(
    page: Any, site: Site, pictured: Callable[[Any, str], None]
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    named = {"".join(c if c.isalnum() else "-" for c in each.strip("/")) or "overview": each for each in PAGES}
    for name, path in {**named, **details(site), "live": "/ui/live", "login": "/ui/login"}.items():
        answer = page.goto(site.address + path)
        page.wait_for_load_state("load")
        assert answer.status == 200, path
        assert page.locator("h1").count() == 1, path
        pictured(page, name)
        for scheme, rules in SCHEMES.items():
            page.emulate_media(color_scheme=scheme)
            found = axe.run(page, options={"resultTypes": ["violations"], **rules}).response["violations"]
            grave = [
                (each["id"], [node["html"][:160] for node in each["nodes"][:3]])
                for each in found
                if each["impact"] in ("serious", "critical")
            ]
            assert grave == [], f"{path}, {scheme}"


def test_no_table_is_cut_off_on_a_small_laptop(chromium: Any, site: Site) -> None:
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(PATIENCE_S * 1_000)
    for path in ("/ui/sessions", "/ui/patterns", "/ui/lessons"):
        page.goto(site.address + path)
        page.evaluate(
            "document.querySelectorAll('td > a > strong').forEach(each => each.textContent = 'x'.repeat(110))"
        )
        cut = "[...document.querySelectorAll('.wide')].filter(each => each.scrollWidth > each.clientWidth).length"
        assert page.evaluate(cut) == 0, path
    page.close()


def test_the_latest_sessions_have_room_for_their_titles(chromium: Any, site: Site) -> None:
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE_S * 1_000)
    page.goto(site.address + "/?range=all")
    for width in (1024, 1200, 1300, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        table = "document.querySelector('[aria-labelledby=h-latest] table')"
        page.evaluate(
            f"{table}.querySelectorAll('td a').forEach(each => each.textContent = 'what to do next '.repeat(6))"
        )
        first, whole = page.evaluate(f"[{table}.querySelector('td'), {table}].map(each => each.clientWidth)")
        assert first > 0.35 * whole, width
    page.close()


def test_every_page_fits_a_phone(chromium: Any, site: Site, pictured: Callable[[Any, str], None]) -> None:
    context = chromium.new_context(viewport=PHONE, is_mobile=True, has_touch=True)
    context.set_default_timeout(PATIENCE_S * 1_000)
    page = context.new_page()
    for path in (*PAGES, "/ui/live", *details(site).values()):
        page.goto(site.address + path)
        width = page.evaluate("document.scrollingElement.scrollWidth")
        assert width <= PHONE["width"], path
    page.goto(site.address + details(site)["episode"])
    pictured(page, "episode-phone")
    context.close()


def test_the_pages_are_reached_by_the_keyboard_alone(page: Any, site: Site) -> None:
    page.goto(site.address + "/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    seen: list[str] = []
    while "Patterns" not in seen and len(seen) < 9:
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.textContent"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/patterns")


def test_keys_open_pages_move_through_rows_and_find(page: Any, site: Site) -> None:
    page.goto(site.address + "/")
    page.keyboard.press("g")
    page.keyboard.press("p")
    page.wait_for_url("**/ui/patterns")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    first = page.locator("#rows tr").first
    assert "here" in str(first.get_attribute("class"))
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("upstream")
    page.keyboard.press("Enter")
    page.wait_for_url("**/ui/search?q=upstream")
    assert "upstream branch" in page.locator("#rows").inner_text()


def test_a_pattern_is_resolved_and_ticked_ones_are_decided_together(page: Any, site: Site) -> None:
    page.goto(site.address + "/ui/patterns")
    row = page.locator("#rows tr", has_text="upstream branch")
    row.locator("input").check()
    page.get_by_role("button", name="Resolve").click()
    page.wait_for_load_state("load")
    assert not page.locator("#rows tr", has_text="upstream branch").count()
    page.goto(site.address + "/ui/patterns?state=resolved")
    page.locator("#rows tr", has_text="upstream branch").locator("a").click()
    page.get_by_role("button", name="Reopen").click()
    page.wait_for_load_state("load")
    assert page.get_by_role("button", name="Resolve").is_visible()


def test_a_click_leads_from_the_list_to_the_pattern_and_its_lesson(page: Any, site: Site) -> None:
    page.goto(site.address + "/ui/patterns")
    page.get_by_text("upstream branch").first.click()
    page.wait_for_url("**/ui/patterns/p*")
    assert "upstream branch" in page.locator("h1.message").inner_text()
    page.get_by_text("git push --set-upstream origin topic").click()
    page.wait_for_url("**/ui/lessons/*")
    assert "git push --set-upstream origin topic" in page.locator("p.do").inner_text()


def test_a_filter_narrows_the_list_without_a_reload(page: Any, site: Site) -> None:
    page.goto(site.address + "/ui/patterns")
    page.evaluate("window.stayed = true")
    before = page.locator("#rows tr").count()
    page.get_by_label("Text", exact=True).fill("upstream")
    assert eventually(lambda: page.locator("#rows tr").count() == 1)
    assert before > 1
    assert page.evaluate("window.stayed") is True
    assert "q=upstream" in page.url


def test_what_happens_arrives_on_the_page_without_a_reload(page: Any, site: Site) -> None:
    page.goto(site.address + "/")
    page.evaluate("window.stayed = true")
    seen = page.locator(".figure", has_text="Failures").inner_text()
    site.runtime.record("support", task="answer", error=LIMIT)
    site.runtime.drain()
    site.runtime.lessons.add(when="disk full while writing", do="remove old segments", scope="global")
    assert eventually(lambda: page.locator(".figure", has_text="Failures").inner_text() != seen)
    assert page.evaluate("window.stayed") is True


def test_the_feed_tells_what_happens_as_it_happens(page: Any, site: Site) -> None:
    page.goto(site.address + "/ui/live")
    page.wait_for_timeout(500)
    made = site.runtime.lessons.add(when=PUSH + " again", do="git push -u origin topic", scope="global")
    assert eventually(lambda: made.id in page.locator("#feed li").first.inner_text())


def test_a_page_that_is_open_says_when_the_database_is_away_and_when_it_is_back(
    page: Any, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object, **__: object) -> None:
        raise StoreError("the database does not answer")

    page.goto(site.address + "/ui/live")
    page.wait_for_timeout(500)
    notice = page.locator("#connection")
    assert not notice.is_visible()
    monkeypatch.setattr(site.runtime.store, "find", down)
    assert eventually(lambda: notice.is_visible() and "database" in notice.inner_text())
    monkeypatch.undo()
    assert eventually(lambda: not notice.is_visible())


def test_an_episode_is_a_timeline_of_red_and_green_with_its_diffs(page: Any, site: Site) -> None:
    page.goto(site.address + details(site)["episode"])
    nodes = [each.get_attribute("class") for each in page.locator(".timeline .node").all()]
    assert [each.split()[-1] for each in nodes] == ["bad", "bad", "bad", "good"]
    page.locator(".timeline .node").last.click()
    attempt = page.locator("#n3")
    attempt.get_by_text("Diff of attempt 3").click()
    assert "+    return a + b" in attempt.locator(".diff").inner_text()
    assert "Guess" in attempt.inner_text()


def test_an_episode_is_taken_back_from_its_page(page: Any, site: Site, furnished: Bench) -> None:
    episode = site.runtime.episodes.list()[0]
    page.goto(f"{site.address}/ui/episodes/{episode.id}")
    page.get_by_role("button", name="Rewind to attempt 1").click()
    page.wait_for_load_state("load")
    assert page.locator(".timeline .node").count() == 2
    assert [each.n for each in site.runtime.episodes.show(episode.id).attempts] == [1]
    furnished.book.resume(episode.id, furnished.means())  # for the other tests: green again


def test_a_proposal_is_approved_on_its_page(page: Any, site: Site) -> None:
    runtime = site.runtime
    for trial in runtime.trials.list(state="open"):
        runtime.trials.stop(trial.id)
    runtime.tick()
    page.goto(site.address + "/ui/proposals")
    button = page.get_by_role("button", name="Approve: start a trial").first
    if not button.count():
        pytest.fail(f"nothing to approve: {runtime.proposals.list()}")
    button.click()
    page.wait_for_url("**/ui/trials/*")
    assert next(each.state for each in runtime.trials.list()) in ("open", "planned")


def test_a_browser_logs_in_and_is_then_let_in_everywhere(chromium: Any, furnished: Bench) -> None:
    secret = "a-token-of-this-run"
    with Site(furnished.runtime, token=secret, workers=0) as site:
        context = chromium.new_context()
        context.set_default_timeout(PATIENCE_S * 1_000)
        page = context.new_page()
        assert page.goto(site.address + "/ui/patterns").status == 401
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        assert "not known" in page.locator("[role=alert]").inner_text()
        page.get_by_label("Token").fill(secret)
        page.get_by_role("button", name="Log in").click()
        page.goto(site.address + "/ui/live")
        page.wait_for_timeout(500)
        made = furnished.runtime.lessons.add(when="no route to host", do="bring the tunnel up", scope="global")
        assert eventually(lambda: made.id in page.locator("#feed").inner_text())
        (cookie,) = context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        context.close()
