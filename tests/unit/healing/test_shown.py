"""What is shown of a change says line for line what the patch says, without the secrets that whole files tell of."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from ratchet.healing.episode import Attempt, Budget, Episode, Task
from ratchet.healing.patches import diff_text
from ratchet.healing.shown import shown_text
from ratchet.healing.solvers import survey
from ratchet.sandbox.command import FileChange
from ratchet.sandbox.copied import CopiedWorkspace

VALUE = "aHVudGVyMnh5ejk5OQ=="
FAR = "".join(f"  place{n}: here\n" for n in range(8))
MANIFEST = f"kind: Secret\nmetadata:\n{FAR}data:\n  mode: d3Jvbmc=\n  dbpw: {VALUE}\n"
INNER = [base64.b64encode(bytes(range(n, n + 48))).decode() for n in range(0, 160, 10)]
KEY = "\n".join(["before", "-----BEGIN RSA PRIVATE KEY-----", *INNER, "-----END RSA PRIVATE KEY-----", "behind", ""])


def _change(before: str | bytes | None, after: str | bytes | None, path: str = "a.yaml") -> FileChange:
    sides = [side.encode() if isinstance(side, str) else side for side in (before, after)]
    modes = [0 if side is None else 0o644 for side in sides]
    return FileChange(path=path, before=sides[0], after=sides[1], before_mode=modes[0], after_mode=modes[1])


def _signs(diff: str) -> list[str]:
    return [line[:1] for line in diff.split("\n")]


def test_a_change_without_secrets_is_shown_as_it_is() -> None:
    changes = [_change("a: 1\n", "a: 2\n"), _change(None, "b\n", "new.txt"), _change("c\n", None, "old.txt")]
    assert shown_text(changes) == diff_text(changes)
    assert shown_text([]) == ""


def test_one_secret_in_the_place_of_another_is_still_a_changed_line() -> None:
    change = _change(MANIFEST, MANIFEST.replace(VALUE, "b3RoZXJYejkxUXEyMg=="))
    shown = shown_text([change])
    assert "-  dbpw: [redacted:secret]\n+  dbpw: [redacted:secret]\n" in shown
    assert _signs(shown) == _signs(diff_text([change]))


@pytest.mark.parametrize("at", [0, 7, 15])
def test_no_line_of_a_private_key_is_shown_and_every_line_is_counted(at: int) -> None:
    change = _change(KEY, KEY.replace(INNER[at], INNER[at][::-1]))
    shown = shown_text([change])
    assert not [line for line in (*INNER, INNER[at][::-1]) if line in shown]
    assert _signs(shown) == _signs(diff_text([change]))


def test_a_line_that_is_a_secret_on_one_side_is_hidden_on_both() -> None:
    near = f"kind: {{}}\ndata:\n  dbpw: {VALUE}\n"
    for before, after in (("Secrt", "Secret"), ("Secret", "Secrt")):
        shown = shown_text([_change(near.format(before), near.format(after).replace("  dbpw", "    dbpw"))])
        assert VALUE not in shown
        assert f"+kind: {after}" in shown


def test_lines_beside_a_hidden_block_are_shown() -> None:
    before = "a: 1\npassword: |\n  one1Hunter\n  }\n  two2Hunter\nb: {\n  c: 1\n  }\n"
    shown = shown_text([_change(before, before.replace("c: 1", "c: 2"))])
    assert "Hunter" not in shown
    assert " b: {\n-  c: 1\n+  c: 2\n   }\n" in shown


def test_bytes_that_are_no_text_are_named_and_not_shown() -> None:
    packed = diff_text([_change(b"a\0b", b"a\0c" * 90)])
    shown = shown_text([_change(b"a\0b", b"a\0c" * 90), _change("a\n", "b\n")])
    assert "Binary files differ\ndiff --git" in shown
    assert not [line for line in packed.split("\n")[3:] if line and line in shown]


def test_a_file_too_large_to_be_read_for_secrets_is_named_and_not_shown() -> None:
    shown = shown_text([_change(None, f"dbpw: {VALUE}\n" * 100_000)])
    assert shown == (
        "diff --git a/a.yaml b/a.yaml\nnew file mode 100644\nThe file is too large to be shown without secrets.\n"
    )


def test_of_a_row_from_before_the_diff_is_shown_without_the_secrets_that_its_own_lines_tell() -> None:
    old = Attempt(episode="e", n=1, status="passed", diff="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-password: hunter2xyz9\n+b\n")
    assert "hunter2xyz9" not in old.shown
    assert "+b" in old.shown
    task = Task(id="t", check=("true",))
    held = Episode(id="e", task=task, number=1, status="passed", budget=Budget(), attempts=(old,), diff=old.diff)
    assert held.shown == old.shown
    assert (
        "hunter2xyz9" not in Episode(id="e", task=task, number=1, status="passed", budget=Budget(), diff=old.diff).shown
    )


@pytest.mark.parametrize("at", range(4, 60, 7))
def test_a_part_of_a_large_file_keeps_none_of_the_secrets_that_the_whole_tells(tmp_path: Path, at: int) -> None:
    filler = "".join(f"# line {number} of a long remark\n" for number in range(400))
    project = tmp_path / "project"
    project.mkdir()
    (project / "large.py").write_text(f"{filler}TEXT = '''\n{KEY}{MANIFEST}  a: |\n    {VALUE}\n'''\n{filler}")
    told = f'File "large.py", line {400 + at}\n'
    work = CopiedWorkspace.create(project, tmp_path / "work")
    [seen] = survey.shown(work, ["large.py"], told, 2_000, may_change=frozenset({"large.py"}))
    assert not seen.whole
    assert not [line for line in (*INNER, VALUE) if line in seen.text]
    assert "[redacted:" in seen.text or "remark" in seen.text
