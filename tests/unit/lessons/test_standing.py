"""One order and one rule of what is told, whichever surface tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.failures.patterns.ingest import ingest
from ratchet.improving.overview import waiting
from ratchet.lessons import fence, lessons, lookup, portable
from ratchet.lessons.changes import changes_of
from ratchet.lessons.hunk_lines import LINE_CHARS, at_a_word, cut
from ratchet.lessons.mined import mine_session
from ratchet.lessons.mining.evidence import Seen, judged
from ratchet.lessons.mining.shared_words import filled
from ratchet.lessons.recall import recall
from ratchet.lessons.rows import lesson_of
from ratchet.lessons.standing import NEEDS_ERROR
from ratchet.ports import Store
from ratchet.records import Json, Lesson, Row, whole_in
from ratchet.testing.stores import open_store
from support.sessions import call, session, shell

SHOP = "/w/shop"
PIPED = ["(eval):1: permission denied: ", "cat cart.txt \\\n | wc -l", "cat cart.txt | wc -l"]
RETURNS_NIL = "error is not nil (line 8) but it returns nil"
UNWRAPPED = "error returned from external package is unwrapped"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


def learn(store: Store, *told: list[Row], project: str = SHOP) -> list[Lesson]:
    for number, calls in enumerate(told):
        name = f"{project.rpartition('/')[2]}-{number}"
        ingest(store, session(calls, name, start=1_700_000_000.0 + 9_000 * number, project=project))
        mine_session(store, name)
    return lessons.listed(store)


def linted(rule: str, said: str, old: str, new: str) -> list[Row]:
    edit: Row = {"file_path": f"{SHOP}/cart.go", "old_string": old, "new_string": new}
    return [
        shell("golangci-lint run", f"cart.go:9:2: {said} ({rule})\n\t{old}"),
        call("Edit", edit),
        shell("golangci-lint run"),
    ]


def silenced(number: int = 0) -> list[Row]:
    line = f"return nil // {number}"
    return linted(
        "nilerr",
        RETURNS_NIL,
        "return nil",
        f"return nil //nolint:nilerr // best effort {line[-1]}",
    )


def wrapped() -> list[Row]:
    return linted(
        "wrapcheck",
        UNWRAPPED,
        "return err",
        'return fmt.Errorf("open: %w", err)',
    )


def unpiped() -> list[Row]:
    error, failed, worked = PIPED
    return [shell(failed, error), shell(worked)]


def row(name: str, **more: Json) -> Row:
    return {
        "id": name,
        "text": name,
        "state": "active",
        "scope": "project",
        "kind": "other",
        "tried": 2,
        "worked": 2,
        **more,
    }


def test_what_several_sessions_mended_stands_first_then_habits_then_what_one_showed() -> None:
    linter: dict[str, Json] = {"rule": "edit", "keys": ["wrapcheck"], "told": [["add fmt.Errorf"]]}
    rows = [
        row("habit", rule="edit", keys=["nilerr"], told=[["suppress nolint:nilerr"]], worked=9, tried=9),
        row("restates", rule="edit", says_itself=True, worked=8, tried=8),
        row("renames", rule="edit", told=[["instead shadowPrefix"]], worked=1, tried=1),
        row("unproven flag", rule="flag", worked=1, tried=1),
        row("minority", **linter, tried=7),
        row("explained", **linter, worked=7, tried=7),
        row("seen once", rule="form", worked=1, tried=1),
        row("seen to fail", rule="never", worked=0),
        row("form", rule="form"),
        row("a person's", tried=0, worked=0),
    ]
    ordered = [each.id for each in sorted(map(lesson_of, rows), key=lessons.by_merit)]
    assert ordered == [
        *("form", "seen to fail", "a person's", "explained", "minority"),
        *("habit", "seen once", "renames", "unproven flag", "restates"),
    ]


def test_a_habit_of_the_project_is_told_everywhere_and_first_nowhere(store: Store, tmp_path: Path) -> None:
    found = learn(store, *[silenced(at) + wrapped() + unpiped() for at in range(3)])
    told = [each.text.partition(" (")[0] for each in found if each.state == "active"]
    assert [each[:12] for each in told] == ["Write a comm", "Use `fmt.Err", "Mend it, unl"]
    assert [each.is_habit for each in found if each.state == "active"] == [False, False, True]
    assert found[-1].proof == "a habit here, in all 3 sessions"
    synced = portable.sync(store, tmp_path / "AGENTS.md", project=SHOP)
    notes = (tmp_path / "AGENTS.md").read_text()
    assert (synced.lessons, synced.left_out) == (3, {})
    assert notes.index("Write a command") < notes.index("fmt.Errorf") < notes.index("this project silences it")
    start = [str(each["text"])[:12] for each in lookup.top(str(tmp_path), SHOP)]
    assert start == [each[:12] for each in told]
    error = f"cart.go:9:2: {RETURNS_NIL} (nilerr)\ncart.go:12:2: {UNWRAPPED} (wrapcheck)"
    assert [each.lesson.is_habit for each in recall(store, error).lessons] == [False, True]
    assert "nolint" not in portable.export(store), "somebody else's habit is no evidence"


def test_a_session_is_told_at_its_start_what_every_list_says_it_is(store: Store, tmp_path: Path) -> None:
    tui = [shell("shop list", "Error: could not open a new TTY: device not configured"), shell("shop list --json")]
    spawn = [call("Grep", {"pattern": "cart"}, error="Error: spawn /opt/rg ENOENT"), shell("rg cart")]
    sessions = [silenced(at) + wrapped() + tui + spawn for at in range(3)]
    found = learn(store, unpiped() + sessions[0], *sessions[1:])
    active = [each for each in found if each.state == "active" and not each.unsaid]
    said, told = fence.digest(lookup.top(str(tmp_path), SHOP), fence.START_LIMIT)
    assert [row["id"] for row in told] == [each.id for each in active]
    assert all(f"lesson {each.id}]" in said for each in active)
    behind = [each for each in found if each.unsaid == NEEDS_ERROR]
    assert [each.text[:14] for each in behind] == ["`Grep` cannot ", "Run `shop list"]
    synced = portable.sync(store, tmp_path / "AGENTS.md", project=SHOP)
    assert [(each.is_habit, each.tried) for each in active] == [(False, 3), (True, 3), (False, 1)]
    assert behind[1].text in (tmp_path / "AGENTS.md").read_text(), "with its error beside it"
    assert synced.lessons == len(active) + len(behind)


def test_a_finding_is_recalled_with_and_without_its_place(store: Store) -> None:
    learn(store, wrapped(), wrapped())
    for place in ("", "cart.go:12:2: ", "the build failed: cart.go:12:2: "):
        (found,) = recall(store, f"{place}{UNWRAPPED} (wrapcheck)").lessons
        assert (found.match, found.text[:12]) == ("finding", "Use `fmt.Err")


def test_a_habit_counts_the_session_that_wrote_it_along(store: Store) -> None:
    along = "return nil //nolint:nilerr // the file may be gone"
    written = [call("Edit", {"file_path": "/w/shop/other.go", "old_string": "return err", "new_string": along})]
    (found,) = learn(store, silenced(1), silenced(2), written)
    assert (found.state, found.proof) == ("active", "a habit here, in 3 sessions, in 2 of them after this finding")
    assert (found.tried, found.worked) == (2, 2), "what was written along is no proof that it ended this finding"
    assert "`//nolint:nilerr` (2 of 2 fixes, in 3 sessions, in 2 of them after this finding)" in found.text
    held = store.get("lessons", found.id)
    assert held is not None
    assert "+ return nil //nolint:nilerr // <the reason, at this place>" in found.text, (
        "another place's is none to copy"
    )
    assert "[a habit here, in 3 sessions, in 2 of them after this finding;" in fence.digest([held], 4000)[0]


@pytest.mark.parametrize(
    ("finding", "of", "mark"),
    [
        ("gosec", "G304: Potential file inclusion via variable", "gosec"),
        ("gocritic", "ifElseChain: rewrite if-else to switch statement", "gocritic"),
    ],
)
def test_a_mark_of_several_rules_is_a_habit_of_none_that_it_was_not_written_for(
    store: Store, finding: str, of: str, mark: str
) -> None:
    old, new = "x, _ := open(p)", f"x, _ := open(p) //nolint:{mark} // the path is ours"
    along = [call("Edit", {"file_path": "/w/shop/other.go", "old_string": "y := f()", "new_string": new})]
    told = [*[linted(finding, of, old, new)] * 2, *[along] * 5]
    (found,) = learn(store, *told)
    assert (found.state, found.proof) == ("candidate", "a habit here, in both sessions")
    (found,) = learn(store, *told, told[0])
    assert (found.state, found.proof) == ("active", "a habit here, in all 3 sessions")


def test_a_habit_waits_for_its_third_session_and_says_so(store: Store) -> None:
    (found,) = learn(store, silenced(1), silenced(2))
    assert (found.state, found.reason) == ("candidate", "it switches a check off: told once 3 sessions did so")
    learn(store, [shell("git push", "fatal: no such remote 'up'"), shell("git push origin")], project="/w/other")
    assert [each.is_habit for each in waiting(store)] == [True], "what one session saw waits for nobody"


def test_counts_and_evidence_are_those_of_the_remedy_that_is_told_first(store: Store) -> None:
    said = "Error return value is not checked"
    checked = linted("errcheck", said, "x, _ := open()", "x, err := open()\n\tif err != nil {\n\t\treturn err\n\t}")
    quiet = linted("errcheck", said, "_ = open()", "_ = open() //nolint:errcheck // best effort")
    (found,) = [each for each in learn(store, quiet, checked, quiet, checked, quiet) if each.state == "active"]
    assert found.text.startswith("Check the error (2 of 5 fixes, 2 sessions)")
    assert found.proof == "met in 5 sessions, worked in 2 of them"
    assert {name.rsplit("-", 1)[0] for name in found.evidence} == {"o-shop-1", "o-shop-3"}


def test_each_edit_says_which_of_two_remedies_it_shows(store: Store) -> None:
    said = "Error return value is not checked"
    checked = linted("errcheck", said, "x, _ := open()", "x, err := open()\n\tif err != nil {\n\t\treturn err\n\t}")
    silent = linted("errcheck", said, "x, _ := open()", "x, _ := open() //nolint:errcheck // best effort")
    (found,) = learn(store, *[checked] * 3, *[silent] * 3)
    held = store.get("lessons", found.id)
    assert held is not None
    shown = [each.split("\n")[0].partition(": ")[2] for each in changes_of(store, held)]
    assert (
        shown == ["check the error"] * 2 + ["`//nolint:errcheck` with the reason beside it (this project's way)"] * 3
    ), "the newest five, those of the first remedy first"


def test_a_fix_of_which_nobody_can_say_which_edit_it_was_speaks_for_no_other() -> None:
    imported = Seen(
        session="a", at=1, fixed=True, forms=frozenset(["import shop.io/cart/id"]), added=('"shop.io/cart/id"',)
    )
    unknown = Seen(session="b", at=2, fixed=True, forms=frozenset())
    other = Seen(session="b", at=2, fixed=True, forms=frozenset(["add ids.New"]), added=("ids.New()",))
    found, half = judged("c:undefined: id", [imported, unknown]), judged("c:undefined: id", [imported, other])
    assert found is not None
    assert half is not None
    assert (found.state, found.tried, found.worked) == ("active", 1, 1)
    assert "(1 of 1 fix, 1 session)" in found.text
    assert (half.state, half.reason) == ("candidate", "it was otherwise in 1 of 2 sessions")


MISSING, NO_TOOL = "<path>: No such file", "no tool <name> here"


@pytest.mark.parametrize(
    ("template", "met", "advice", "want"),
    [
        (MISSING, "/tmp/shop-bin: No such file", "Run `go build -o /tmp/shop-bin`.", "/tmp/shop-bin: No such file"),
        (MISSING, "/tmp/other: No such file", "Run `make` first.", MISSING),
        (NO_TOOL, "no tool 'tree' here|no tool 'tree' here", "Use `find`.", "no tool 'tree' here"),
        (NO_TOOL, "no tool 'tree' here|no tool 'fd' here", "Use `find`.", NO_TOOL),
        ("line <num>: bad", "line 3: bad|line 3: bad", "Mend it.", "line <num>: bad"),
        ("<path> is bad", "x/y.go is bad|it is worse", "Mend it.", "<path> is bad"),
    ],
)
def test_a_mask_is_filled_with_what_all_sightings_share(template: str, met: str, advice: str, want: str) -> None:
    sightings = [(f"session {at}", said) for at, said in enumerate(met.split("|"))]
    assert filled(template, sightings, advice) == want


def test_a_mask_that_the_advice_fills_is_filled_on_every_surface(store: Store, tmp_path: Path) -> None:
    error = "./run.sh: line 3: /tmp/shop-bin: No such file or directory"
    (found,) = learn(store, [shell("./run.sh", error), shell("go build -o /tmp/shop-bin ./cmd"), shell("./run.sh")])
    assert found.met.endswith(": /tmp/shop-bin: No such file or directory")
    portable.sync(store, tmp_path / "AGENTS.md", project=SHOP)
    assert f"`{found.met}`" in (tmp_path / "AGENTS.md").read_text()
    from ratchet.lessons.fence import digest, fence

    rows = lookup.top(str(tmp_path), SHOP)
    assert found.met in " ".join(fence(rows, 1000).split())
    said = digest(rows, 4000)[0]
    assert "No such file" not in said, "ahead of its failure no word of an output is told"


def test_a_sentence_is_cut_at_a_word() -> None:
    assert at_a_word("in 7 of 12 fixes, 4 sessions", 24) == "in 7 of 12 fixes, 4…"
    assert at_a_word("in 7 of 12 fixes", 16) == "in 7 of 12 fixes"
    assert at_a_word("x" * 30, 10) == "x" * 9 + "…", "of one long word as much as fits"


code = st.text(st.sampled_from("abc( ),*."), min_size=1, max_size=300)


@given(code, code, code, code)
def test_a_line_of_a_hunk_is_cut_around_what_differs(start: str, old: str, new: str, end: str) -> None:
    lines = [f"- {start}{old}{end}", f"+ {start}{new}{end}"]
    shown = cut(lines)
    assert all(len(line) <= LINE_CHARS for line in shown)
    assert cut(shown) == shown
    assert (shown[0][2:] == shown[1][2:]) <= (lines[0][2:] == lines[1][2:]), "what differs is seen"


def test_a_long_signature_shows_what_became_of_its_end() -> None:
    signature = f"func (s *Store) archive({', '.join(f'argument{at} map[string]object' for at in range(9))})"
    shown = cut([f"- {signature} error {{", f"+ {signature} {{"])
    assert [line[-9:] for line in shown] == [") error {", "object) {"]
    assert all(line.startswith(("- func (s *Store)", "+ func (s *Store)")) for line in shown)


def test_what_two_projects_say_alike_is_said_once(store: Store) -> None:
    learn(store, unpiped(), unpiped())
    learn(store, unpiped(), project="/w/other")
    assert len({each.text for each in lessons.listed(store)}) == 1 < len(lessons.listed(store))
    recalled = recall(store, PIPED[0])
    (found,) = recalled.lessons or recalled.possibly
    assert len(found.learnt_in) == 2
    patterns = {str(row["pattern"]) for row in store.find("signatures").rows}
    assert {len(each) for each in lessons.by_pattern(store, patterns).values()} == {1}
    assert not found.lesson.example, "an example that repeats the advice is none"


def test_a_file_of_notes_is_kept_short_and_says_what_it_leaves_out(store: Store, tmp_path: Path) -> None:
    for at in range(60):
        name = chr(97 + at // 26) + chr(97 + at % 26)
        lessons.add(
            store, when=f"error of {name}{name}", do=f"Mend {name} " + "well " * 20, state="active", project=SHOP
        )
    found = portable.sync(store, tmp_path / "AGENTS.md", project=SHOP)
    block = (tmp_path / "AGENTS.md").read_text()
    assert 3500 < len(re.findall(r"(?s)- When.*", block)[0]) < 4100
    assert found.left_out == {
        "an agent reads 8 of what sessions taught at every start, and 4,000 characters of lessons in all": 60
        - found.lessons
    }


def test_what_the_message_says_or_one_session_renamed_is_not_told_ahead(store: Store, tmp_path: Path) -> None:
    renamed = [
        shell("go build ./...", "cart.go:9:2: undefined: paths.ShadowPrefix"),
        call("Edit", {"file_path": f"{SHOP}/cart.go", "old_string": "paths.ShadowPrefix", "new_string": "shadowName"}),
        shell("go build ./..."),
    ]
    (found,) = learn(store, renamed)
    assert (found.state, "in its place" in found.text) == ("active", True)
    assert lookup.top(str(tmp_path), SHOP) == []
    synced = portable.sync(store, tmp_path / "AGENTS.md", project=SHOP)
    assert synced.left_out == {
        "one session alone met the name that it is about; it is told where that very name fails": 1
    }
    assert recall(store, "cart.go:9:2: undefined: paths.ShadowPrefix").lessons, "it is told where it fails"


def test_notes_hold_what_another_folder_of_the_project_taught(store: Store, tmp_path: Path) -> None:
    added = lessons.add(store, when="error of carts", do="Mend the cart", state="active", project="/w/shop-worktrees/x")
    held = store.get("lessons", added.id) or {}
    assert store.swap("lessons", added.id, whole_in(held, "revision"), {**held, "project": "/w/shop"})
    assert portable.sync(store, tmp_path / "AGENTS.md", project="/w/shop").lessons == 1
    assert "Mend the cart" in (tmp_path / "AGENTS.md").read_text()


def test_what_got_past_a_check_is_not_said_to_have_worked() -> None:
    assert lesson_of(row("skips", state="quarantined", tried=4, worked=4)).proof == "passed in all 4 sessions"
