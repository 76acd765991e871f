"""Files as targets: what is not ours keeps its bytes, and a file that cannot be edited safely is left alone."""

from __future__ import annotations

import multiprocessing
import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratchet.errors import BackendError, Conflict, Refused, UsageError
from ratchet.improving.targets.file import FileTarget
from ratchet.records import Json
from support.campaigns import many

YAML = """\
# Settings of the agent
llm:
  timeout_s: 30   # seconds
  model: "large"
  stop: [a, b]
  prompt: |
    You are careful.

    Answer briefly.
# how often
retries: 2
agents:
  - name: one
    timeout_s: 5
  - name: two   # slow
    timeout_s: 50
base: &base {x: 1}
other:
  <<: *base
  y: 2
"""
TOML = """\
# Settings of the agent
retries = 2  # how often

[llm]
timeout_s = 30   # seconds
model = 'large'
prompt = \"\"\"
You are careful.
Answer briefly.\"\"\"

[[agents]]
name = "one"
timeout_s = 5

[[agents]]
name = "two"   # slow
timeout_s = 50
"""
JSON = """\
{
    // Settings of the agent
    "retries": 2, /* how often */
    "llm": {
        "timeout_s": 30, // seconds
        "model": "large // not a comment",
        "prompt": "You are careful.\\nAnswer briefly."
    },
    "agents": [{"name": "one", "timeout_s": 5}, {"name": "two", "timeout_s": 50}], // two
}
"""
DOCUMENTS = {"a.yaml": YAML, "a.toml": TOML, "a.jsonc": JSON}
KEYS = ("retries", "llm.timeout_s", "llm.model", "llm.prompt", "agents.1.timeout_s", "llm.new", "fresh.deep.key")


@pytest.fixture(params=sorted(DOCUMENTS))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    path.write_text(DOCUMENTS[path.name])
    return path


def changed(path: Path, change: dict[str, Json], keys: tuple[str, ...] = KEYS) -> str:
    target = FileTarget(path, keys)
    target.apply(target.plan(change))
    return path.read_bytes().decode()


def test_values_are_read_wherever_they_stand(path: Path) -> None:
    held = FileTarget(path, KEYS).read().values
    assert (held["retries"], held["llm.timeout_s"], held["agents.1.timeout_s"]) == (2, 30, 50)
    assert str(held["llm.prompt"]).startswith("You are careful.\n")
    assert "llm.new" not in held


def test_one_value_changes_and_every_other_byte_stays(path: Path) -> None:
    before = path.read_text()
    assert changed(path, {"llm.timeout_s": 45}) == before.replace("30", "45", 1)


def test_an_element_of_a_list_can_be_reached(path: Path) -> None:
    before = path.read_text()
    assert changed(path, {"agents.1.timeout_s": 90}) == before.replace("timeout_s: 50", "timeout_s: 90").replace(
        "timeout_s = 50", "timeout_s = 90"
    ).replace('"timeout_s": 50', '"timeout_s": 90')


def test_comments_survive_whatever_is_added(path: Path) -> None:
    comments = [line for line in ("Settings of the agent", "how often", "seconds") if line in path.read_text()]
    after = changed(path, {"llm.new": True, "fresh.deep.key": [1, "two"], "llm.prompt": "One.\nTwo.", "retries": 4})
    assert all(comment in after for comment in comments)
    held = FileTarget(path, KEYS).read().values
    assert (held["llm.new"], held["fresh.deep.key"], held["llm.prompt"]) == (True, [1, "two"], "One.\nTwo.")


def test_an_untouched_edit_is_undone_byte_for_byte(path: Path) -> None:
    before = path.read_bytes()
    target = FileTarget(path, KEYS)
    edit = target.plan({"llm.new": "x", "fresh.deep.key": 1, "llm.prompt": "One.\nTwo.", "llm.model": "small"})
    target.apply(edit)
    assert path.read_bytes() != before
    target.restore(edit)
    assert path.read_bytes() == before


