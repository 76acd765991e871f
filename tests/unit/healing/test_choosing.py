"""The choice among patches that pass: inputs that are varied by what code branches on, opinions, doubts."""

from __future__ import annotations

import ast
import base64
import pickle
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.healing.solvers.repair import SearchResult, rivals
from ratchet.healing.solvers.repairing.choosing import chosen, keeping
from ratchet.healing.solvers.repairing.differing import (
    NOTHING,
    Input,
    aliens,
    answers,
    asked,
    marked,
    noise,
    telling,
    told_of,
    value_of,
)
from ratchet.healing.solvers.repairing.grounds import PatchGrounds
from ratchet.healing.solvers.repairing.idling import unread
from ratchet.healing.solvers.repairing.pinning import (
    by_heart,
    counted,
    literals_brought,
    other_constants,
    other_forms,
    shortened,
)
from ratchet.healing.solvers.repairing.varying import Arguments, Vocabulary, spoken_at, varied
from ratchet.healing.solvers.repairing.wanted import Patch
from ratchet.records import Row


def call() -> Arguments:
    return Arguments([3, "text", [1, 2], (4, "x"), 2.5, True], {"sep": "-"})


@given(st.integers(0, 10_000))
def test_varied_inputs_are_those_of_their_seed(seed: int) -> None:
    one, other = varied(call(), seed), varied(call(), seed)
    assert repr(one) == repr(other) or "iterator" in repr(one)
    assert len(one.given) == 6
    assert one.named.keys() == {"sep"}


def test_each_thousandth_input_is_as_the_test_made_it() -> None:
    assert varied(call(), 0) == varied(call(), 7_000) == call()


def values_seen(value: object, source: str = "", other: object = None) -> list[object]:
    known, theirs = Vocabulary.of([ast.parse(source)]), Arguments([other]) if other else None
    return [varied(Arguments([value]), seed, known, theirs).given[0] for seed in range(1, 400)]


def test_inputs_vary_containers_types_and_the_ends_of_what_there_can_be() -> None:
    types = {type(each).__name__ for each in values_seen([1, 2])}
    assert types >= {"list", "tuple", "set", "NoneType", "list_iterator"}
    assert [] in values_seen([1, 2])
    texts = values_seen("ab")
    assert {"", None, b"ab", "AB"} <= {each for each in texts if isinstance(each, str | bytes | None)}
    assert any(isinstance(each, str) and not each.isascii() for each in texts)


def test_inputs_vary_by_what_the_code_branches_on() -> None:
    source = "def f(x):\n    if isinstance(x, frozenset) or x == 'wanted' or x > 70:\n        return 1\n"
    assert "wanted" in values_seen("ab", source)
    assert {69, 70, 71} <= {each for each in values_seen(3, source) if isinstance(each, int)}
    assert any(isinstance(each, frozenset) for each in values_seen([1], source))
    assert "elsewhere" in values_seen("ab", other="elsewhere")


def test_the_object_of_a_method_is_none_of_another_kind() -> None:
    seen = [varied(Arguments([Chain(1), 5]), seed, bound=True).given[0] for seed in range(1, 200)]
    assert {type(each) for each in seen} == {Chain}
    assert {each.value for each in seen} > {1}


def test_the_code_that_speaks_is_what_is_changed_or_called() -> None:
    tree = ast.parse("A = 'a'\nclass C:\n    def f(self):\n        return 'f'\n    def g(self):\n        return 'g'\n")
    assert Vocabulary.of(spoken_at(tree, {4}, ())).constants == ("f",)
    assert Vocabulary.of(spoken_at(tree, (), {"C.g"})).constants == ("g",)
    assert Vocabulary.of(spoken_at(tree, {1}, ())).constants == ("a",)


def test_inputs_that_run_what_is_changed_come_alone_and_those_near_failing_tests_keep_half() -> None:
    calls = [{"module": "m", "function": "f", "arguments": name, "test": name} for name in ("bad", *"abcdefgh")]
    pool = asked(calls, 0, {"bad"})
    reached = telling(pool, [f"{at}" if each.arguments != "a" else "" for at, each in enumerate(pool)])
    assert {each.arguments for each in reached} == {"bad", *"bcdefgh"}
    assert 2 * sum(not each.healthy for each in reached) == len(reached) < len(pool)
    assert telling(pool, None)[0] == pool[0]
    assert len(telling(pool, ["the same"] * len(pool))) == 2, "one near the failing test's, one near the others'"


