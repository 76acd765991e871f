"""What is found in the answers of models, and what their edits do."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.errors import UsageError
from ratchet.healing.models.answers import Malformed, schema_of, value_of
from ratchet.healing.models.names import ModelName, chain_of
from ratchet.healing.models.prices import Usage, own_prices, pricing_of
from ratchet.healing.solvers.definitions import with_definitions
from ratchet.healing.solvers.edits import FileEdit, Misfit, changes_of, in_fences, path_of
from ratchet.healing.solvers.prompting import EditProposal

GOOD = '{"cause": "c", "fix": "f", "edits": [{"file": "a.py", "old": "x", "new": "y"}]}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure! Here is the answer:\n{GOOD}\nLet me know if that helps {{}}.",
        f'<think>{{"edits": 1}}</think>{GOOD}',
        GOOD.replace('"y"', '"y\n  z"'),
        GOOD.replace('"fix": "f"', '"fix": null'),
        GOOD.replace('"fix": "f"', '"fix": "f", "confidence": 0.9'),
    ],
)
def test_an_answer_is_found_in_whatever_surrounds_it(text: str) -> None:
    found = value_of(text, EditProposal)
    assert found.cause == "c"
    assert found.edits[0].file == "a.py"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("I would change line 3.", "no JSON object"),
        (GOOD[:-9], "cut off"),
        ('{"cause": "c"}', "edits"),
        ('{"edits": [{"file": 7}]}', "edits.0.file"),
        ('{"edits": "a.py"}', "edits"),
        ("{" * 100_000, "cut off"),
        ('{"a":' * 3_000 + "1" + "}" * 3_000, "edits|nested|parse"),
        ("[1, 2]", "no JSON object"),
    ],
)
def test_a_malformed_answer_says_what_is_wrong_with_it(text: str, told: str) -> None:
    with pytest.raises(Malformed, match=told):
        value_of(text, EditProposal)


@given(st.text(max_size=300))
def test_no_text_is_more_than_malformed(text: str) -> None:
    with pytest.raises(Malformed, match=r"."):
        value_of(text, EditProposal)


def test_the_schema_of_an_answer_is_closed() -> None:
    @dataclass(frozen=True)
    class Titled:
        title: str

    assert schema_of(Titled) == {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
        "additionalProperties": False,
    }


# -- edits -------------------------------------------------------------------------------------------------------------

SOURCE = "def f(x):\n    if x > 1:\n        return x\n    return 0\n"


def edited(*edits: FileEdit, **files: str) -> dict[str, str]:
    held = {f"{name}.py": text.encode() for name, text in (files or {"a": SOURCE}).items()}
    return {each.path: (each.after or b"").decode() for each in changes_of(edits, held.get)}


def test_an_exact_edit_is_made() -> None:
    assert edited(FileEdit(file="./a.py", old="x > 1", new="x >= 1")) == {"a.py": SOURCE.replace("x > 1", "x >= 1")}


def test_an_edit_whose_indentation_is_wrong_is_made_at_the_right_depth() -> None:
    edit = FileEdit(file="a.py", old="if x > 1:\n    return x", new="if x > 1:\n    return x + 1")
    assert edited(edit) == {"a.py": SOURCE.replace("return x\n", "return x + 1\n")}


def test_edits_of_one_file_build_on_one_another() -> None:
    found = edited(FileEdit(file="a.py", old="x > 1", new="x > 2"), FileEdit(file="a.py", old="x > 2", new="x > 3"))
    assert found == {"a.py": SOURCE.replace("x > 1", "x > 3")}


def test_edits_that_change_nothing_do_not_stand_in_the_way_of_those_that_do() -> None:
    same = FileEdit(file="a.py", old="return", new="return")
    assert edited(same, FileEdit(file="a.py", old="x > 1", new="x > 2")) == {"a.py": SOURCE.replace("x > 1", "x > 2")}


def test_an_edit_of_the_wrong_file_goes_to_the_only_one_that_holds_its_text() -> None:
    edit = FileEdit(file="/usr/bin/python", old="if x > 1: return x", new="if x > 2:\n    return x")
    (change,) = changes_of([edit], {"a.py": SOURCE.encode()}.get, {"a.py": SOURCE, "b.py": "y = 1\n"})
    assert change.path == "a.py"
    assert change.after == SOURCE.replace("x > 1", "x > 2").encode()


def test_line_ends_of_the_file_stay() -> None:
    windows = SOURCE.replace("\n", "\r\n")
    found = edited(FileEdit(file="a.py", old="    return 0\n", new="    return 1\n"), a=windows)
    assert found == {"a.py": windows.replace("return 0", "return 1")}


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (FileEdit(file="a.py", old="nowhere", new="y"), "not in the file"),
        (FileEdit(file="a.py", old="return", new="y"), "2 times"),
        (FileEdit(file="a.py", old="x > 1", new="x > 1"), "the same"),
        (FileEdit(file="b.py", old="x", new="y"), "does not exist"),
        (FileEdit(file="a.py"), "neither old nor new"),
        (FileEdit(file="a.py", new="def f(x:"), "not valid Python"),
        (FileEdit(file="/etc/passwd", new="x"), "no path within"),
        (FileEdit(file="../a.py", new="x"), "no path within"),
        (FileEdit(file="a/../../b", new="x"), "no path within"),
        (FileEdit(file="", new="x"), "no path within"),
        (FileEdit(file="a.py", old="x > 1", new="k = '[redacted:key]'"), "stands for a secret"),
    ],
)
def test_an_edit_that_does_not_fit_is_told_back(edit: FileEdit, told: str) -> None:
    with pytest.raises(Misfit, match=told):
        edited(edit)


def test_edits_are_made_all_or_none_and_every_fault_is_told() -> None:
    with pytest.raises(Misfit) as caught:
        edited(
            FileEdit(file="a.py", old="x > 1", new="1"),
            FileEdit(file="a.py", old="no", new=""),
            FileEdit(file="/x", new="x"),
        )
    assert len(str(caught.value).split("\n")) == 2


def test_whole_files_between_fences_go_to_the_file_they_mean() -> None:
    block = "def f(x):\n    return 1\n"
    assert in_fences(f"Fix `a.py`:\n```python\n{block}```", {"a.py": SOURCE}) == (FileEdit(file="a.py", new=block),)
    assert in_fences(f"```python\n{block}```", {"a.py": SOURCE, "b.py": "y = 1\n"})[0].file == "a.py"
    assert in_fences("```\nprint(1)\n```", {"a.py": SOURCE}) == ()
    echoed = f"```\na.py:\n```\n{block}```\n\nChange a.py. Now its check fails, and it says a lot about that:\n```\n"
    assert in_fences(echoed, {"a.py": SOURCE}, only="a.py") == (FileEdit(file="a.py", new=block),)


@given(st.text(max_size=40), st.text(max_size=60), st.text(max_size=60))
def test_no_edit_leaves_the_project_or_raises_anything_else(file: str, old: str, new: str) -> None:
    try:
        for change in changes_of([FileEdit(file=file, old=old, new=new)], {"a.py": SOURCE.encode()}.get):
            assert change.path == path_of(file)
            assert not change.path.startswith("/")
            assert ".." not in change.path.split("/")
    except Misfit:
        pass


# -- names and prices --------------------------------------------------------------------------------------------------


def test_names_say_who_is_asked_and_where() -> None:
    environ = {"OLLAMA_BASE_URL": "http://box:1/v1"}
    found = chain_of("anthropic:claude-sonnet-5, ollama:qwen3:8b,lmstudio:x", environ=environ)
    assert [str(each) for each in found] == ["anthropic:claude-sonnet-5", "ollama:qwen3:8b", "lmstudio:x"]
    assert [each.base_url for each in found] == ["", "http://box:1/v1", "http://127.0.0.1:1234/v1"]
    (there,) = chain_of("qwen3:8b", base_url="https://models.example/v1", environ={})
    assert there == ModelName(
        provider="openai-chat",
        name="qwen3:8b",
        base_url="https://models.example/v1",
        key_variable="RATCHET_MODEL_API_KEY",
    )
    with pytest.raises(UsageError, match="anthropic:gpt-5"):
        chain_of("gpt-5", environ={})


def test_what_nobody_knows_the_price_of_has_none() -> None:
    own = own_prices("mine=1/2, openai:gpt-5=0/0")
    usage = Usage(1_000_000, 500_000)

    def price(provider: str, name: str, base_url: str = "") -> float | None:
        found = pricing_of(ModelName(provider=provider, name=name, base_url=base_url), own)
        return None if found is None else found(usage)

    assert price("openai-chat", "mine", "https://models.example/v1") == 2.0
    assert price("openai", "gpt-5") == 0.0
    assert price("openai-chat", "gpt-4o", "https://models.example/v1") is None
    assert price("openai-chat", "anything", "http://localhost:8000/v1") == 0.0
    assert price("openai", "no-such-model") is None
    listed = price("anthropic", "claude-haiku-4-5")
    assert listed is not None
    assert listed > 0


@pytest.mark.parametrize("text", ["mine", "mine=1", "mine=a/b", "mine=-1/2", "=1/2", "mine=nan/1"])
def test_a_price_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="model_prices"):
        own_prices(text)


PILE = '''"""A pile."""

from __future__ import annotations


class Pile:
    def __init__(self):
        self.items = []

    @property
    def top(self):
        return self.items[0]


def made():
    return Pile()
'''


@pytest.mark.parametrize(
    ("answer", "old", "new"),
    [
        ("def top(self):\n    return self.items[-1]\n", "[0]", "[-1]"),
        ("class Pile:\n  @property\n  def top(self):\n    return 1\n", "self):\n        return self.items[0]",
         "self):\n      return 1"),
        ("def size(self):\n    return 1\n", "items[0]\n", "items[0]\n\n    def size(self):\n        return 1\n"),
        ("def made():\n    return None\n\n\nassert made() is None\n", "return Pile()", "return None"),
        ("def other():\n    return 2", "return Pile()\n", "return Pile()\n\n\ndef other():\n    return 2\n"),
        ("from pile import Pile\nimport math\n\n\ndef other():\n    return math.pi", "", ""),
        (PILE + "\nprint(made())\nassert made()\n", PILE, PILE + "\n"),
        (PILE.replace("[0]", "[-1]"), "[0]", "[-1]"),
        ("x = 1\n", PILE, "x = 1\n"),
        ("def broken(", PILE, "def broken("),
    ],
)  # fmt: skip
def test_a_part_of_a_file_takes_its_place_in_it_and_nothing_else_is_lost(answer: str, old: str, new: str) -> None:
    made = with_definitions(PILE, answer)
    if old:
        assert made == PILE.replace(old, new)
    else:
        assert made.startswith('"""A pile."""\n\nfrom __future__ import annotations\nimport math\n')
        assert "from pile" not in made
        compile(made, "pile.py", "exec")


def test_a_script_keeps_the_calls_that_it_is_made_of() -> None:
    script = "def greet():\n    print('hi')\n\n\ngreet()\n"
    assert with_definitions(script, script + "greet()\n") == script + "greet()\n"
