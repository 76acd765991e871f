"""Each finding of a tool's output is told apart: by its rule or its masked message, with its place and its code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.failures.diagnostics import bare_keys_of, diagnostics, keys_of, masked


def _read() -> dict[str, tuple[str, list[tuple[str, str, int]]]]:
    """What the tools print (`tool_outputs.txt`), each with the findings in it: (key, file, line)."""
    found: dict[str, tuple[str, list[tuple[str, str, int]]]] = {}
    for part in Path(__file__).with_name("tool_outputs.txt").read_text(encoding="utf-8").split("#### ")[1:]:
        name, *lines = part.rstrip("\n").split("\n")
        named = [line.removeprefix("## ").split(" | ") for line in lines if line.startswith("## ")]
        text = "\n".join(line for line in lines if not line.startswith("## "))
        found[name] = text, [(key, file, int(line)) for key, file, line in named]
    return found


OUTPUTS = _read()


@pytest.mark.parametrize("tool", OUTPUTS)
def test_the_findings_of_a_tool_are_told_apart(tool: str) -> None:
    output, expected = OUTPUTS[tool]
    assert [(each.key, each.name, each.line) for each in diagnostics(output)] == expected


def test_the_code_that_a_tool_quotes_is_kept() -> None:
    output, _ = OUTPUTS["golangci-lint"]
    assert diagnostics(output)[0].source.strip() == "return err"
    assert diagnostics(OUTPUTS["rustc"][0])[0].source == "fn main(){ foo }"
    assert (
        diagnostics(OUTPUTS["golangci-lint, its head cut off"][0])[0].source == 'gitInit := exec.Command("git", "init")'
    )


def test_what_an_editor_repeats_of_its_input_is_no_finding() -> None:
    text = "String to replace not found in file.\nString: return fmt.Errorf(\n}"
    assert keys_of(text) == ["e:String to replace not found in file"]


def test_a_command_that_is_not_there_is_one_finding_in_every_shell() -> None:
    said = (
        "(eval):1: command not found: tree",
        "zsh: command not found: tree",
        "zsh:1: command not found: tree",
        "bash: tree: command not found",
        "/bin/bash: line 1: tree: command not found",
        "sh: 1: tree: not found",
        "command not found: tree",
    )
    assert {key for each in said for key in keys_of(each)} == {"e:command not found: tree"}
    assert keys_of("tree: not found") != ["e:command not found: tree"]


def test_that_there_were_more_errors_is_no_finding() -> None:
    said = "cart.go:1:2: declared and not used: a\ncart.go:9:2: too many errors"
    assert keys_of(said) == ["c:declared and not used: a"]


def test_a_message_is_masked_to_what_its_cause_shares() -> None:
    assert masked("cannot use cp.ID (variable of string type shop.ID) as string value in argument to add") == masked(
        "cannot use ids[0] (value of type shop.ID) as string value in return statement"
    )
    for package in ('"github.com/dev/shop/src/pages"', "github.com/dev/shop/src/pages", "pages"):
        said = f"cannot use width (variable of type string) as {package}.Trusted value in argument to pages.Render"
        assert masked(said) == "cannot use string as pages.Trusted"
    assert masked("cannot use 3 (untyped int constant) as string value in assignment") == "cannot use int as string"
    assert masked("undefined: strconv") != masked("undefined: errors")
    assert masked("unknown flag: --stat") != masked("unknown flag: --json")


@given(st.text(max_size=400) | st.text(alphabet="ab1:/.-()[]\n E", max_size=400))
def test_any_text_has_findings_or_none(text: str) -> None:
    for each in diagnostics(text):
        assert each.key
        assert each.line >= 0


_PLACE = re.compile(r"^\s*(?:[\w./@+-]+\.\w+[:(])?\d+[:,]\d+(?:\)?:| - |\s+(?=error))\s*|^\s*[\w./@+-]+\.\w+:\d+:\s*")


@pytest.mark.parametrize("tool", OUTPUTS)
def test_a_finding_that_is_quoted_without_its_place_is_known_by_its_rule(tool: str) -> None:
    for line in OUTPUTS[tool][0].splitlines():
        quoted = _PLACE.sub("", line)
        ruled = [each.key for each in diagnostics(line) if each.ruled and each.path]
        if quoted != line and ruled:
            assert set(ruled) <= {*bare_keys_of(quoted)}, quoted


def test_what_names_no_rule_is_quoted_as_nothing() -> None:
    for said in ("mend the build (please)", "the Tests fail  often", "see [1]", "", "exit code 1"):
        assert not [key for key in bare_keys_of(said) if key.partition(":")[0] not in ("please", "eslint")], said
    assert bare_keys_of("\n".join(["x is unused (unused)"] * 99)) == [], "a whole output names its places itself"


def test_a_bracket_that_another_line_opened_is_no_part_of_a_finding() -> None:
    output = """cmd/store/committed.go:37:10: undefined: errors (typecheck)
cmd/session.go:25:2: could not import shop/store (-: # shop/store
cmd/store/committed.go:37:10: undefined: errors) (typecheck)
"""
    assert [each.key for each in diagnostics(output) if "undefined" in each.key] == ["c:undefined: errors"]
