"""A failure meets what is remembered about it, or hears that nothing is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.errors import StoreError
from ratchet.failures.kinds.kind import kind_of
from ratchet.failures.signature import sign, template_of
from ratchet.lessons.calibration import calibrate
from ratchet.lessons.finding import quoted_names
from ratchet.lessons.lessons import add
from ratchet.lessons.recall import Recalled, recall
from ratchet.lessons.rows import lesson_of
from ratchet.ports import Store
from ratchet.records import Json, Row
from ratchet.testing.stores import open_store

UPSTREAM = """fatal: The current branch main has no upstream branch.
To push the current branch and set the remote as upstream, use

    git push --set-upstream origin main

To have this happen automatically for branches without a tracking
upstream, see 'push.autoSetupRemote' in 'git help config'."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


def remember(store: Store, name: str, when: str, **fields: Json) -> None:
    template = template_of(when)
    row: Row = {
        "id": name,
        "state": "active",
        "scope": "global",
        "signature": sign(kind_of(when), template),
        "kind": kind_of(when),
        "when_text": template,
        "text": f"do {name}",
        "tried": 0,
        "worked": 0,
        "created_at": 0.0,
        "revision": 1,
    }
    store.insert_new("lessons", [{**row, **fields}])


def know(store: Store, text: str, *, pattern: str) -> None:
    template = template_of(text)
    signature = sign(kind_of(text), template)
    store.insert_new("signatures", [{"signature": signature, "template": template, "pattern": pattern, "revision": 1}])


def names(found: Recalled) -> list[str]:
    return [each.id for each in found.lessons]


def listed(found: Recalled) -> list[str]:
    return [each.id for each in (*found.lessons, *found.possibly)]


def test_the_same_failure_with_other_parameters_is_an_exact_match(store: Store) -> None:
    remember(store, "port", "Error: listen EADDRINUSE: address already in use 127.0.0.1:3000")
    found = recall(store, "Error: listen EADDRINUSE: address already in use 10.0.0.7:8081")
    assert [(each.id, each.match, each.score) for each in found.lessons] == [("port", "exact", 1.0)]
    assert not found.abstained
    assert found.searched == 1
    assert found.elapsed_ms > 0


def test_a_failure_that_tells_a_secret_finds_what_was_remembered_without_it(store: Store) -> None:
    add(
        store,
        when="login of ann@example.org with password=hunter2secretZ9 refused",
        do="ask for access",
        state="active",
    )
    found = recall(store, "login of bo@example.com with password=Tr0ub4dor99zz refused")
    assert [(each.text, each.match) for each in found.lessons] == [("ask for access", "exact")]


def test_a_persons_short_form_finds_the_whole_error(store: Store) -> None:
    remember(store, "upstream", UPSTREAM, text="git push --set-upstream origin <branch>")
    remember(store, "repository", "fatal: not a git repository (or any of the parent directories): .git")
    for asked in (
        "fatal: The current branch feature-x has no upstream branch.",
        "git push fails: current branch has no upstream branch",
    ):
        assert listed(recall(store, asked))[:1] == ["upstream"]
    assert names(recall(store, UPSTREAM.replace("main", "fix/login"))) == ["upstream"]


def test_a_remembered_line_is_found_in_the_output_of_a_whole_build(store: Store) -> None:
    remember(store, "types", "error TS2339: Property 'email' does not exist on type 'Account'.")
    steps = [f"[{i}/150] building package {i} done in {i * 3} ms" for i in range(150)]
    failure = "src/user.ts(88,17): error TS2339: Property 'name' does not exist on type 'User'."
    assert names(recall(store, "\n".join([*steps, failure, "error Command failed with exit code 2."]))) == ["types"]


def test_it_abstains_when_nothing_known_is_similar_enough(store: Store) -> None:
    remember(store, "start", "Failed to start the volume manager: device is busy")
    found = recall(store, "Failed to stop the volume manager: device is busy")
    assert found.abstained
    assert found.lessons == ()
    assert found.searched == 1


def test_an_empty_store_abstains_with_nothing_searched(store: Store) -> None:
    found = recall(store, "anything at all")
    assert found.abstained
    assert found.searched == 0


