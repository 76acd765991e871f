"""What mends a finding: a command that rewrites the code, or an edit; and what only went with it."""

from __future__ import annotations

from pathlib import Path

from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.lessons import listed
from ratchet.lessons.mined import mine_session
from ratchet.lessons.mining.mining import resolutions
from ratchet.testing.stores import open_store
from support.sessions import call, session, shell

LET = "lib/cart.ts:3:5 lint/style/useConst  FIXABLE  ━━━━━\n\n  × This let declares a variable that is assigned once.\n"


def test_a_keyword_in_anothers_place_is_no_other_name() -> None:
    edit = call(
        "Edit",
        {"file_path": "/w/shop/lib/cart.ts", "old_string": "let cart = open();", "new_string": "const cart = open();"},
    )
    rows = session([shell("biome check", LET + "  > 3 │ let cart = open();"), edit, shell("biome check")])
    (found,) = [each for each in resolutions(rows) if each.way == "edit"]
    assert found.forms == ("use const",)


ANALYSED = (
    "  error - lib/list.dart:12:5 - The method 'when' isn't defined for the type 'Result'. - undefined_method\n"
    "warning - lib/list.dart:13:14 - The type of x can't be inferred. - inference_failure_on_untyped_parameter\n"
)


def test_what_followed_from_a_name_that_was_not_known_has_no_fix_of_its_own() -> None:
    edit = call(
        "Edit",
        {
            "file_path": "/w/shop/lib/list.dart",
            "old_string": "result.when(\n  success: (x) {},\n);",
            "new_string": "switch (result) {\n  case Success():\n}",
        },
    )
    rows = session([shell("dart analyze", ANALYSED), edit, shell("dart analyze")])
    forms = {each.keys[0]: each.forms for each in resolutions(rows) if each.way == "edit"}
    assert forms["rule:undefined: Result.when"] == ("use case", "use switch")
    assert forms["rule:inference_failure_on_untyped_parameter"] == ()


UNFORMATTED = "lib/cart.ts format ━━━━━━━━\n\n  × Formatter would have printed the following content:\n"


def test_what_rewrites_what_a_check_complains_of_mends_it_however_often_the_check_passes_elsewhere(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    mended = [shell("bun run lint", UNFORMATTED), shell("bun run lint:fix"), shell("bun run lint")]
    for number, calls in enumerate([mended, mended, mended, *[[shell("bun run lint")]] * 8]):
        ingest(store, session(calls, f"s{number}", start=1_700_000_000.0 + 3_600 * number))
        mine_session(store, f"s{number}")
    (lesson,) = listed(store)
    assert (lesson.state, lesson.text) == ("active", "Run `bun run lint:fix` first, then `bun run lint` again.")
    store.close()


def test_an_edit_between_may_have_mended_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    edit = call("Edit", {"file_path": "/w/shop/lib/cart.ts", "old_string": "a", "new_string": "b"})
    mended = [shell("bun run lint", UNFORMATTED), edit, shell("bun run lint:fix"), shell("bun run lint")]
    for number in range(3):
        ingest(store, session(mended, f"s{number}", start=1_700_000_000.0 + 3_600 * number))
        mine_session(store, f"s{number}")
    assert [each.text for each in listed(store) if "lint:fix" in each.text] == []
    store.close()