def patch(name: str, *, plain: float = 0.01, text: str = "x") -> Patch:
    held = {"path": "a.py", "function": name, "family": "f", "shape": name, "before": "y", "text": text}
    return Patch(files={"a.py": name.encode()}, marks=(held,), found_at=1, plain=plain, size=len(text))


def test_patches_that_answer_alike_are_one_opinion() -> None:
    answers = {"one": ["a"] * 20, "two": ["a"] * 20, "odd": ["b"] * 20}
    patches = [patch("odd", plain=0.013), patch("one"), patch("two")]
    best = chosen(patches, lambda each: answers[each.marks[0]["function"]] if each else ["c"] * 20)
    assert [each.marks[0]["function"] for each in best.patches] == ["one", "two", "odd"]


def test_a_patch_that_keeps_other_answers_is_preferred() -> None:
    answers = {"keeps": ["a"] * 19 + ["b"], "changes": ["z"] * 20}
    patches = [patch("changes"), patch("keeps")]
    best = chosen(patches, lambda each: answers[each.marks[0]["function"]] if each else ["a"] * 20)
    assert best.patches[0].marks[0]["function"] == "keeps"
    assert keeping(["a", "a"], ["a", "!x"]) == 0.0
    assert keeping(["!x"], ["a"]) == 0.0


def test_answers_that_hold_the_time_are_compared_in_their_other_parts() -> None:
    one, other = [["s:1", "s:x"], ["i:2", "i:y"]], [["s:3", "s:x"], ["i:2", "i:y"]]
    noisy = noise(one, other)
    assert noisy == {0}
    assert told_of(one, noisy) == told_of(other, noisy) == ["s:x", "i:2"]
    assert told_of(None, noisy) == []


def near(healthy: int, failing: int) -> list[Input]:
    return [Input("m", "f", "", at, "", at <= healthy) for at in range(1, healthy + failing + 1)]


@pytest.mark.parametrize(
    ("was", "said", "count"),
    [
        ("!TypeError", "!TypeError", 0),
        ("!TypeError", "i:3", 0),
        (f"{NOTHING}:x", "i:3", 0),
        ("!!ValueError", "i:3", 1),
        ("i:1", "i:3", 1),
    ],
)
def test_what_no_test_gives_and_the_program_had_no_answer_to_tells_no_patches_apart(
    was: str, said: str, count: int
) -> None:
    inputs = marked(near(10, 10), [False] * 19 + [True])
    before = [*["i:1"] * 10, *["!TypeError"] * 9, was]
    answers = {"best": ["i:1"] * 10 + ["i:2"] * 10, "rival": ["i:1"] * 10 + ["i:2"] * 9 + [said]}
    patches = [patch("best", plain=0.02), patch("rival")]
    best = chosen(patches, lambda each: answers[each.marks[0]["function"]] if each else before, (), inputs)
    assert best.grounds.undecided == count
    assert best.look.differ(answers["rival"], answers["best"]) == bool(count)


