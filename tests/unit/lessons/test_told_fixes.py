"""A lesson says what to do, as the shortest fix did it, and what a flag that is gone was for."""

from __future__ import annotations

import pytest

from ratchet.lessons.lessons import by_merit
from ratchet.lessons.mining.evidence import Seen, judged
from ratchet.lessons.mining.mining import Resolution, resolutions
from ratchet.lessons.rows import lesson_of
from ratchet.records import Lesson, LessonState, Row
from support.sessions import call, session, shell


def told(*fixes: tuple[str, list[str], list[str]], key: str = "wrapcheck") -> str:
    """The text of what these fixes (feature, removed, added) share."""
    seen = [
        Seen(session=f"s{at}", at=at, fixed=True, forms=frozenset(form.split(", ")), removed=(*old,), added=(*new,))
        for at, (form, old, new) in enumerate(fixes)
    ]
    verdict = judged(key, seen)
    assert verdict is not None
    return verdict.text


def test_a_call_is_told_as_it_is_written() -> None:
    forms = "add fmt.Errorf, add %w"
    text = told(*[(forms, ["return err"], [f'return fmt.Errorf("open {name}: %w", err)']) for name in "ab"])
    assert text.splitlines()[0] == 'Use `fmt.Errorf("...: %w", err)` (2 of 2 fixes, 2 sessions), for example:'


def test_code_keeps_its_depth_beside_the_other_lines_and_loses_that_of_its_block() -> None:
    old, new = ["\tif bad {", "\t\treturn err", "\t}"], ["\tif bad {", '\t\treturn wrap("x", err)', "\t}"]
    text = told(*[("add wrap", old, new)] * 2)
    assert text.splitlines()[1:4] == ["- if bad {", "- \treturn err", "- }"]
    assert '+ \treturn wrap("x", err)' in text.splitlines()


def test_a_line_that_is_changed_at_several_places_alike_is_shown_once() -> None:
    old, new = ["\t\tfile.Close()", "\tfile.Close()"], ["\t\t_ = file.Close()", "\t_ = file.Close()"]
    text = told(*[("put in _ =", old, new)] * 2, key="gosec:G104")
    assert text.splitlines()[1:] == ["- file.Close()", "+ _ = file.Close()"]


def test_of_two_fixes_the_one_that_is_used_more_often_is_told_as_that() -> None:
    checked = ("check the error", ["x, _ := open()"], ["x, err := open()", "if err != nil {", "}"])
    silenced = ("suppress nolint:errcheck", ["open()"], ["open() //nolint:errcheck // a try"])
    text = told(*[checked] * 2, *[silenced] * 3, key="errcheck")
    assert text.startswith("Check the error (2 of 5 fixes, 2 sessions), for example:\n")
    assert text.splitlines()[-1].startswith(
        "Where it is meant so, as more often here, this project silences it, with the reason beside"
    )
    assert text.endswith("(3 of 5 fixes, 3 sessions).")


def test_what_two_sessions_silenced_is_no_habit_behind_another_fix_either() -> None:
    checked = ("check the error", ["x, _ := open()"], ["x, err := open()", "if err != nil {", "}"])
    silenced = ("suppress nolint:errcheck", ["open()"], ["open() //nolint:errcheck // a try"])
    assert "nolint" not in told(*[checked] * 3, *[silenced] * 2, key="errcheck")


def test_what_an_example_leaves_out_is_marked() -> None:
    old, new = [f"step{at}()" for at in range(9)], ["all := collect()"]
    text = told(*[("extract a function", old, new)] * 2, key="maintidx")
    assert text.splitlines() == [
        "Split it: make a part a function (a helper) of its own (2 of 2 fixes, 2 sessions), for example:",
        *("- step0()", "- step1()", "- step2()", "- ...", "+ all := collect()"),
    ]


