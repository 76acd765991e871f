"""What is likely to fail is said before it runs, from what ran in this project; where nothing ran, nothing is said."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratchet.errors import UsageError
from ratchet.failures.patterns.ingest import ingest
from ratchet.lessons.book import LessonBook
from ratchet.lessons.indexing import keep_index
from ratchet.lessons.mined import mine_session
from ratchet.lessons.odds import odds_of
from ratchet.lessons.prediction import PredictedStep, Prediction, told_in_words
from ratchet.ports import Store
from ratchet.records import Row
from ratchet.testing.stores import open_store
from support.sessions import call, session, shell

DAY = 86_400
UNCHECKED = "cmd/cart.go:7:9: Error return value is not checked (errcheck)\n\tfile.Close()"


def small(shop: Path, n: int) -> list[Row]:
    """A session whose lint fails after a large change alone; it reads a file of the project, and one that is none."""
    path = str(shop / "cmd" / "cart.go")
    large = n % 3 == 0
    return [
        call("Read", {"file_path": path}),
        call("Read", {"file_path": str(shop / f"guessed{n}.go")}, "File does not exist."),
        call("Edit", {"file_path": path, "old_string": "a", "new_string": "b\n" * (200 if large else 2)}),
        shell("mise run lint", UNCHECKED if large else ""),
        *([call("Edit", {"file_path": path, "old_string": "b", "new_string": "c"})] if large else []),
        shell("mise run lint"),
        shell("mise run test"),
        shell("git status"),
    ]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "cmd").mkdir(parents=True)
    (folder / "cmd" / "cart.go").write_text("package cmd\n")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def book(store: Store, shop: Path, tmp_path: Path) -> LessonBook:
    learn(store, shop, list(range(12)))
    return LessonBook(home=tmp_path, reading=lambda: store, writing=lambda: store, changed=lambda: None)


def learn(store: Store, shop: Path, numbers: list[int]) -> None:
    for n in numbers:
        rows = session(small(shop, n), f"s{n}", project=str(shop), start=1_700_000_000.0 + DAY * n)
        ingest(store, rows)
        mine_session(store, f"s{n}")
        keep_index(store, f"s{n}", rows, str(shop), keep_steps=False)


def only(found: Prediction) -> tuple[float, str]:
    (step,) = found.steps
    assert step.probability is not None
    return step.probability, step.basis


def test_a_command_is_as_likely_to_fail_as_it_did_here_and_says_how_often_that_was(
    book: LessonBook, shop: Path
) -> None:
    likely, basis = only(book.predict("mise run lint", project=str(shop)))
    assert likely == pytest.approx(4 / 24, abs=0.03)
    assert basis.startswith("4 of 24 runs of `mise run lint` here failed; weighed with this project's other")
    assert only(book.predict(command="git status", project=str(shop)))[0] < likely


def test_what_a_session_did_so_far_counts(book: LessonBook, store: Store, shop: Path) -> None:
    for name, lines in (("large", 300), ("little", 2)):
        change = call("Edit", {"file_path": str(shop / "cmd/cart.go"), "old_string": "a", "new_string": "b\n" * lines})
        ingest(store, session([change], name, project=str(shop), start=1_800_000_000.0))
    large, little = (
        book.predict("mise run lint", project=str(shop), session=name).steps[0] for name in ("large", "little")
    )
    assert large.probability is not None
    assert little.probability is not None
    assert large.probability > 2 * little.probability
    assert any(each.startswith("after 128 or more added lines: 4 of 8") for each in large.why)


def test_a_diff_is_followed_by_the_project_s_checks(book: LessonBook, shop: Path) -> None:
    def lint_after(lines: int) -> float:
        diff = "--- a/cmd/cart.go\n+++ b/cmd/cart.go\n@@ -1 +1 @@\n" + "+x\n" * lines
        steps = {each.name: each for each in book.predict(diff, project=str(shop)).steps}
        assert set(steps) == {"mise run lint", "mise run test"}
        assert any("errcheck (4)" in each for each in steps["mise run lint"].why)
        found = steps["mise run lint"].probability
        assert found is not None
        return found

    assert lint_after(300) > 2 * lint_after(2)


def test_a_file_is_predicted_as_its_change_and_the_checks_after_it(book: LessonBook, shop: Path) -> None:
    found = book.predict("cmd/cart.go", project=str(shop))
    assert [each.name for each in found.steps] == ["edit", "mise run lint", "mise run test"]
    for check, step in zip(("lint", "test"), found.steps[1:], strict=True):
        assert step.why[0] == f"this project's usual {check}, which comes after a change"
    assert book.predict(file="cmd/new.go", project=str(shop)).steps[0].name == "write"


def test_a_plan_is_the_commands_and_files_that_it_names(book: LessonBook, shop: Path) -> None:
    plan = "Change `cmd/cart.go`, then:\n```sh\nmise run lint\n$ mise run test\n```\nThat is `fine`, says the reviewer."
    found = book.predict(plan, project=str(shop))
    assert [each.step.removeprefix(f"edit {shop}/") for each in found.steps] == [
        "cmd/cart.go",
        "mise run lint",
        "mise run test",
    ]
    empty = book.predict("think about the cart", project=str(shop))
    assert empty.steps == ()
    assert empty.note == "no command and no file of this project stands in it; put commands in `backticks`"


def test_an_item_of_a_plan_is_a_command_if_it_ran_here_and_no_prose(book: LessonBook, shop: Path) -> None:
    plan = (
        "# Plan\n1. mise run lint\n2) git status\n- mise run test\n* think about the lint\n+ git it done\n- [ ] look\n"
    )
    found = book.predict(plan, project=str(shop))
    assert [each.step for each in found.steps] == ["mise run lint", "git status", "mise run test"]


def test_a_strange_project_has_no_basis_and_no_number(book: LessonBook, tmp_path: Path) -> None:
    (step,) = book.predict(command="mise run lint", project=str(tmp_path / "other")).steps
    assert (step.probability, step.runs, step.why) == (None, 0, ())
    assert step.basis.startswith("no basis: 0 steps in 0 sessions known here; it takes 50 steps in 3 sessions")
    assert "ls: no basis: 0 steps" in told_in_words(book.predict(command="ls", project=str(tmp_path / "other")))


def test_a_command_that_never_ran_says_so(book: LessonBook, shop: Path) -> None:
    _, basis = only(book.predict(command="terraform apply", project=str(shop)))
    assert basis == "never ran here; the project's 3 commands fail in 12 % on average"


def test_a_lesson_that_is_proven_is_told_with_the_step_that_it_is_about(
    book: LessonBook, store: Store, shop: Path
) -> None:
    wrong = "error: unknown flag: --fix-all"
    for n in range(20, 23):
        steps = [shell("mise run lint --fix-all", wrong), shell("mise run lint --fix")]
        ingest(store, session(steps, f"s{n}", project=str(shop), start=1_700_000_000.0 + DAY * n))
        mine_session(store, f"s{n}")
    (step,) = book.predict(command="mise run lint --fix-all cmd", project=str(shop)).steps
    assert ["--fix-all" in each.text for each in step.lessons] == [True]
    assert book.show(step.lessons[0].id).state == "active"


@pytest.mark.parametrize("asked", [{}, {"command": "ls", "file": "a"}, {"text": "  "}])
def test_one_thing_is_asked_about_at_a_time(book: LessonBook, asked: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="name one of text, command, file, diff and plan"):
        book.predict(**asked)  # type: ignore[arg-type]


def test_a_folder_elsewhere_is_not_looked_at(book: LessonBook, shop: Path) -> None:
    (shop / "here.go").write_text("x")
    assert book.predict(file="here.go", project=str(shop)).steps[0].name == "edit"
    assert book.predict(file="here.go", project=str(shop), here=False).steps[0].name == "write"
    assert book.predict(file="cmd/cart.go", project=str(shop), here=False).steps[0].name == "edit"


def test_the_odds_are_the_same_whatever_the_order_in_which_sessions_were_read(tmp_path: Path, shop: Path) -> None:
    found = []
    for turn in range(4):
        opened = open_store(tmp_path / f"home{turn}")
        order = list(range(8))
        random.Random(turn).shuffle(order)
        learn(opened, shop, order)
        odds = odds_of(opened, str(shop))
        found.append((odds.chance("Bash", "mise run lint", ["added:128", "previous:ok"]), sorted(odds.files)))
        opened.close()
    assert all(each == found[0] for each in found)


def test_a_file_that_an_earlier_session_opened_is_known(store: Store, shop: Path) -> None:
    learn(store, shop, list(range(12)))
    odds = odds_of(store, str(shop))
    assert "cmd/cart.go" in odds.files
    unknown, known = (odds.chance("Read", "read", [f"read:{level}"]) for level in ("unknown", "new"))
    assert unknown is not None
    assert known is not None
    assert unknown.probability > 0.6 > 0.4 > known.probability


def test_what_several_steps_share_is_said_once() -> None:
    def step(name: str, *why: str) -> PredictedStep:
        return PredictedStep(step=name, name=name, probability=0.5, basis="b", runs=2, failures=1, why=why, lessons=())

    found = Prediction(project="p", session="", steps=(step("lint", "shared", "own"), step("test", "shared")))
    assert told_in_words(found).splitlines() == [
        "lint: 50 % likely to fail (b)",
        "  own",
        "test: 50 % likely to fail (b)",
        "lint, test: shared",
    ]


def push(n: int) -> list[Row]:
    """A session whose push fails for want of an upstream, and works with one."""
    branch = f"fix-{n}"
    said = f"fatal: The current branch {branch} has no upstream branch."
    return [
        shell("git push 2>&1", said),
        shell(f"git push --set-upstream origin {branch} 2>&1"),
        shell("golangci-lint run --out-format json", "Error: unknown flag: --out-format"),
        shell("golangci-lint run"),
    ]


def test_what_is_known_of_the_failures_of_a_step_is_said_with_it(book: LessonBook, store: Store, shop: Path) -> None:
    for n in range(2):
        ingest(store, session(push(n), f"p{n}", project=str(shop), start=1_790_000_000.0 + DAY * n))
        mine_session(store, f"p{n}")
    whole = book.predict(command="git push", project=str(shop))
    (told,) = whole.steps[0].lessons
    assert told.text == "Run `git push --set-upstream origin <branch>` instead of `git push`."
    assert told.when == "`git push` fails", "no word of an output is told before a step"
    assert f"if {told.when}: {told.text}" in told_in_words(whole)

    def known(command: str) -> list[str]:
        return [each.text for each in book.predict(command=command, project=str(shop)).steps[0].lessons]

    assert known("git push 2>&1 | tail -3") == [told.text]
    for other in ("git push --tags", "git push --set-upstream origin fix-1", "git pull", "golangci-lint run"):
        assert known(other) == [], other
    (flag,) = known("golangci-lint run --fix --out-format tab")
    assert "has no `--out-format`" in flag
    found = book.predict(command="golangci-lint run --fix --out-format tab", project=str(shop))
    assert told_in_words(found).splitlines()[:2] == [
        f"{found.steps[0].step}: 75 % likely to fail (failed each time so far (2 of 2), since 2026-09-21)",
        f"  first: {flag} ({found.steps[0].lessons[0].id})",
    ]
    assert found.steps[0].why[0].startswith("2 of 4 runs of `golangci-lint run` here failed")


@pytest.mark.parametrize(("worked_since", "counted"), [(False, True), (True, False)])
def test_an_option_that_never_worked_leads_after_one_session(
    book: LessonBook, store: Store, shop: Path, worked_since: bool, counted: bool
) -> None:
    wrong = shell("mise run lint --fix-all ./cmd", "error: unknown flag: --fix-all")
    for n, steps in enumerate([[wrong, shell("mise run lint")], [shell("mise run lint --fix-all ./x")] * worked_since]):
        ingest(store, session(steps, f"f{n}", project=str(shop), start=1_790_000_000.0 + DAY * n))
        mine_session(store, f"f{n}")
    likely, basis = only(book.predict(command="mise run lint --fix-all", project=str(shop)))
    assert basis.startswith("failed each time so far (1 of 1), since 2026-09-21") is counted
    assert (likely > 0.6) is counted
    plain, basis = only(book.predict(command="mise run lint", project=str(shop)))
    assert plain < 0.5
    assert basis.startswith("5 of")


def test_a_line_that_never_ran_is_told_from_its_command(book: LessonBook, shop: Path) -> None:
    _, basis = only(book.predict("mise run lint --fix /", project=str(shop)))
    assert basis.startswith("4 of 24 runs of `mise run lint` here failed; no run of this very line is known; weighed")


def test_of_a_file_nothing_is_said_of_lines_and_one_that_is_not_there_is_told(book: LessonBook, shop: Path) -> None:
    known, new = (book.predict(file=name, project=str(shop)) for name in ("cmd/cart.go", "nosuch.go"))
    assert not [why for found in (known, new) for step in found.steps for why in step.why if "added lines" in why]
    assert "no nosuch.go is known here: it is taken for a new file" in new.steps[0].why
    assert "taken for a new file" not in told_in_words(known)