def test_a_store_that_cannot_be_read_is_an_error_and_no_empty_answer(store: Store) -> None:
    store.close()
    with pytest.raises(StoreError):
        recall(store, "anything at all")


@pytest.mark.parametrize("text", ["", "   \n", "1234", "\x00", "?!", "<num>", "\ud800 broken", "語" * 3000])
def test_a_text_without_words_is_answered_too(store: Store, text: str) -> None:
    remember(store, "upstream", UPSTREAM)
    assert recall(store, text).abstained


@pytest.mark.parametrize("state", ["quarantined", "retired"])
def test_quarantined_and_retired_lessons_never_come_back(store: Store, state: str) -> None:
    remember(store, "bad", UPSTREAM, state=state, pattern="p1")
    know(store, UPSTREAM, pattern="p1")
    found = recall(store, UPSTREAM)
    assert found.abstained
    assert found.searched == 0


def test_candidates_can_be_left_out(store: Store) -> None:
    remember(store, "guess", UPSTREAM, state="candidate")
    assert names(recall(store, UPSTREAM)) == ["guess"]
    assert recall(store, UPSTREAM, states=("active",)).abstained


def test_evidence_orders_equal_matches_and_age_does_not(store: Store) -> None:
    remember(store, "new", UPSTREAM, tried=1, worked=1, created_at=9e9, updated_at=9e9)
    remember(store, "proven", UPSTREAM, tried=9, worked=8)
    remember(store, "poor", UPSTREAM, tried=9, worked=1, created_at=9e9, updated_at=9e9)
    found = recall(store, UPSTREAM)
    assert (names(found), listed(found)) == (["proven"], ["proven", "new", "poor"])


def test_of_two_remedies_for_one_text_none_is_sure_before_either_is_proven(store: Store) -> None:
    remember(store, "one", UPSTREAM)
    remember(store, "other", UPSTREAM)
    found = recall(store, UPSTREAM)
    assert (found.abstained, found.silent, listed(found)) == (True, "ambiguous", ["one", "other"])
    remember(store, "same", UPSTREAM.replace("main", "x"), text="do one")
    assert recall(store, UPSTREAM).silent == "ambiguous"


def test_lessons_that_advise_the_same_are_sure_together_and_said_once(store: Store) -> None:
    remember(store, "one", UPSTREAM, text="push with --set-upstream")
    remember(store, "other", UPSTREAM, text="push with --set-upstream")
    found = recall(store, UPSTREAM)
    assert (names(found), found.possibly) == (["one"], ())


def test_an_exact_match_comes_before_a_similar_one_with_more_evidence(store: Store) -> None:
    remember(store, "similar", "fatal: The current branch topic has no upstream branch.", tried=50, worked=50)
    remember(store, "exact", UPSTREAM)
    found = recall(store, UPSTREAM)
    assert [(each.id, each.match) for each in found.lessons] == [("exact", "exact")]
    assert [(each.id, each.match) for each in found.possibly] == [("similar", "similar")]


def test_lessons_of_the_same_pattern_come_after_the_exact_ones(store: Store) -> None:
    remember(store, "exact", UPSTREAM, pattern="p1")
    remember(store, "sibling", "something that reads quite different", pattern="p1")
    know(store, UPSTREAM, pattern="p1")
    found = recall(store, UPSTREAM)
    assert [(each.id, each.match) for each in found.lessons] == [("exact", "exact")]
    assert [(each.id, each.match) for each in found.possibly] == [("sibling", "pattern")]


def test_a_lesson_of_the_pattern_is_sure_where_it_is_the_only_one(store: Store) -> None:
    remember(store, "sibling", "something that reads quite different", pattern="p1")
    know(store, UPSTREAM, pattern="p1")
    assert [(each.id, each.match) for each in recall(store, UPSTREAM).lessons] == [("sibling", "pattern")]


def test_of_lessons_with_one_signature_the_one_that_names_the_same_is_sure(store: Store) -> None:
    for module in ("requests", "yaml", "numpy"):
        when = f"ModuleNotFoundError: No module named '{module}'"
        remember(store, module, when, names=[*quoted_names(when)], tried=9, worked=len(module))
    assert names(recall(store, "ModuleNotFoundError: No module named 'yaml'")) == ["yaml"]
    found = recall(store, "ModuleNotFoundError: No module named 'attrs'")
    assert (found.silent, listed(found)) == ("ambiguous", ["requests", "numpy", "yaml"])


