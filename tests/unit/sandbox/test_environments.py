"""A project's own files name no path that a command may read: only a Python that is one, and only its own files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratchet.errors import SandboxError
from ratchet.sandbox import bubblewrap, environments, interpreter, landlock
from ratchet.sandbox.command import Command, View
from ratchet.sandbox.environments import MADE_INSIDE, Shown, judge


def installation(prefix: Path) -> Path:
    """The files by which a Python installation is known, beside some that are nobody's business."""
    for folder in ("bin", "lib/python3.11/json", "include/python3.11", "etc"):
        (prefix / folder).mkdir(parents=True)
    for name in ("bin/python3.11", "lib/python3.11/os.py", "lib/libpython3.11.so.1.0", "include/python3.11/Python.h"):
        (prefix / name).write_text("")
    for name in ("bin/deploy", "lib/secret.json", "etc/token", "secret"):
        (prefix / name).write_text("")
    (prefix / "bin" / "python3").symlink_to("python3.11")
    (prefix / "lib" / "libpython3.11.so").symlink_to("libpython3.11.so.1.0")
    (prefix / "lib" / "libtoken.so").symlink_to("../etc/token")
    (prefix / "lib" / "libjson.so").symlink_to("secret.json")
    return prefix


PARTS = ("bin/python3.11", "lib/python3.11", "lib/libpython3.11.so.1.0", "include/python3.11")


def venv(project: Path, python: str | Path, home: str | Path, *, name: str = ".venv") -> Path:
    made = project / name
    (made / "bin").mkdir(parents=True)
    (made / "bin" / "python").symlink_to(python)
    (made / "pyvenv.cfg").write_text(f"home = {home}\nversion = 3.11.7\n")
    return made


@dataclass(frozen=True)
class Host:
    """A machine: a home with secrets, installations that may be shown and others that may not, a project."""

    root: Path
    home: Path
    project: Path
    true: tuple[Path, ...]

    def allowed(self) -> set[str]:
        return {str(prefix / part) for prefix in self.true for part in PARTS}

    def names(self) -> list[str]:
        """Every name there is, as a link may lead to it."""
        return sorted(str(each) for each in self.root.rglob("*"))


@contextmanager
def host() -> Iterator[Host]:
    """HOME is the home of it for the while."""
    with tempfile.TemporaryDirectory(prefix="farm-") as made, pytest.MonkeyPatch.context() as patch:
        root = Path(made).resolve()
        home = root / "home"
        for folder in (".ssh", ".config", "snap/firefox/12/profile", "proj", ".pyenv/shims"):
            (home / folder).mkdir(parents=True)
        for name in (".ssh/id_ed25519", ".config/rc", "snap/firefox/12/profile/logins.json", ".pyenv/shims/python"):
            (home / name).write_text("")
        (home / ".ssh" / "config").symlink_to("../.config/rc")
        (home / ".bashrc").symlink_to(".config/rc")
        (home / "snap" / "firefox" / "current").symlink_to("12")
        (root / "etc" / "zone").mkdir(parents=True)
        (root / "etc" / "shadow").write_text("")
        (root / "etc" / "localtime").symlink_to("zone")
        (root / "sbin").symlink_to("bin")
        true = (installation(home / ".pyenv/versions/3.11.7"), installation(root / "opt/python"))
        (home / ".pyenv/versions/3.11").symlink_to("3.11.7")
        # Homes of secrets, and what a run could write, with a planted library.
        for planted in (home, home / ".ssh" / "python", home / "proj" / "python", root):
            installation_in(planted)
        patch.setenv("HOME", str(home))
        yield Host(root, home, home / "proj", true)


def installation_in(prefix: Path) -> None:
    for name in ("lib/python3.11/os.py", "bin/python3.11"):
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        (prefix / name).write_text("")


def shown_by(found: Host) -> set[str]:
    """What the plans of both sandboxes show for the project, without what they show for any folder."""
    empty = found.root / "empty"
    empty.mkdir(exist_ok=True)
    return _sources(found.project) - _sources(empty)