def test_a_long_line_is_cut_where_it_differs_from_the_one_beside_it() -> None:
    kept = "func archive(" + "path string, " * 20
    text = told(*[("change the signature", [f"{kept}old bool) error {{"], [f"{kept}old bool) {{"])] * 2, key="unparam")
    _, gone, new = text.splitlines()
    assert (gone[:21], new[:21]) == ("- func archive(path s", "+ func archive(path s")
    assert "…" in gone
    assert gone.endswith("old bool) error {")
    assert new.endswith("old bool) {")


def test_keywords_that_were_only_added_are_told_as_missing() -> None:
    assert told(*[("use case", [], ["case Blue:"])] * 2, key="exhaustive").startswith("Add `case` (")
    assert told(*[("use switch", ["if a {"], ["switch a {"])] * 2, key="c").startswith("Write it with `switch` (")
    new = ["switch a {", "case 1:", "}"]
    text = told(*[("use case, use switch", ["if a == 1 {"], new)] * 2, key="gocritic:ifElseChain")
    assert text.startswith("Write it with `switch` and `case` (")


def test_an_import_is_news_at_once_only_where_its_name_does_not_tell_it() -> None:
    def state(name: str, path: str, sessions: int) -> str:
        seen = [
            Seen(session=f"s{at}", at=at, fixed=True, forms=frozenset([f"import {path}"])) for at in range(sessions)
        ]
        verdict = judged(f"c:undefined: {name}", seen)
        return verdict.state if verdict is not None else ""

    assert state("cart", "shop.io/cart", 1) == "active"
    assert state("strings", "strings", 1) == "", "everybody knows it"
    assert state("strings", "strings", 2) == "active"


def test_what_is_asked_of_what_stood_there_is_one_fix_wherever_it_stood() -> None:
    finding = "cart.go:9:9: cannot use {0} (variable of string type shop.ID) as string value in argument to add"
    found = [
        fixed("go build ./...", finding.format(name), edit("cart.go", f"\tadd({name})", f"\tadd({name}.String())"))
        for name in ("cart.ID", "id")
    ]
    assert {each.keys for each in found} == {("c:cannot use shop.ID as string",)}
    assert all("add .String" in each.forms for each in found)
    fixes = [("add .String", list(each.removed), list(each.added)) for each in found]
    assert told(*fixes, key=found[0].keys[0]).startswith("Use `.String()` (2 of 2 fixes, 2 sessions)")


def fixed(check: str, finding: str, *edits: Row) -> Resolution:
    made = resolutions(session([shell(check, finding), *edits, shell(check)]))
    (found,) = [each for each in made if each.way == "edit"]
    return found


def edit(path: str, old: str, new: str) -> Row:
    return call("Edit", {"file_path": f"/w/shop/{path}", "old_string": old, "new_string": new})


def placed(line: int, made: Row) -> Row:
    """The edit as an agent that tells lines reports it."""
    step = made["step"]
    assert isinstance(step, dict)
    return {**made, "step": {**step, "change": f"@@ {line} {line}\n{step['change']}"}}


def test_a_new_constant_in_the_literals_place_is_a_name_for_it() -> None:
    finding = 'cart_test.go:9:9: string has 3 occurrences (goconst)\n\tcontent := "one, two"'
    new = 'const lines = "one, two"\n\n\tcontent := lines'
    found = fixed("golangci-lint run", finding, edit("cart_test.go", '\tcontent := "one, two"', new))
    assert "put a name for the literal" in found.forms