def test_at_most_as_many_as_asked_come_back(store: Store) -> None:
    for number in range(9):
        remember(store, f"l{number}", UPSTREAM)
    assert listed(recall(store, UPSTREAM, limit=3)) == ["l0", "l1", "l2"]
    assert recall(store, UPSTREAM, limit=0).lessons == ()


def test_a_project_sees_its_own_lessons_and_global_ones_only(store: Store) -> None:
    remember(store, "own", UPSTREAM, scope="project", projects=["/home/ann/shop"])
    remember(store, "others", UPSTREAM, scope="project", projects=["/home/ann/api"])
    remember(store, "all", UPSTREAM)
    assert listed(recall(store, UPSTREAM, project="/home/ann/shop")) == ["all", "own"]
    assert listed(recall(store, UPSTREAM)) == ["all", "others", "own"]


def test_a_project_is_its_folders_below_and_above_too(store: Store) -> None:
    remember(store, "root", UPSTREAM, scope="project", projects=["/srv/shop"])
    assert names(recall(store, UPSTREAM, project="/srv/shop/web")) == ["root"]
    assert recall(store, UPSTREAM, project="/srv/shopping").abstained


def test_lessons_of_many_other_projects_do_not_hide_ones_own(store: Store) -> None:
    for number in range(100):
        remember(store, f"other{number}", UPSTREAM, scope="project", projects=[f"/p{number}"])
    remember(store, "own", UPSTREAM + "\nexit status 128", scope="project", projects=["/mine"])
    assert names(recall(store, UPSTREAM, project="/mine")) == ["own"]


def test_the_advice_comes_back_verbatim(store: Store) -> None:
    advice = "git push --set-upstream origin <branch>\n\t# “exactly” so "
    remember(store, "upstream", UPSTREAM, text=advice, evidence=["o1", "o2"], provenance="mined", example="git push")
    found = recall(store, UPSTREAM).lessons[0]
    assert found.text == advice
    assert found.lesson.evidence == ("o1", "o2")
    assert (found.lesson.provenance, found.lesson.example, found.lesson.revision) == ("mined", "git push", 1)


def test_a_bare_row_makes_a_lesson() -> None:
    lesson = lesson_of({"id": "x", "state": "candidate", "scope": "project", "tried": None})
    assert (lesson.id, lesson.tried, lesson.projects, lesson.text) == ("x", 0, (), "")


BARE = [
    "Exit code 1",
    "exit status 1",
    "Command failed with exit code 2",
    "No such file or directory",
    "Permission denied",
    "timeout",
    "Timed out",
    "Connection refused",
    "ECONNREFUSED",
    "ENOENT",
    "EACCES: permission denied",
    "File exists",
    "Is a directory",
    "Not a directory",
    "Broken pipe",
    "Resource temporarily unavailable",
    "Operation not permitted",
    "Killed",
    "Segmentation fault",
    "AssertionError",
    "assert False",
    "Error",
    "error",
    "failed",
    "FAILED",
    "Exception",
    "KeyError",
    "TypeError",
    "not found",
    "command not found",
]


def test_a_bare_message_with_several_causes_is_never_answered(store: Store) -> None:
    with store.transaction():
        for number, said in enumerate(BARE):
            for at, when in enumerate((said, f"$ task{number} run\n{said}", f"deploy of part {number}: {said}")):
                add(store, when=when, do=f"do {number} {at}", state="active")
    assert [said for said in BARE if recall(store, said).lessons] == []


def test_a_failure_in_a_long_paste_is_found_as_it_is_alone(store: Store) -> None:
    for number in range(30):
        add(
            store, when=f"error: cannot bind part {number} of shelf: socket in use", do=f"free {number}", state="active"
        )
    failure = "error TS2339: Property 'email' does not exist on type 'Account'."
    add(store, when=failure, do="declare it", state="active")
    noise = [f"[{n}/200] building package number {n} of the tree, all is well" for n in range(200)]
    found = recall(store, "\n".join([*noise[:120], failure, *noise[120:]]))
    assert [each.text for each in found.lessons] == ["declare it"]