def _sources(folder: Path) -> set[str]:
    command = Command(argv=("true",), view=View(folder=folder))
    made = bubblewrap.planned(command, "bwrap")
    steps = {os.path.realpath(str(step[1])) for step in made.steps if step[0] == "ro"}
    rules = {os.path.realpath(path) for path in landlock.Landlock().planned(command, folder).readable}
    within = f"{os.path.realpath(folder)}/"
    return {each for each in steps | rules if not each.startswith(within)}


@st.composite
def farms(draw: st.DrawFn, names: list[str], project: Path) -> tuple[dict[str, str], str | None]:
    """Links of a project (name -> target), and what its settings name as home."""
    targets = st.one_of(
        st.sampled_from(names),
        st.sampled_from(names).map(lambda each: os.path.relpath(each, project / ".venv" / "bin")),
        st.sampled_from(
            ["/etc/localtime", "/bin", "/etc", "/", "/proc/self/root", "/proc/self/cwd", "..", ".", "python"]
        ),
        st.sampled_from([str(project / name) for name in ("a", "b", ".venv/bin/b", ".venv/bin/python")]),
    )
    own = ("a", "b", ".venv/bin/b", ".venv/lib", ".venv/pyvenv.cfg", ".venv", "venv", "env")
    links = draw(st.dictionaries(st.sampled_from(own), targets, max_size=4))
    links[".venv/bin/python"] = draw(targets)
    return links, draw(st.one_of(st.none(), st.just("/usr/bin"), targets, st.sampled_from(names).map(os.path.dirname)))


def _within(folder: Path, project: Path) -> bool:
    return folder.is_dir() and Path(os.path.realpath(folder)).is_relative_to(project)


def plant(project: Path, links: dict[str, str], home: str | None) -> None:
    for name, target in sorted(links.items()):
        path = project / name
        with suppress(OSError):  # a link stands there already, to a file or to nothing
            path.parent.mkdir(parents=True, exist_ok=True)
            if _within(path.parent, project):
                path.symlink_to(target)
    settings_file = project / ".venv" / "pyvenv.cfg"
    if home is not None and not os.path.lexists(settings_file) and _within(settings_file.parent, project):
        settings_file.write_text(f"home = {home}\n")


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_whatever_links_a_project_brings_no_path_but_a_pythons_own_files_is_shown(data: st.DataObject) -> None:
    with host() as found:
        links, home = data.draw(farms(found.names(), found.project))
        plant(found.project, links, home)
        assert shown_by(found) <= found.allowed()


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_whatever_an_environment_says_what_is_shown_of_a_python_is_real_and_its_own(data: st.DataObject) -> None:
    with host() as found:
        names = [*found.names(), *(f"{prefix}/bin/{name}" for prefix in found.true for name in ("python3", "deploy"))]
        made = venv(
            found.project, data.draw(st.sampled_from(names)), os.path.dirname(data.draw(st.sampled_from(names)))
        )
        judged = judge(made, (found.project,))
        if isinstance(judged, Shown):
            assert judged.paths <= found.allowed()
            assert all(os.path.realpath(path) == path for path in judged.paths)
            assert {target for _, target in judged.links} <= judged.paths
            assert not any(name.startswith(str(found.project)) for name, _ in judged.links)


def test_an_environment_is_used_with_its_python_and_the_links_that_lead_there() -> None:
    with host() as found:
        asked = found.home / ".pyenv/versions/3.11/bin/python3"  # by a folder that is a link, as uv and pyenv name them
        venv(found.project, asked, asked.parent)
        prefix = found.home / ".pyenv/versions/3.11.7"
        made = environments.environments(found.project)
        assert (made.venv, made.unused) == (found.project / ".venv", ())
        judged = judge(found.project / ".venv", (found.project,))
        assert isinstance(judged, Shown)
        assert judged.paths == {str(prefix / part) for part in PARTS}
        links = dict(judged.links)
        assert links[str(asked)] == str(prefix / "bin/python3.11")
        assert links[str(found.home / ".pyenv/versions/3.11/lib/python3.11")] == str(prefix / "lib/python3.11")
        assert links[str(prefix / "lib/libpython3.11.so")] == str(prefix / "lib/libpython3.11.so.1.0")
        assert not any("token" in name or "json" in name for name, _ in judged.links)