def test_names_that_a_project_has_for_literals_are_no_words_of_a_tool() -> None:
    message = "string `user` has 3 occurrences, make it a constant (goconst)"

    def seen(old: str, new: str, session: str) -> Seen:
        form = frozenset(("put a name for the literal",))
        at = float(ord(session))
        return Seen(session=session, at=at, fixed=True, forms=form, message=message, removed=(old,), added=(new,))

    where = 'if role == "{}" || kind(role) == "{}" {{'
    fixes = [seen(where.format("user", "text"), "if role == roleUser || kind(role) == kinds.Text {", "a")]
    verdict = judged("goconst", [*fixes, seen('\towner := "Shop Inc"', "\towner := company", "b")])
    assert verdict is not None
    assert not verdict.says_itself
    names = '`roleUser` for `"user"`, `kinds.Text` for `"text"`, `company` for `"Shop Inc"`'
    assert verdict.text.endswith(f"\nNames that there are: {names}.")
    verdict = judged("goconst", [seen('see("user")', 'who := "user"; see(who)', name) for name in ("a", "b")])
    assert verdict is not None
    assert verdict.says_itself  # a variable of one place


@pytest.mark.parametrize(
    ("old", "new", "form"),
    [
        ("func total(cart Cart) bool {", "func total(cart Cart) {", "change the signature"),
        ("func total(cart Cart, new int) {", "func total(cart Cart, added int) {", "rename"),
        ('id := Parse("new total")', 'id := Parse("0a1b2c")', "change a literal"),
    ],
)
def test_a_change_of_a_line_is_told_apart_by_what_it_keeps(old: str, new: str, form: str) -> None:
    found = fixed("golangci-lint run", f"cart.go:9:9: new total is odd (revive)\n\t{old}", edit("cart.go", old, new))
    assert found.forms == (form,)


def test_a_shortened_name_is_shown_with_the_line_that_makes_it_known() -> None:
    said = "Nested modules could be aliased at the top of the invoking module."
    finding = f"┃ [D] ↘ {said}\n┃       lib/cart.ex:9:5 #(Shop.total)"
    edits = [
        placed(9, edit("lib/cart.ex", "    Shop.Stock.Price.of(cart)", "    Price.of(cart)")),
        placed(2, edit("lib/cart.ex", "", "  alias Shop.Stock.Price")),
    ]
    found = fixed("mix credo", finding, *edits)
    assert "shorten a name" in found.forms
    assert [line.strip() for line in found.added] == ["alias Shop.Stock.Price", "Price.of(cart)"]


@pytest.mark.parametrize(
    ("later", "advice"),
    [
        (
            "lintctl run --only dupl ./...",
            "use `--only` instead (`lintctl run --only dupl",
        ),
        (
            "lintctl run --enable=dupl",
            "leave it out (`lintctl run --enable=dupl` works).",
        ),
        ("lintctl run --skip dupl", "leave it out (`lintctl run` works)."),
    ],
)
def test_a_flag_is_left_out_only_if_its_purpose_was_kept(later: str, advice: str) -> None:
    failed = shell("lintctl run --none --enable=dupl", "Error: unknown flag: --none")
    found = [each for each in resolutions(session([failed, shell("lintctl run"), shell(later)])) if each.rule == "flag"]
    assert [each.text.startswith(f"`lintctl run` has no `--none`: {advice}") for each in found] == [True], [
        each.text for each in found
    ]


UNKNOWN = [
    (
        "npx tsc",
        "src/cart.ts(9,3): error TS2304: Cannot find name 'formatPrice'.",
        ("src/cart.ts", "import { Cart } from './types';", "import { formatPrice } from '@/lib/price';"),
        "Import it: `import { formatPrice } from '@/lib/price';` (1 of 1 fix, 1 session).",
    ),
    (
        "npx tsc",
        "src/cart.ts(1,10): error TS2305: Module '\"./types\"' has no exported member 'Price'.",
        ("src/cart.ts", "import { Price } from './types';", "import { Price } from './price';"),
        "Import it: `import { Price } from './price';` (1 of 1 fix, 1 session).",
    ),
    (
        "python -m pytest",
        "  File \"shop/cart.py\", line 9, in total\nNameError: name 'Price' is not defined",
        ("shop/cart.py", "import json", "import json\nfrom shop.price import Price"),
        "Import it: `from shop.price import Price` (1 of 1 fix, 1 session).",
    ),
    (
        "go build ./...",
        "cart.go:9:9: undefined: shop.Total",
        ("cart.go", "\treturn shop.Total(cart)", "\treturn shop.Sum(cart)"),
        "Use `Sum` in its place (1 of 1 fix, 1 session), for example:",
    ),
    (
        "go build ./...",
        "cart.go:9:9: undefined: shop.Total",
        ("cart.go", "\treturn shop.Total(cart)", "\treturn prices.Sum(cart)"),
        "Use `prices.Sum` in its place (1 of 1 fix, 1 session), for example:",
    ),
    (
        "cargo check",
        "error[E0599]: no method named `total` found for struct `Cart` in the current scope\n --> src/cart.rs:9:4",
        ("src/cart.rs", "    cart.total()", "    cart.sum()"),
        "Use `sum` in its place (1 of 1 fix, 1 session), for example:",
    ),
]