def test_a_usage_text_is_no_failure_that_is_known(store: Store) -> None:
    add(
        store, when="usage: tool [-h] FILE\ntool: error: unrecognized arguments: --foo", do="drop --foo", state="active"
    )
    usage = "usage: tool [-h] [--fail-fast] FILE\n\noptions:\n  -h, --help  show this\n  --fail-fast  stop at errors\n"
    assert recall(store, usage).abstained


@pytest.mark.parametrize(
    ("when", "asked"),
    [
        ("连接数据库失败：超时，请检查网络配置后重试", "数据库连接失败"),
        ("Ошибка: не удалось подключиться к серверу «main»", "не удалось подключиться к базе"),
        ("Fehler: Die Datei „a.yml“ konnte nicht geöffnet werden", "Datei konnte nicht geöffnet werden"),
    ],
)
def test_questions_in_any_script_find_what_they_are_about(store: Store, when: str, asked: str) -> None:
    add(store, when="Error: listen EADDRINUSE: address already in use", do="free the port", state="active")
    add(store, when=when, do="mend it", state="active")
    found = recall(store, asked)
    assert [each.text for each in (*found.lessons, *found.possibly)][:1] == ["mend it"]
    assert [each.text for each in recall(store, when).lessons] == ["mend it"]


def test_a_newer_note_about_the_same_goes_before_the_older_one(store: Store) -> None:
    old = "The staging database listens on port five thousand and needs the vpn profile called harbour"
    new = "The staging database listens on another port now and needs the vpn profile called lagoon"
    add(store, when=old, do="connect to 5000", state="active", now=1.0)
    add(store, when=new, do="connect to 5433", state="active", now=2.0)
    add(store, when="The kitchen rota is on the wall beside the fridge", do="look there", state="active", now=3.0)
    found = recall(store, "which vpn profile does the staging database need and on which port").possibly
    assert [each.text for each in found][:2] == ["connect to 5433", "connect to 5000"]


@pytest.mark.parametrize(
    ("when", "trace", "known"),
    [
        ("RuntimeError: database db-1 is locked by pid 12", "RuntimeError: database db-7 is locked by pid 4711", True),
        ("RuntimeError: database db-1 is locked by pid 12", "RuntimeError: database db-7 is full", False),
        ("AssertionError", "AssertionError", False),
    ],
)
def test_the_error_line_of_a_traceback_finds_who_knows_just_this_line(
    store: Store, when: str, trace: str, known: bool
) -> None:
    add(store, when=when, do="Stop the `worker` first.", state="active")
    asked = f'Traceback (most recent call last):\n  File "/x/app.py", line 5, in run\n    lock()\n{trace}'
    assert recall(store, asked).abstained is not known


@pytest.mark.parametrize("before", ["", "mise run lint failed: ", "[lint] ", "it says (again) "])
def test_words_before_a_finding_do_not_hide_it(store: Store, before: str) -> None:
    said = "cart/cart.go:88:6: Error return value of `f.Close` is not checked (errcheck)"
    remember(store, "l1", said, rule="edit", keys=["errcheck"])
    store.insert_new("answers", [{"key": "errcheck", "lesson_id": "l1"}])
    assert [(each.id, each.match) for each in recall(store, before + said).lessons] == [("l1", "finding")]


ASSERTED = """    def test_{name}_{case}():
>       assert {name}({given}) == {due}
E       assert {got} == {due}
E        +  where {got} = {name}({given})

tests/test_{name}.py:{line}: AssertionError"""


def asserted(name: str, case: str, number: int) -> str:
    return ASSERTED.format(name=name, case=case, given=number, got=number + 1, due=number + 2, line=number)


