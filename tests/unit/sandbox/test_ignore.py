"""What .gitignore says, as git itself understands it."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ratchet.sandbox import git
from ratchet.sandbox.copyin import chosen
from ratchet.sandbox.ignore import Ignore, is_left_out, is_secret

NAMES = st.sampled_from(["a", "b", "ab", "a.o", "b.o", "x y", "#h", "!n", "aXb"])
PARTS = st.sampled_from(["a", "b", "*", "**", "?b", "a*", "*.o", "[ab]", "[!a]", "x y", "\\#h", "a\\*", "ab"])
RULES = st.builds(
    lambda negated, lead, parts, tail: f"{'!' if negated else ''}{lead}{'/'.join(parts)}{tail}",
    st.booleans(),
    st.sampled_from(["", "/"]),
    st.lists(PARTS, min_size=1, max_size=3),
    st.sampled_from(["", "/", " "]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rules=st.lists(RULES, min_size=1, max_size=5), below=st.lists(RULES, max_size=2))
@example(rules=["a", "/**", "!a"], below=[])
def test_every_rule_means_what_it_means_to_git(tmp_path: Path, rules: list[str], below: list[str]) -> None:
    if not (tmp_path / ".git").exists():
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        for path in PATHS:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).touch()
    (tmp_path / ".gitignore").write_text("\n".join(rules) + "\n")
    (tmp_path / "a" / ".gitignore").write_text("\n".join(below) + "\n")
    asked = "\0".join(PATHS)
    words = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "--stdin", "-z"]
    said = subprocess.run(words, input=asked, capture_output=True, text=True, check=False).stdout
    for ignore in (Ignore(tmp_path), Ignore(tmp_path, _asks=False)):
        assert ignore.among((path, False) for path in PATHS) == {path for path in said.split("\0") if path}


PATHS = [
    "a/a/b",
    "a/b/a.o",
    "a/ab",
    "a/x y",
    "b/a/a",
    "b/b.o",
    "ab/#h",
    "ab/!n",
    "a.o",
    "x y",
    "#h",
    "!n",
    "aXb",
    "b/aXb",
]


@pytest.mark.parametrize("name", [".env", ".env.local", "id_rsa", "a.p12", ".netrc", "prod.tfvars", "credentials.json"])
def test_files_named_like_secrets_are_secrets(name: str) -> None:
    assert is_secret(f"/x/{name}", name)


@pytest.mark.parametrize("name", [".env.example", "env.py", "secrets.py", "credentials.py", "key.txt", "id_rsa.pub"])
def test_files_that_only_sound_like_secrets_are_none(name: str) -> None:
    assert not is_secret(f"/x/{name}", name)


def test_a_key_file_is_judged_by_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "a.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    (tmp_path / "b.pem").write_text("x\n-----BEGIN RSA PRIVATE KEY-----\n")
    assert not is_secret(str(tmp_path / "a.pem"), "a.pem")
    assert is_secret(str(tmp_path / "b.pem"), "b.pem")


def test_repositories_environments_and_folders_of_keys_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "pyvenv.cfg").touch()
    for name in (".git", ".hg", ".ssh", "odd"):
        assert is_left_out(str(tmp_path / name), name, folder=True)
    assert not is_left_out(str(tmp_path / "src"), "src", folder=True)


@pytest.mark.parametrize("names", [("ratchet.db",), ("salt", "journal"), ("episodes", "workspaces")])
def test_where_ratchet_keeps_what_it_knows_is_left_out_whatever_was_done_there_first(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    for name in names:
        (tmp_path / "home" / name).mkdir(parents=True)
    (tmp_path / "part" / names[-1]).mkdir(parents=True)
    assert is_left_out(str(tmp_path / "home"), "home", folder=True)
    assert is_left_out(str(tmp_path / "part"), "part", folder=True) is (len(names) == 1)


BYTES = (
    "a",
    "b",
    "*",
    "**",
    "/",
    "?",
    "[",
    "]",
    "!",
    "#",
    "\\",
    " ",
    "-",
    ".txt",
    "\n",
    "\n",
    "\n",
    "\r\n",
    "\t",
    "[z-a]",
)
LINES = st.lists(st.sampled_from([each.encode() for each in BYTES]) | st.binary(max_size=3), max_size=24).map(b"".join)
FILES = (
    *(
        "a",
        "a.txt",
        "z.txt",
        "ab",
        "a b",
        "#",
        "!a",
        "b/a",
        "b/b",
        "b/a.txt",
        "b/d/a",
        "b/d/-",
        "c",
        ":a",
        "\\",
        "a\tb",
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top=LINES, below=LINES, exclude=LINES)
@example(top=b"[z-a].txt\n", below=b"", exclude=b"")
@example(top=b"\xef\xbb\xbfa\n", below=b"b\x00c\na\x85b\n\xff\n", exclude=b"b\x0cc\n")
@example(top=b"a\\ \nb\\\\  \n!\n/\n//a\na//\n\\", below=b"\r\n\\\r\n!\\!a\n", exclude=b" \n  a\n")
def test_whatever_bytes_are_in_it_a_gitignore_means_what_it_means_to_git(
    tmp_path: Path, top: bytes, below: bytes, exclude: bytes
) -> None:
    if not (tmp_path / ".git").exists():
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
        for path in ("\udcff", *FILES):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).touch()
    (tmp_path / ".gitignore").write_bytes(top)
    (tmp_path / "b" / ".gitignore").write_bytes(below)
    (tmp_path / ".git" / "info" / "exclude").write_bytes(exclude)
    asked = b"\0".join(b"./" + os.fsencode(path) for path in FILES)
    words = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "--stdin", "-z"]
    done = subprocess.run(words, input=asked, capture_output=True, check=False)
    said = {os.fsdecode(path)[2:] for path in done.stdout.split(b"\0") if path}
    for ignore in (Ignore(tmp_path), Ignore(tmp_path, _asks=False)):
        assert ignore.among((path, False) for path in FILES) == said


def copied(project: Path) -> list[str]:
    return [path for path, folder in chosen(project) if not folder]


def test_a_range_that_runs_backwards_holds_its_first_letter_as_in_git(tmp_path: Path) -> None:
    for name in ("z.txt", "a.txt", "m.txt", "m.log"):
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("[z-a].txt\n*.log\n")
    assert copied(tmp_path) == [".gitignore", "a.txt", "m.txt"]


def test_a_rule_that_takes_git_for_ever_is_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_ASKED_TIMEOUT_S", 0.2)
    (tmp_path / "/".join("a" * 60)).mkdir(parents=True)
    (tmp_path / "kept").touch()
    (tmp_path / ".gitignore").write_text(f"/{'**/a/' * 25}b\n*.log\n")
    (tmp_path / "a.log").touch()
    assert copied(tmp_path) == [".gitignore", "kept"]


def test_without_a_git_the_rules_are_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("a.py", "a.log", ".gitignore"):
        (tmp_path / name).write_text("*.log\n")
    assert copied(tmp_path) == [".gitignore", "a.py"]


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "socket of nobody"])
def test_a_gitignore_that_is_no_file_ignores_nothing_and_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    for name in ("a.log", "sub/b.log", "sub/c.py"):
        (project / name).touch()
    (project / ".gitignore").write_text("b.*\n")
    place = project / "sub" / ".gitignore"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "link":
        (tmp_path / "rules").write_text("*\n")
        place.symlink_to(tmp_path / "rules")
    else:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(place))
    assert {"a.log", "sub/c.py"} <= set(copied(project))
    assert "sub/b.log" not in copied(project)


@pytest.mark.parametrize(
    "name",
    [
        ".git",
        ".GIT",
        ".Git",
        ".git.",
        ".git ",
        ".git . ",
        "GIT~1",
        "git~2",
        ".g\u200cit",
        "\ufeff.git",
        ".git::$INDEX_ALLOCATION",
    ],
)
def test_each_name_that_is_a_repository_to_some_disk_is_one(name: str) -> None:
    assert git.names_repository(name)


@pytest.mark.parametrize(
    "name", [".gitignore", "git", ".github", ".gitattributes", "a.git", ".git-blame", "git~", ".gi"]
)
def test_a_name_that_only_looks_like_a_repository_is_none(name: str) -> None:
    assert not git.names_repository(name)