@pytest.mark.parametrize(("check", "finding", "change", "said"), UNKNOWN)
def test_of_a_name_that_is_not_known_it_is_told_at_once_whence_it_comes_or_what_it_is_called(
    check: str, finding: str, change: tuple[str, str, str], said: str
) -> None:
    found = fixed(check, finding, edit(*change))
    seen = Seen(session="s", at=1, fixed=True, forms=frozenset(found.forms), removed=found.removed, added=found.added)
    verdict = judged(found.keys[0], [seen])
    assert verdict is not None
    assert (verdict.state, verdict.text.split("\n")[0]) == ("active", said)


@pytest.mark.parametrize(
    ("missing", "other"), [("cpID", "checkpoint"), ("shop.Total", "prices.Total")], ids=["a variable", "moved"]
)
def test_another_name_for_one_places_own_or_one_that_was_moved_waits_for_a_second_session(
    missing: str, other: str
) -> None:
    change = edit("cart.go", f"\tadd({missing})", f"\tadd({other})")
    found = fixed("go build ./...", f"cart.go:9:9: undefined: {missing}", change)
    seen = Seen(session="s", at=1, fixed=True, forms=frozenset(found.forms))
    verdict = judged(found.keys[0], [seen])
    assert verdict is not None
    assert verdict.state == "candidate"


def test_what_a_session_renamed_itself_is_no_news() -> None:
    (found,) = [
        each
        for each in resolutions(
            session(
                [
                    edit("shop.go", "func Total() int {", "func Sum() int {"),
                    shell("go build ./...", "cart.go:9:9: undefined: shop.Total"),
                    edit("cart.go", "\treturn shop.Total()", "\treturn shop.Sum()"),
                    shell("go build ./..."),
                ]
            )
        )
        if each.way == "edit"
    ]
    assert not any(form.startswith("instead ") for form in found.forms)


@pytest.mark.parametrize(("hint", "says"), [("", False), (" Did you mean 'Carts'?", True)])
def test_another_name_is_news_unless_the_tool_asks_for_it(hint: str, *, says: bool) -> None:
    finding = f"src/cart.ts(9,3): error TS2304: Cannot find name 'Cart'.{hint}"
    found = fixed("npx tsc", finding, edit("src/cart.ts", "  add(new Cart)", "  add(new Carts)"))
    seen = Seen(session="s", at=1, fixed=True, forms=frozenset(found.forms), message=found.message, added=found.added)
    verdict = judged(found.keys[0], [seen])
    assert verdict is not None
    assert verdict.says_itself is says


@pytest.mark.parametrize(
    ("key", "form", "known"),
    [
        ("exhaustive", "use case", True),
        ("revive:redefines-builtin-id", "rename", True),
        ("c:undefined: errors", "import errors", True),
        ("c:undefined: price", "import shop.io/price", False),
        ("wrapcheck", "add fmt.Errorf", False),
        ("nilerr", "suppress nolint:nilerr", False),
    ],
)
def test_a_fix_is_news_ahead_of_its_failure_where_it_is_this_projects(key: str, form: str, *, known: bool) -> None:
    seen = [Seen(session=f"s{at}", at=at, fixed=True, forms=frozenset([form])) for at in range(3)]
    verdict = judged(key, seen)
    assert verdict is not None
    assert verdict.known is known