def test_a_copied_interpreter_stands_on_what_its_settings_name() -> None:
    with host() as found:
        made = venv(found.project, "nowhere", found.true[1] / "bin")
        (made / "bin" / "python").unlink()
        (made / "bin" / "python").write_text("")
        judged = judge(made, (found.project,))
        assert isinstance(judged, Shown)
        assert judged.paths == {str(found.true[1] / part) for part in PARTS}


@pytest.mark.parametrize(
    ("python", "home", "said"),
    [
        ("home/.ssh/config", "opt/python/bin", "is no Python"),
        ("etc/localtime", "opt/python/bin", "is no Python"),
        ("opt/python/bin/deploy", "opt/python/bin", "is no Python"),
        ("home/.pyenv/shims/python", "opt/python/bin", "is no Python"),
        ("opt/python/bin/python3", "etc", "is no Python"),
        ("opt/python/bin/python3", "home/bin", "holds a home"),
        ("home/bin/python3.11", "opt/python/bin", "holds a home"),
        ("bin/python3.11", "opt/python/bin", "holds a home"),
        ("home/.ssh/python/bin/python3.11", "opt/python/bin", "among secrets"),
        ("home/proj/python/bin/python3.11", "opt/python/bin", "where commands in the sandbox write"),
        ("opt/python/bin/python3", "home/proj/python/bin", "where commands in the sandbox write"),
        ("home/proj/.venv/bin/python", "opt/python/bin", "round in a circle"),
    ],
)
def test_an_environment_that_stands_on_anything_else_is_not_used_and_a_line_says_why(
    python: str, home: str, said: str
) -> None:
    with host() as found:
        venv(found.project, found.root / python, found.root / home)
        made = environments.environments(found.project)
        assert made.venv is None
        assert len(made.unused) == 1
        assert made.unused[0].startswith(".venv is not used: ")
        assert said in made.unused[0]
        assert shown_by(found) == set()


def test_settings_that_are_no_file_are_not_waited_for_and_not_followed(tmp_path: Path) -> None:
    for name in (".venv", "venv", "env"):
        venv(tmp_path, "/usr/bin/python3", "/usr/bin", name=name)
        (tmp_path / name / "pyvenv.cfg").unlink()
    os.mkfifo(tmp_path / ".venv" / "pyvenv.cfg")
    (tmp_path / "venv" / "pyvenv.cfg").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").symlink_to("/etc/passwd")
    made = environments.environments(tmp_path)
    assert made.venv is None
    assert [line.partition(" ")[0] for line in made.unused] == [".venv", "venv", "env"]


def test_an_environment_that_is_a_link_or_was_made_by_a_run_does_not_count() -> None:
    with host() as found:
        python = found.true[0] / "bin" / "python3"
        elsewhere = venv(found.root, python, python.parent)
        (found.project / ".venv").symlink_to(elsewhere)
        marked = venv(found.project, python, python.parent, name="venv")
        (marked / MADE_INSIDE).symlink_to("anything")
        made = environments.environments(found.project)
        assert made.venv is None
        assert "it is a link" in made.unused[0]
        assert "a command in the sandbox made it" in made.unused[1]


def test_a_library_that_another_user_planted_is_no_installation() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to make another user's files")
    with host() as found:
        os.chown(found.true[1] / "lib" / "python3.11", 4242, 4242)
        made = venv(found.project, found.true[1] / "bin" / "python3", found.true[1] / "bin")
        assert "another user" in str(judge(made, (found.project,)))


def test_what_a_home_of_ratchets_holds_is_no_installation() -> None:
    with host() as found:
        prefix = installation(found.root / "kept" / "workspaces" / "base")
        (found.root / "kept" / "ratchet.db").write_text("")
        made = venv(found.project, prefix / "bin" / "python3", prefix / "bin")
        assert "among secrets" in str(judge(made, (found.project,)))