def test_another_test_of_the_same_cause_is_answered_and_of_an_unknown_one_nothing_is(store: Store) -> None:
    """Masked, all of them say `assert <num> == <num>`: their names tell them apart."""
    names = (
        "bubble_sort", "cart_total", "parse_date", "merge_ranges", "word_count", "longest_path", "house_robber",
        "min_distance", "roman_numeral", "spiral_matrix", "balance_tree", "unique_letter", "next_permutation",
        "lowest_price", "gray_code", "flood_fill", "coin_change", "edit_script", "group_words", "rotate_list",
        "shuffle_deck", "jump_search",
    )  # fmt: skip
    with store.transaction():
        for at, name in enumerate(names):
            add(store, when=asserted(name, "empty", 10 + at), do=f"mend {name}")
    calibrate(store)
    for at, name in enumerate(names):
        found = recall(store, asserted(name, "large", 50 + at))
        assert [each.text for each in found.lessons[:1]] == [f"mend {name}"]
    assert recall(store, asserted("token_stream", "large", 99)).abstained


def test_a_lesson_of_a_project_is_told_with_the_project(store: Store) -> None:
    folder = "/gone/checkpoints"
    store.add("remotes", [{"folder": folder, "remote": "github.com/dev/cli", "seen": 1}])
    remember(store, "import", "main.go:12:9: undefined: checkpoint", scope="project", projects=[folder])
    remember(store, "push", UPSTREAM)
    (there,) = recall(store, "main.go:12:9: undefined: checkpoint").lessons
    (everywhere,) = recall(store, UPSTREAM).lessons
    assert (there.id, there.learnt_in) == ("import", ("github.com/dev/cli",))
    assert (everywhere.id, everywhere.learnt_in) == ("push", ())


def test_what_one_tool_said_is_no_warning_of_it_at_another(store: Store) -> None:
    said = "TypeError: (0 , import_dist.default) is not a function"
    text = "Do not call `mcp__ide__run`: it has not worked here once. Reach the goal another way."
    remember(store, "never", said, group="step never mcp__ide__run", rule="never", tool="mcp__ide__run", text=text)
    assert recall(store, "TypeError: (3 , parser.default) is not a function").abstained
    assert [each.text for each in recall(store, said).lessons] == [text]


@pytest.mark.parametrize(
    ("said", "again"),
    [
        (
            "nilerr: error is not nil (line 3) but it returns nil",
            "nilerr: error is not nil (line 7) but it returns nil",
        ),
        ("exhaustive: missing cases in switch of type list.Kind: list.Branch",)
        * 2,  # alone it reads like a missing thing
    ],
)
def test_the_line_that_is_printed_for_a_lesson_finds_it(said: str, again: str, store: Store) -> None:
    remember(store, "finding", said, kind="code_error", signature=sign("code_error", template_of(said)))
    assert [each.match for each in recall(store, again).lessons] == ["exact"]


def test_who_asks_for_what_the_text_itself_says_is_told_that_it_is_known(store: Store) -> None:
    advice = "Run `git push --set-upstream origin <branch>` instead of `git push`."
    remember(store, "known", UPSTREAM, group="step git push --set-upstream", text=advice)
    remember(store, "other", "fatal: not a git repository", group="step git init", text="Run `git init` first.")
    asked = recall(store, UPSTREAM)
    assert (asked.lessons, asked.silent, listed(asked)[:1]) == ((), "itself", ["known"])
    assert recall(store, UPSTREAM, listing=False).silent == "unlike", "no agent is told"
    first = UPSTREAM.split("\n")[0]
    assert [each.id for each in recall(store, first).lessons] == ["known"], "of a text that does not say it, all are"


def test_no_crowd_of_candidates_hides_what_is_active(store: Store) -> None:
    remember(store, "upstream", UPSTREAM)
    for number in range(20):
        remember(store, f"guess {number}", UPSTREAM, state="candidate")
    found = recall(store, UPSTREAM)
    assert ([each.id for each in found.lessons], found.silent) == (["upstream"], "")
    assert len(found.possibly) == 5
    assert recall(store, UPSTREAM, states=("candidate",)).silent == "ambiguous", "they hide each other"


def test_lessons_that_are_set_aside_are_counted_with_those_that_were_searched(store: Store) -> None:
    remember(store, "push", UPSTREAM)
    assert recall(store, "zzz qqq").counted == "1 lesson searched"
    remember(store, "pull", "fatal: couldn't find remote ref", state="quarantined")
    found = recall(store, "zzz qqq")
    assert (found.searched, found.known) == (1, 2)
    assert found.counted == "1 lesson searched; 1 more is set aside, as quarantined or retired"