def test_an_input_is_alien_by_the_types_that_calls_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "takes.py").write_text("def f(x):\n    return type(x).__name__\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    texts = [base64.b64encode(pickle.dumps(([held], {}))).decode() for held in ([1, 2], (3,))]
    pool = [Input("takes", "f", text, seed) for text in texts for seed in range(60)]
    alien = marked(pool, aliens(pool, pool, Vocabulary())())
    names = [value_of(each) for each in told_of(answers(pool, Vocabulary())(), ())]
    usual, others = ({name for each, name in zip(alien, names, strict=True) if each.alien == flag} for flag in (0, 1))
    assert usual == {*names[::60]}
    assert others
    assert not usual & others
    assert marked(pool, None) == pool


def test_a_patch_that_could_be_right_as_well_and_answers_otherwise_is_counted() -> None:
    before = ["i:1"] * 20
    answers = {"best": ["i:1"] * 10 + ["i:2"] * 10, "rival": ["i:1"] * 10 + ["i:2"] * 9 + ["i:3"]}
    patches = [patch("best", plain=0.02), patch("rival")]
    best = chosen(patches, lambda each: answers[each.marks[0]["function"]] if each else before, (), near(10, 10))
    assert best.patches[0].marks[0]["function"] == "best"
    assert best.grounds.undecided == 1
    assert 0.2 < best.grounds.split < 0.5
    assert (best.grounds.healthy, best.grounds.turned) == (10, 0)
    assert any("no test decides" in each for each in best.grounds.doubts(["comparison"]))


def test_a_patch_that_turns_what_healthy_tests_are_near_is_no_rival() -> None:
    before = ["i:1"] * 20
    answers = {"best": ["i:1"] * 10 + ["i:2"] * 10, "turns": ["i:3"] * 10 + ["i:2"] * 10}
    patches = [patch("best", plain=0.02), patch("turns")]
    best = chosen(patches, lambda each: answers[each.marks[0]["function"]] if each else before, (), near(10, 10))
    assert best.grounds.undecided == 0


def test_what_healthy_tests_are_near_and_nobody_could_answer_decides_nothing() -> None:
    before = ["!TypeError"] * 10 + ["i:1"] * 10
    answers = {"best": ["!TypeError"] * 10 + ["i:2"] * 10, "lenient": ["i:0"] * 10 + ["i:2"] * 10}
    patches = [patch("best", plain=0.02), patch("lenient")]
    best = chosen(patches, lambda each: answers[each.marks[0]["function"]] if each else before, (), near(10, 10))
    assert best.grounds.undecided == 0


class Chain:
    """Shows its address, as most objects do."""

    def __init__(self, value: int, rest: Chain | None = None) -> None:
        self.value, self.rest = value, rest


def test_objects_are_changed_by_their_fields() -> None:
    seen = set()
    for seed in range(1, 60):
        (chain,) = varied(Arguments([Chain(1, Chain(2))]), seed).given
        if isinstance(chain, Chain) and isinstance(chain.rest, Chain):
            seen.add((chain.value, chain.rest.value))
    assert {a for a, _ in seen} > {1}
    assert {b for _, b in seen} > {2}


WELL = PatchGrounds(failing=2, passing=5, inputs=60, kept=60, healthy=40, forms=40)
"""What speaks for a patch of which nothing is wrong."""


def test_a_patch_that_changes_more_than_the_failing_tests_ask_for_is_doubtful() -> None:
    wide = replace(WELL, failing=1, passing=8, turned=24)
    assert any("it changes 24 of 40 answers" in each for each in wide.doubts(["comparison"]))
    assert not [*replace(wide, turned=4).doubts(["comparison"])]
    assert not [*replace(wide, failing=6, passing=3).doubts(["comparison"])], "two in three tests ask for a change"


def test_what_a_patch_leaves_without_effect_is_a_doubt_by_itself_unless_donors_do_so_too() -> None:
    idle = replace(WELL, idle="`fast` decides nothing any more")
    assert [*idle.doubts(["comparison"])] == [f"with it {idle.idle} (look what that was for, and say so in a test)"]
    assert not [*replace(idle, asked=40).doubts(["comparison"])]


def test_each_edit_of_a_patch_needs_tests_of_its_own() -> None:
    grounds = replace(WELL, failing=1, passing=2)
    assert [*grounds.doubts(["operator"])] == []
    assert "only 3 tests, calls or examples can tell of 3 edits" in "; ".join(grounds.doubts(["index"] * 3))
    assert [*grounds.doubts(["rewriting", "rewriting"])] == []  # a model's lines are one thought


def test_calls_and_examples_tell_as_tests_do() -> None:
    one = replace(WELL, failing=1, passing=0)
    assert any(
        "only 1 test, call or example can tell, so it may pass by chance (write" in each
        for each in one.doubts(["comparison"])
    )
    assert not [*replace(one, cases=4).doubts(["comparison"])]
    assert not [*replace(one, shown=4).doubts(["comparison"])]
    assert any("2 examples" in each for each in replace(one, cases=9, broken=2).doubts(["comparison"]))


def test_few_tests_are_enough_where_hardly_any_other_form_of_the_lines_passes() -> None:
    two = replace(WELL, failing=1, passing=1, alive=1)
    assert not [*two.doubts(["comparison"])]
    assert [*replace(two, alive=0, forms=0).doubts(["comparison"])], "nothing tells how loose they are"
    loose = replace(two, alive=12, failing=9, passing=9)
    assert any("12 of 40 other forms" in each for each in loose.doubts(["comparison"]))


@pytest.mark.parametrize("figure", ["alive", "turned", "raising", "strange"])
def test_each_figure_that_speaks_against_a_patch_only_adds_to_the_doubt(figure: str) -> None:
    counted: list[dict[str, Any]] = [{figure: count} for count in range(30)]
    doubts = [sum(replace(WELL, **each).parts(["comparison"]).values()) for each in counted]
    assert doubts == sorted(doubts)
    assert doubts[0] < 1 < doubts[-1]
    steps = [after - before for before, after in zip(doubts, doubts[1:], strict=False)]
    assert max(steps) < 0.4, "no single input, test or form turns a verdict that was clear"


def test_other_forms_are_those_of_the_lines_that_a_patch_changed() -> None:
    before = b"def f(a, b):\n    c = a - b\n    if a > 3:\n        return c * 2\n    return c\n"
    after = before.replace(b"c * 2", b"c * 2 + a")
    forms = [each["f.py"] for each in other_forms({"f.py": before}, {"f.py": after}, 0)]
    assert len(forms) == len(set(forms)) > 20
    lines = after.splitlines()
    changed = {at for each in forms for at, line in enumerate(each.splitlines()) if line != lines[at]}
    assert changed == {3}
    assert [
        *other_forms({"f.py": before}, {"f.py": before.replace(b"    if a > 3:\n        return c * 2\n", b"")}, 0)
    ] == []


def test_another_message_of_an_exception_is_no_other_form() -> None:
    before = b"def f(a, b):\n    return a - b\n"
    after = before.replace(b"    return", b"    if not a:\n        raise ValueError('no a')\n    return")
    forms = [each["f.py"].decode() for each in other_forms({"f.py": before}, {"f.py": after}, 0)]
    assert len(forms) > 5
    assert [each for each in forms if "ValueError(" in each and "ValueError('no a')" not in each] == []


def test_other_forms_are_the_same_whatever_is_written_elsewhere() -> None:
    before = b"def f(a, b):\n    c = a - b\n    if a > 3:\n        return c * 2\n    return c\n"
    after = before.replace(b"c * 2", b"c * 2 + a")
    for more in (b"LIMIT = 77\n\n\n", b"def g(alpha, *, beta=5):\n    return alpha.gamma(beta) or 'x'\n\n\n"):
        both = ((text, other_forms({"f.py": text + before}, {"f.py": text + after}, 0)) for text in (b"", more))
        one, other = ({each["f.py"].removeprefix(text) for each in forms} for text, forms in both)
        assert len(one & other) >= 0.9 * len(one)


def test_only_a_constant_that_a_patch_brings_is_tried_in_other_values() -> None:
    before = b"def f(n):\n    if 4 <= n <= 20:\n        return 7\n    return n\n"
    after = before.replace(b"4 <= n <=", b"4 <= n % 20 <=")
    lines = [each["f.py"].splitlines()[1].decode() for each in other_constants({"f.py": before}, {"f.py": after})]
    assert {"    if 4 <= n % 21 <= 20:", "    if 4 <= n % 10 <= 20:"} <= {*lines}
    assert all(line.startswith("    if 4 <= n % ") and line.endswith(" <= 20:") for line in lines)
    assert not [*other_constants({"f.py": after}, {"f.py": before})]


def test_a_part_of_a_text_that_a_patch_brings_and_that_passes_is_a_doubt() -> None:
    before, after = (f"def f(n):\n    return n.rstrip({each!r})\n".encode() for each in (":", "/:;= ?"))
    found = [each["f.py"].splitlines()[1].decode() for each in shortened({"f.py": before}, {"f.py": after})]
    assert found[:2] == ["    return n.rstrip('/:;')", "    return n.rstrip('= ?')"]
    assert found[2:] == ["    return n.rstrip(';= ?')", "    return n.rstrip('/: ?')", "    return n.rstrip('/:;=')"]
    asked, got = (
        f"def f(n):\n    return {each}\n".encode() for each in ("hasattr(n, 'walk')", "getattr(n, 'walk', 'walk')")
    )
    assert {each["f.py"].count(b"walk") for each in shortened({"f.py": asked}, {"f.py": got})} == {1}
    assert not [*shortened({"f.py": asked}, {"f.py": asked.replace(b"has", b"get")})], "it was there before"
    raised = b"def f(n):\n    raise ValueError('no such n')\n"
    assert not [*shortened({"f.py": b"def f(n):\n    return n\n"}, {"f.py": raised})]
    assert not [*WELL.doubts(["constant"])]
    assert any("a part of a text" in each for each in replace(WELL, spare=1).doubts(["constant"]))


def test_a_pair_of_edits_in_two_functions_is_a_doubt_since_one_may_only_make_up_for_the_other() -> None:
    assert not [*WELL.doubts(["constant", "constant"])]
    assert any("make up for another" in each for each in WELL.doubts(["constant", "constant"], 2))
    asked = replace(WELL, asked=40)
    assert not [*asked.doubts(["constant", "constant"], 2)], "donors agree with both"


def test_another_constant_that_passes_as_well_is_a_doubt() -> None:
    answers = ["i:1"] * 10 + ["i:2"] * 10
    best = chosen([patch("best")], lambda each: answers if each else ["i:1"] * 20, (), near(10, 10))
    other = best.undecided(["i:1"] * 10 + ["i:2"] * 9 + ["i:3"])
    assert (other, best.undecided(["i:3"] * 20), best.undecided([])) == (1, 0, 0)
    grounds = replace(best.grounds, failing=9, passing=9)
    assert not [*grounds.doubts(["comparison"])]
    assert any("another constant" in each for each in replace(grounds, open=other).doubts(["comparison"]))


def test_what_is_spelt_out_has_as_many_literals_as_calls() -> None:
    assert by_heart([{0, 1}, {2, 3}, {4, 5}]) == 3
    assert by_heart([{0}, {1}, set()]) == 2
    assert by_heart([{0, 1}]) == 1
    assert by_heart([{0}]) == 0, "a limit that a test stands on"
    assert by_heart([{0}, {0}, {0}]) == 0, "a rule with a number"
    assert by_heart([{0, 1}, set(), set()]) == by_heart([]) == 0
    assert any("spell out" in each for each in PatchGrounds(failing=3, passing=9, by_heart=3).doubts(["rewriting"]))


def test_only_literals_that_a_patch_brings_are_its_own() -> None:
    before = {"f.py": b"def f(n):\n    return n * 7 + 9\n"}
    after = {"f.py": b"def f(n):\n    return 7 if n == 5 else n * 7 + 1 - 0 + len('')\n"}
    assert {*literals_brought(before, after)} == {7, 5}
    assert literals_brought(after, before) == [9]


def test_where_no_input_changes_but_those_of_tests_nothing_general_was_mended() -> None:
    inputs = [Input("m", "f", str(at), 0) for at in range(3)] + [Input("m", "f", "", at) for at in range(1, 31)]
    before = ["i:1"] * 33

    def counted_in(told: list[str]) -> int:
        return chosen([patch("one")], lambda each: told if each else before, (), inputs).grounds.by_heart

    assert counted_in(["i:2", "i:3", "i:4", *before[3:]]) == 3
    assert counted_in(["i:2", "i:3", "i:4", "i:5", *before[4:]]) == 0
    assert counted_in(["i:2", *before[1:]]) == 0, "one value alone may be out of the ordinary"


@pytest.mark.parametrize(
    ("after", "gone"),
    [("a + 1", ["`f` reads `b` no more"]), ("b(a)", []), ("(lambda: b)()", ["`f` reads `a` no more"])],
)
def test_a_parameter_that_a_patch_makes_nobody_read_is_told(after: str, gone: list[str]) -> None:
    source = "def f(a, b, c):\n    return {}\n"
    files = [{"f.py": source.format(each).encode()} for each in ("a + b", after)]
    assert [*unread(*files)] == gone
    named = b"@overload\ndef f(a: int, b: int, c: int) -> int: ...\n\n\n"
    assert [*unread(*({"f.py": named + each["f.py"]} for each in files))] == gone


def test_what_says_the_same_in_fewer_words_comes_first() -> None:
    forms = {"wordy": "n - 1 + 1", "plain": "n", "other": "m"}
    patches = [replace(edit(name, "n - 1", text), files={"a.py": text.encode()}) for name, text in forms.items()]
    patches[0] = replace(patches[0], plain=0.5)
    told = {"wordy": ["i:1"] * 20, "plain": ["i:1"] * 20, "other": ["i:1"] * 20}
    best = chosen(patches, lambda each: told[each.marks[0]["function"]] if each else ["i:0"] * 20, (), near(10, 10))
    assert [each.marks[0]["function"] for each in best.patches] == ["plain", "wordy", "other"]
    told["plain"] = ["i:1"] * 19 + ["i:2"]
    best = chosen(patches, lambda each: told[each.marks[0]["function"]] if each else ["i:0"] * 20, (), near(10, 10))
    assert best.patches[0].marks[0]["function"] == "wordy", "it does not say the same"


def test_forms_that_answer_alike_say_nothing() -> None:
    forms = [{"f.py": bytes([at])} for at in range(6)]
    passed = {0: True, 1: True, 2: False, 3: None, 4: True, 5: True}
    found = counted(
        iter(forms),
        lambda form: passed[form["f.py"][0]],
        lambda form: form["f.py"][0] == 1,
        iter([True] * 5 + [False]).__next__,
    )
    assert found == (2, 1)


def test_a_few_inputs_that_raise_are_none_that_the_program_is_meant_for() -> None:
    assert not [*replace(WELL, raising=1).doubts(["comparison"])]
    assert any("raises" in each for each in replace(WELL, raising=9, failing=1).doubts(["comparison"]))


def test_functions_that_are_returned_are_told_apart_by_what_they_close_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`def throttle(period): def decorator(...): ...; return decorator`: a patch that sets `period = 1` is seen."""
    source = (
        "def made(n):\n    def inner(x=n):\n        return inner, n\n    return inner\n\n\n"
        "class Box:\n    def __init__(self, n):\n        self.n = n\n\n    def get(self):\n        return self.n\n\n\n"
        "def bound(n):\n    return Box(n).get\n"
    )
    (tmp_path / "closing_over.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    held = [signal.getsignal(each) for each in (signal.SIGVTALRM, signal.SIGALRM)]

    def given(function: str, number: int) -> Input:
        arguments = base64.b64encode(pickle.dumps(([number], {}))).decode()
        return Input("closing_over", function, arguments, 0)

    try:
        for function in ("made", "bound"):
            inputs = [given(function, 3), given(function, 3), given(function, 4)]
            said = told_of(answers(inputs, Vocabulary())(), ())
            assert said[0], "it has an answer"
            assert said[0] == said[1] != said[2]
    finally:
        for each, handler in zip((signal.SIGVTALRM, signal.SIGALRM), held, strict=True):
            signal.signal(each, handler)


def test_a_patch_that_changes_more_than_another_is_neither_chosen_nor_a_rival() -> None:
    before = ["i:1"] * 10 + ["!!ValueError"] * 6 + ["!KeyError"] * 4
    told = {
        "least": ["i:1"] * 6 + ["i:2"] * 4 + before[10:],
        "more": ["i:1"] * 6 + ["i:2"] * 4 + ["i:0"] * 6 + before[16:],
    }
    patches = [patch("more", plain=0.02), patch("least", plain=0.01)]
    best = chosen(patches, lambda each: told[each.marks[0]["function"]] if each else before, (), near(10, 10))
    assert best.patches[0].marks[0]["function"] == "least"
    assert (best.grounds.inputs, best.grounds.kept, best.grounds.share, best.grounds.split) == (16, 12, 1.0, 0.0)
    apart = [replace(each, marks=({**each.marks[0], "family": "guard"},)) for each in patches]
    best = chosen(apart, lambda each: told[each.marks[0]["function"]] if each else before, (), near(10, 10))
    assert best.grounds.share < 1.0, "a case that is set apart may change too little"


def test_a_default_that_no_recorded_call_leaves_out_is_no_measure_of_what_others_change() -> None:
    before = ["i:1"] * 20
    told = {"default": before, "comparison": ["i:1"] * 18 + ["i:2"] * 2}
    patches = [patch("default", plain=0.01), patch("comparison", plain=0.025)]
    best = chosen(patches, lambda each: told[each.marks[0]["function"]] if each else before, (), near(10, 10))
    assert [each.marks[0]["function"] for each in best.patches] == ["comparison", "default"]
    assert best.grounds.rivals == 1


def edit(name: str, before: str, text: str, *, plain: float = 0.01) -> Patch:
    held = {"path": "a.py", "line": "2", "function": name, "family": name, "shape": "", "before": before, "text": text}
    return Patch(files={"a.py": name.encode()}, marks=(held,), found_at=1, plain=plain, size=1)


def test_a_number_moved_by_one_is_believed_before_a_call_replaced_and_a_constant_written_down_last() -> None:
    told = {"builtin": ["i:1"] * 20, "constant": ["i:2"] * 20, "returned": ["i:3"] * 20}
    patches = [
        edit("returned", "sorted(prices)[1]", "1", plain=0.5),
        edit("builtin", "sorted", "list", plain=0.02),
        edit("constant", "1", "0"),
    ]
    best = chosen(patches, lambda each: told[each.marks[0]["function"]] if each else ["i:0"] * 20, (), near(10, 10))
    assert [each.marks[0]["family"] for each in best.patches] == ["constant", "builtin", "returned"]


def test_patches_are_of_one_opinion_only_where_they_answer_alike_in_each_function() -> None:
    answers = {"one": ["a"] * 40, "two": ["a"] * 38 + ["b"] * 2}
    inputs = [Input("m", "often" if at < 38 else "seldom", "a", seed=0) for at in range(40)]
    best = chosen(
        [patch("one"), patch("two")],
        lambda each: answers[each.marks[0]["function"]] if each else ["c"] * 40,
        (),
        inputs,
    )
    assert (best.grounds.allies, best.grounds.rivals) == (0, 1)


def test_what_the_program_raises_on_purpose_is_told_from_what_goes_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "def f(n):\n    if n < 0:\n        raise ValueError(n)\n    return [1][n]\n"
    (tmp_path / "refuses.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    calls = [base64.b64encode(pickle.dumps(([n], {}))).decode() for n in (-1, 0, 5)]
    said = told_of(answers([Input("refuses", "f", each, 0) for each in calls], Vocabulary())(), ())
    assert (said[0], said[2]) == ("!!ValueError", "!IndexError")
    assert said[1].startswith("int:")


def test_where_no_input_could_be_tried_others_that_pass_are_not_said_to_answer_otherwise() -> None:
    untold = PatchGrounds(failing=1, rivals=3, share=0.3)
    said = " ".join([*untold.doubts(["off_by_one"]), untold.told()])
    assert "3 other patches pass, too, and no input could be tried" in said
    assert "answer otherwise" not in said
    assert "answer alike" not in said.replace("whether they answer alike", "")
    assert "answer otherwise" in " ".join(replace(untold, inputs=9, kept=9).doubts(["off_by_one"]))


@pytest.mark.parametrize(("inputs", "shown"), [(2, ["- 1", "* 2"]), (20, ["* 2"])])
def test_a_patch_that_answers_alike_is_shown_beside_a_doubtful_one_unless_many_inputs_say_so(
    inputs: int, shown: list[str]
) -> None:
    said = b"def f(n):\n    return n\n"
    texts = [said.replace(b" n\n", f" n {each}\n".encode()) for each in ("+ 1", "- 1", "* 2")]
    patches: list[Row] = [{"files": {"f.py": each.hex()}, "marks": []} for each in texts]
    found = SearchResult(patches=tuple(patches), grounds=PatchGrounds(inputs=inputs, allies=1, rivals=1))
    assert [each.split(" n ")[-1] for each in rivals(patches[0], found, {"f.py": said})] == shown