def test_a_name_that_a_test_run_missed_is_not_found_again_by_a_linter() -> None:
    missed = "ReferenceError: total is not defined\n ❯ src/cart.test.ts:9:5"
    made = resolutions(
        session(
            [
                shell("npx vitest run", missed),
                edit("src/cart.test.ts", "  total(cart)", "  sum(cart)"),
                shell("npx eslint src"),
                shell("npx vitest run", missed),
            ]
        )
    )
    assert not any(each.worked for each in made if each.way == "edit")


def test_candidates_stand_in_the_order_of_their_evidence_and_active_ones_of_what_they_save() -> None:
    def lesson(
        name: str, state: LessonState, worked: int, right: int = 0, wrong: int = 0, wasted_s: float = 0
    ) -> Lesson:
        counts: Row = {"tried": worked, "worked": worked, "right": right, "wrong": wrong, "wasted_s": wasted_s}
        return lesson_of({"id": name, "text": name, "state": state, "scope": "project", "kind": "other", **counts})

    rows = [
        lesson("dear once", "candidate", 1, wasted_s=9000),
        lesson("three, mostly wrong", "candidate", 3, right=1, wrong=3),
        lesson("three, mostly right", "candidate", 3, right=2, wrong=1),
        lesson("cheap", "active", 3),
        lesson("dear", "active", 2, wasted_s=9000),
    ]
    ordered = [each.id for each in sorted(rows, key=by_merit)]
    assert ordered == ["dear", "cheap", "three, mostly right", "three, mostly wrong", "dear once"]


@pytest.mark.parametrize(
    ("path", "old", "new", "form", "said"),
    [
        ("notes.md", "```", "```text", "swap ``` > ```text", "Put `` ```text `` in the place of `` ``` `` ("),
        ("cart.ts", "id == of", "id === of", "swap == > ===", "Put `===` in the place of `==` ("),
        ("cart.ts", "of(cart)", "of(cart ?? none)", "put in ?? none", "Put in `?? none` ("),
        ("cart.dart", "card(cart as Cart),", "card(cart),", "leave out as Cart", "Leave out `as Cart` ("),
    ],
)
def test_tokens_that_took_the_place_of_others_are_a_fix_in_any_language(
    path: str, old: str, new: str, form: str, said: str
) -> None:
    found = fixed("git commit -m x", f"{path}:9:2: error X123/odd it is odd: `{old}`", edit(path, old, new))
    assert found.forms == (form,)
    assert told(*[(form, [old], [new])] * 2, key="rule:X123/odd").startswith(said)


def test_in_prose_a_keyword_is_a_word_and_a_dotted_name_a_file() -> None:
    found = fixed(
        "markdownlint .",
        "notes.md:9:2 MD009/no-trailing Trailing spaces",
        edit("notes.md", "go on with cart.py\n\nthen", "go on with shop.ts and try to match it\n\nor not"),
    )
    assert not [form for form in found.forms if form.startswith(("use ", "add "))]


def test_how_a_rule_reshapes_code_is_told_after_one_fix_and_a_name_after_two_sessions() -> None:
    def state(form: str, key: str, fixes: int = 1, along: str = "") -> LessonState:
        forms = frozenset(filter(None, (form, along)))
        one = Seen(session="s", at=1.0, fixed=True, forms=forms, removed=("a",), added=("b",))
        verdict = judged(key, [one] * fixes)
        assert verdict is not None
        return verdict.state

    assert state("use switch", "gocritic:ifElseChain") == "active"
    assert state("put a name for the literal", "goconst") == "active"
    assert state("check the error", "wrapcheck", along="add shop.Wrap") == "candidate"
    assert state("add shop.Connect", "ireturn", fixes=2) == "candidate"
    assert state("swap : > !:", "tsc:TS2564") == "active"
    assert state("put in _ =", "gosec:G104") == "candidate"  # it only throws the error away
    assert state("add shop.Connect", "ireturn") == "candidate"
    assert state("suppress nolint:nilerr", "nilerr") == "candidate"


