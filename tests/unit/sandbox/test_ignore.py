"""What .gitignore says, as git itself understands it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

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


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    git = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "--stdin", "-z"]
    said = subprocess.run(git, input=asked, capture_output=True, text=True, check=False).stdout
    ignored = Ignore(tmp_path)
    assert {path for path in PATHS if ignored.covers_below(path)} == {path for path in said.split("\0") if path}


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