def test_an_environment_that_is_shown_by_name_brings_its_python_along() -> None:
    with host() as found:
        tool = venv(found.root / "tools", found.true[1] / "bin" / "python3", found.true[1] / "bin")
        made = interpreter.of(found.project, {}, asked(found, readable=(tool,)))
        assert {str(found.true[1] / part) for part in PARTS} <= set(made.paths)
        strange = venv(found.root / "strange", found.root / "etc" / "shadow", found.root / "etc")
        assert interpreter.of(found.project, {}, asked(found, readable=(strange,))) == interpreter.own()


def asked(found: Host, program: str = "true", readable: tuple[Path, ...] = ()) -> Command:
    return Command(argv=(program,), view=View(folder=found.project), readable=readable)


def test_a_python_that_a_check_names_is_the_one_that_runs_it() -> None:
    with host() as found:
        named = found.true[1] / "bin" / "python3"
        made = interpreter.of(found.project, {}, asked(found, str(named)))
        assert made.bin == str(named.parent)
        assert set(made.paths) == {str(found.true[1] / part) for part in PARTS}
        tool = venv(found.root / "tools", named, named.parent)
        made = interpreter.of(found.project, {}, asked(found, str(tool / "bin" / "python")))
        assert made.bin == str(tool / "bin")
        assert made.environ == (("VIRTUAL_ENV", str(tool)),)
        assert {str(tool / "bin"), str(tool / "pyvenv.cfg"), str(found.true[1] / "lib" / "python3.11")} <= set(
            made.paths
        )
        assert str(tool) not in made.paths


def test_a_python_that_is_none_or_lies_where_runs_write_is_not_shown_whoever_names_it() -> None:
    with host() as found:
        planted = installation(found.project / "planted")
        among = venv(found.home / ".ssh", found.true[1] / "bin" / "python3", found.true[1] / "bin", name="kept")
        for program in (
            planted / "bin" / "python3",
            venv(found.project, found.true[1] / "bin" / "python3", found.true[1] / "bin") / "bin" / "python",
            among / "bin" / "python",
            found.true[1] / "bin" / "deploy",
            found.root / "etc" / "shadow",
        ):
            assert interpreter.of(found.project, {}, asked(found, str(program))) == interpreter.own(), program


def test_without_pytest_of_its_own_a_check_runs_under_the_python_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    with host() as found:
        bare, held = (prefix / "bin" for prefix in found.true)
        (held.parent / "lib" / "python3.11" / "site-packages" / "pytest").mkdir(parents=True)
        manager = found.root / "shims"
        manager.mkdir()
        (manager / "python").write_text(f"#!/bin/sh\n[ $PWD = / ] && echo {held}/python3\n")
        (manager / "python").chmod(0o755)
        for path in (f"{bare}:{held}", f"planted:{manager}"):
            monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
            assert interpreter.usual(found.project) == interpreter.own(), "it has one"
            with monkeypatch.context() as patched:
                patched.setattr("importlib.util.find_spec", lambda name: None)
                assert interpreter.usual(found.project).bin == str(held)
        monkeypatch.setenv("VIRTUAL_ENV", str(venv(found.root / "active", bare / "python3", bare)))
        assert interpreter.usual(found.project).bin == str(found.root / "active" / ".venv" / "bin"), "it is active"


def test_an_environment_that_another_run_took_away_meanwhile_is_not_shown(tmp_path: Path) -> None:
    venv(tmp_path, "/usr/bin/python3", "/usr/bin")
    root = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        environments.check_closed(root, [".venv"])
        (tmp_path / ".venv" / MADE_INSIDE).mkdir()
        with pytest.raises(SandboxError, match="run this one again"):
            environments.check_closed(root, [".venv"])
        (tmp_path / ".venv").rename(tmp_path / "elsewhere")
        (tmp_path / ".venv").symlink_to("/etc")
        with pytest.raises(SandboxError, match="run this one again"):
            environments.check_closed(root, [".venv"])
        assert environments.distrust(root, []) == []
    finally:
        os.close(root)