def test_a_text_that_says_nothing_and_one_rewrite_of_a_test_are_no_lesson() -> None:
    def made(form: str, key: str, sessions: str = "s") -> bool:
        forms = frozenset((form,))
        seen = [Seen(session=each, at=1.0, fixed=True, forms=forms, removed=("a",), added=("b",)) for each in sessions]
        return judged(key, seen) is not None

    assert not made("use switch", "c:missing return")
    assert not made("change a literal", "py:KeyError: <>")
    assert not made("add env.Latest", "t:Commit: #"), "a test logs and complains in the same form"
    assert made("add env.Latest", "t:expected # state files, got #", "ab")
    assert made("add shop.ID", "c:cannot use cart as string")
    assert made("rename", "revive:unused-parameter")


def test_what_a_hunk_did_along_with_silencing_its_rule_is_no_fix_of_it() -> None:
    forms = frozenset(("suppress nolint:gosec", "add %w", "add fmt.Errorf"))
    seen = [Seen(session=each, at=1.0, fixed=True, forms=forms, removed=("a",), added=("b",)) for each in "stu"]
    verdict = judged("gosec:G304", seen, {"suppress nolint:gosec": [(1.0, each) for each in "stu"]})
    assert verdict is not None
    assert verdict.forms == (frozenset(("suppress nolint:gosec",)),)


@pytest.mark.parametrize(
    ("own", "along", "state"),
    [
        ("st", "a", "active"),
        ("stu", "", "active"),
        ("st", "s", "candidate"),
        ("s", "abc", "candidate"),
        ("ss", "abc", "active"),  # two findings of the rule
        ("ss", "a", "candidate"),
    ],
)
def test_what_a_project_silences_with_a_reason_is_its_way_wherever_its_edits_do_so(
    own: str, along: str, state: LessonState
) -> None:
    form = "suppress nolint:nilerr"
    seen = [Seen(session=each, at=9.0, fixed=True, forms=frozenset((form,)), added=("b",)) for each in own]
    verdict = judged("nilerr", seen, {form: [(1.0, name) for name in along]})
    assert verdict is not None
    assert verdict.state == state


@pytest.mark.parametrize(
    ("key", "form", "told"),
    [
        ("gosec:G304", "suppress nolint:gosec", True),
        ("rubocop:Style/Alias", "suppress rubocop:disable:Style/Alias", True),
        ("clippy:needless_return", "suppress allow:clippy::needless_return", True),
        ("noctx", "suppress nolint:gosec", False),
    ],
)
def test_another_rule_that_was_silenced_along_is_no_fix(key: str, form: str, *, told: bool) -> None:
    seen = [Seen(session=name, at=1.0, fixed=True, forms=frozenset((form,)), added=("b",)) for name in "abc"]
    assert (judged(key, seen) is not None) == told


@pytest.mark.parametrize(
    ("key", "message", "form"),
    [
        ("goconst", "string `user` has 5 occurrences, make it a constant", "put a name for the literal"),
        ("exhaustive", "missing cases in switch of type shop.Kind: shop.Big", "use case"),
        ("errcheck", "Error return value is not checked", "check the error"),
    ],
)
def test_a_fix_that_the_message_names_in_another_form_of_the_word_says_nothing_new(
    key: str, message: str, form: str
) -> None:
    seen = [
        Seen(session=name, at=1.0, fixed=True, forms=frozenset((form,)), message=message, added=("x",))
        for name in ("a", "b")
    ]
    verdict = judged(key, seen)
    assert verdict is not None
    assert verdict.says_itself