def test_windows_line_breaks_stay(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    before = path.read_bytes()
    target = FileTarget(path, KEYS)
    edit = target.plan({"llm.timeout_s": 45, "llm.new": 1, "fresh.deep.key": 2})
    target.apply(edit)
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")
    assert FileTarget(path, KEYS).read().values["llm.new"] == 1
    target.restore(edit)
    assert path.read_bytes() == before


def test_an_added_key_is_taken_out_again_beside_a_persons_edit(path: Path) -> None:
    target = FileTarget(path, KEYS)
    edit = target.plan({"llm.new": "x", "llm.timeout_s": 45})
    target.apply(edit)
    person = path.read_text().replace("large", "their own")
    path.write_text(person)
    done = target.restore(edit)
    assert set(done.restored) == {"llm.new", "llm.timeout_s"}
    held = target.read().values
    assert "llm.new" not in held
    assert "their own" in str(held["llm.model"])
    assert "seconds" in path.read_text()


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.toml"])
@pytest.mark.parametrize("content", [None, "", "\n"], ids=["absent", "empty", "blank"])
def test_a_file_without_content_gets_its_first_key_and_loses_it_again(
    tmp_path: Path, name: str, content: str | None
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    target = FileTarget(path, ("llm.timeout_s",))
    edit = target.plan({"llm.timeout_s": 5})
    target.apply(edit)
    assert target.read().values == {"llm.timeout_s": 5}
    target.restore(edit)
    assert path.exists() == (content is not None)
    assert content is None or path.read_text() == content


@settings(max_examples=many(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    value=st.one_of(
        st.booleans(),
        st.integers(-(2**40), 2**40),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.just("\n"), max_size=30),
        st.lists(st.sampled_from(["a", "on", "1", "# no", ": x", "{", "'", '"', "~", ""]), max_size=3),
        st.sampled_from(["yes", "null", "1e5", "- a", "a: b", "&x", "*x", "!t", "%d", " a ", "a\n", "\n", "a\n\nb\n"]),
    ),
    key=st.sampled_from(["llm.timeout_s", "llm.model", "llm.prompt", "llm.new"]),
)
def test_any_value_comes_back_as_it_was_set_and_leaves_the_rest(
    path: Path, value: Json, key: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.mktemp("copy") / path.name
    copy.write_text(DOCUMENTS[path.name])
    target = FileTarget(copy, KEYS)
    held = target.read().values
    edit = target.plan({key: value})
    target.apply(edit)
    assert target.read().values == {**held, key: value}
    target.restore(edit)
    assert copy.read_text() == DOCUMENTS[path.name]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"a": 1'),
        ("a.json", "[1]"),
        ("a.yaml", "a: [1"),
        ("a.yaml", "- 1\n"),
        ("a.yaml", "a: 1\n---\na: 2\n"),
        ("a.toml", "a = "),
    ],
)
def test_a_file_that_does_not_parse_is_refused_by_name_and_left_alone(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(Refused, match=name):
        FileTarget(path, ("a",)).plan({"a": 2})
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a: &x 5\nb: *x\n", "b"),
        ("a: &x 5\nb: *x\n", "a"),
        ("a: &x {c: 1}\nb: *x\n", "b.c"),
        ("a:\n  - 1\n  - 2\n", "a"),
        ("a: 5\n", "a.b"),
    ],
    ids=["an alias", "an anchor others use", "inside an alias", "a list over lines", "through a value"],
)
def test_an_edit_that_would_change_more_than_its_key_is_refused(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(Refused):
        FileTarget(path, (key,)).plan({key: 7})
    assert path.read_text() == text


def test_a_key_that_a_merge_brings_is_overridden_and_given_back(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(YAML)
    target = FileTarget(path, ("other.x",))
    edit = target.plan({"other.x": 9})
    assert edit.before == {"other.x": 1}
    target.apply(edit)
    assert target.read().values == {"other.x": 9}
    assert "base: &base {x: 1}" in path.read_text()
    target.restore(edit)
    assert path.read_text() == YAML


def test_values_that_json_has_not_do_no_harm_elsewhere_in_the_file(tmp_path: Path) -> None:
    for name, text in (
        ("a.yaml", "day: 2024-01-02\nodd: .nan\na: 1\n"),
        ("a.toml", "day = 2024-01-02\nodd = nan\na = 1\n"),
    ):
        path = tmp_path / name
        path.write_text(text)
        target = FileTarget(path, ("a",))
        target.apply(target.plan({"a": 2}))
        assert path.read_text() == text.replace("1\n", "2\n")
        with pytest.raises(Refused, match="date"):
            FileTarget(path, ("day",)).read()


@pytest.mark.parametrize(
    "text",
    [
        "{ // why\n}\n",
        '{\n  "a": 1, // why\n}\n',
        '{\n  "a": 1 // why\n}\n',
        '{"a": {"b": 1}, /* why */ }\n',
        '{\n  "a": 1,\n  // why\n}\n',
    ],
)
def test_a_key_beside_comments_is_added_and_taken_out_again(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    target = FileTarget(path, ("new",))
    edit = target.plan({"new": [1]})
    target.apply(edit)
    assert "why" in path.read_text()
    path.write_text(path.read_text() + "// a person\n")
    assert target.restore(edit).restored == ("new",)
    assert FileTarget(path, ("new",)).read().values == {}
    assert "why" in path.read_text()


@pytest.mark.parametrize(
    ("text", "key"),
    [("[[a]]\nb = 1\n", "a"), ("[a]\nb = 1\n", "a"), ("[[a]]\n[c]\n[[a]]\nb = 1\n", "c.d"), ("a = {b = 1}\n", "a.c")],
)
def test_toml_that_cannot_be_edited_well_is_refused_and_all_else_is_edited(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    target = FileTarget(path, (key,))
    try:
        edit = target.plan({key: {"x": [1, {"y": "z"}]}})
    except Refused:
        assert path.read_text() == text
        return
    target.apply(edit)
    assert target.read().values == {key: {"x": [1, {"y": "z"}]}}
    target.restore(edit)
    assert path.read_text() == text


def test_a_link_stays_a_link_and_mode_and_foreign_bytes_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_bytes(b'{"a": 1, "b": "\xff"}')
    real.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    assert FileTarget(link, ("a",)).name == FileTarget(real, ("a",)).name
    target = FileTarget(link, ("a",))
    target.apply(target.plan({"a": 2}))
    assert link.is_symlink()
    assert real.read_bytes() == b'{"a": 2, "b": "\xff"}'
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_access_is_told_and_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1}')
    target = FileTarget(path, ("a",))
    edit = target.plan({"a": 2})
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(BackendError, match="write access"):
            target.apply(edit)
    finally:
        tmp_path.chmod(0o700)
    assert path.read_text() == '{"a": 1}'


def test_a_folder_in_the_files_place_is_a_broken_backend(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(BackendError):
        FileTarget(tmp_path / "a.json", ("a",)).read()


def test_wrong_keys_and_suffixes_are_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="inside"):
        FileTarget(tmp_path / "a.json", ("llm", "llm.model"))
    with pytest.raises(UsageError, match="suffix"):
        FileTarget(tmp_path / "a.conf", ("a",))
    with pytest.raises(UsageError, match="keys"):
        FileTarget(tmp_path / "a.json", "llm")
    with pytest.raises(UsageError, match="notation"):
        FileTarget(tmp_path / "a.conf", ("a",), notation="xml")
    with pytest.raises(Refused, match="null"):
        FileTarget(tmp_path / "a.toml", ("a",)).plan({"a": None})


def test_names_that_hold_dots_are_given_as_paths(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"gpt-4.1": {"timeout": 5}}')
    target = FileTarget(path, {"timeout": ("gpt-4.1", "timeout")})
    target.apply(target.plan({"timeout": 6}))
    assert path.read_text() == '{"gpt-4.1": {"timeout": 6}}'


def _count_up(path: Path, key: str, times: int) -> None:
    target = FileTarget(path, (key,))
    done = 0
    while done < times:
        try:
            target.apply(target.plan({key: done + 1}))
        except Conflict:
            continue
        done += 1


@pytest.mark.slow
def test_processes_that_edit_at_once_lose_nothing_and_readers_see_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 0, "b": 0, "c": 0}')
    context = multiprocessing.get_context("spawn")
    counters = [context.Process(target=_count_up, args=(path, key, 25)) for key in "abc"]
    for counter in counters:
        counter.start()
    reader = FileTarget(path, ("a", "b", "c"))
    while any(counter.is_alive() for counter in counters):
        assert len(reader.read().values) == 3
    for counter in counters:
        counter.join()
        assert counter.exitcode == 0
    assert reader.read().values == {"a": 25, "b": 25, "c": 25}
