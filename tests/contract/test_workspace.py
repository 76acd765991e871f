"""What every workspace keeps: a way back, exact differences, and the project untouched."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ratchet.errors import NotFound, Refused
from ratchet.healing.patches import diff_text
from ratchet.ports import Sandbox, Workspace
from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import Bubblewrap
from ratchet.sandbox.command import Command, Limits, Ran
from ratchet.sandbox.copied import CopiedWorkspace
from ratchet.sandbox.landlock import Landlock
from ratchet.sandbox.probe import probe
from ratchet.sandbox.workspace import LayeredWorkspace
from support.sandboxes import working

KINDS: dict[str, tuple[Callable[[Path, Path], Workspace], Sandbox]] = {
    "layers": (LayeredWorkspace.create, Bubblewrap()),
    "copies": (CopiedWorkspace.create, Landlock()),
}
FILES = {
    "a.txt": b"one\ntwo\nthree\n",
    "no-end.txt": b"x\ny",
    "crlf.txt": b"a\r\nb\r\n",
    "bin.dat": bytes(range(256)),
    "pkg/__init__.py": b"",
    "pkg/mod.py": b"def f():\n    return 1\n",
    "pkg/deep/er/x.py": b"x = 1\n",
    "old/1": b"1\n",
    "old/2": b"2\n",
    ".gitignore": b"*.log\nbuild/\n!keep.log\n",
    "tool.sh": b"#!/bin/sh\nexit 0\n",
}


@pytest.fixture
def project() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="workspace-"))
    folder.chmod(0o755)
    for name, content in FILES.items():
        path = folder / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "project" / "tool.sh").chmod(0o755)
    (folder / "project" / "link").symlink_to("a.txt")
    yield folder / "project"
    remove_tree(folder)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    working(KINDS[request.param][1])
    return str(request.param)


@pytest.fixture
def workspace(kind: str, project: Path) -> Workspace:
    return KINDS[kind][0](project, project.parent / "place")


@pytest.fixture
def run(kind: str) -> Callable[[Workspace, str], Ran]:
    def shell(workspace: Workspace, text: str) -> Ran:
        command = Command(argv=("sh", "-ec", text), view=workspace.view(), limits=Limits(wall_s=30))
        ran = KINDS[kind][1].run(command)
        assert ran.exit_code == 0, ran
        return ran

    return shell


Shell = Callable[[Workspace, str], Ran]


def paths(workspace: Workspace, since: str | None = None) -> list[str]:
    return [change.path for change in workspace.diff(since)]


def test_a_fresh_workspace_differs_in_nothing_and_reads_what_the_project_holds(workspace: Workspace) -> None:
    assert workspace.diff() == []
    for name, content in FILES.items():
        assert workspace.read(name) == content


def test_a_restore_brings_back_every_byte_and_takes_away_what_is_new(workspace: Workspace, run: Shell) -> None:
    run(workspace, "echo 1 > new; rm a.txt; rm -r old; mkdir old; echo z > old/z; chmod 755 pkg/mod.py; ln -sf x link")
    first = workspace.checkpoint()
    before = workspace.diff()
    run(workspace, "rm new; rm -r pkg; echo pkg > pkg; echo back > a.txt; mkdir new; echo 2 > new/2")
    assert workspace.diff() != before
    workspace.restore(first)
    assert workspace.diff() == before
    assert run(workspace, "cat new; ls old; test -x pkg/mod.py; readlink link; test ! -e a.txt").stdout == b"1\nz\nx\n"
    workspace.restore("start")
    assert workspace.diff() == []
    assert run(workspace, "cat a.txt old/1 old/2").stdout == b"one\ntwo\nthree\n1\n2\n"


def test_a_diff_names_exactly_what_differs_from_any_checkpoint(workspace: Workspace, run: Shell) -> None:
    run(workspace, "echo 1 >> a.txt; touch pkg/mod.py; chmod 644 pkg/mod.py")
    assert paths(workspace) == ["a.txt"]  # touched and made the same again is no difference
    first = workspace.checkpoint()
    run(workspace, "mv old older; echo 4 >> no-end.txt")
    assert paths(workspace, first) == ["no-end.txt", "old/1", "old/2", "older/1", "older/2"]
    assert paths(workspace) == ["a.txt", "no-end.txt", "old/1", "old/2", "older/1", "older/2"]
    workspace.restore(first)
    assert paths(workspace, first) == []


def test_new_files_that_the_project_ignores_are_no_change(workspace: Workspace, run: Shell) -> None:
    run(workspace, "mkdir build; echo x > build/out; echo x > a.log; echo x > keep.log; mkdir sub; echo x > sub/b.log")
    assert paths(workspace) == ["keep.log"]


def test_ten_forks_of_a_checkpoint_go_their_own_ways_all_or_none(workspace: Workspace, run: Shell) -> None:
    run(workspace, "echo shared > shared.txt")
    token = workspace.checkpoint()
    run(workspace, "echo later > later.txt")
    made = workspace.forks(token, 10)
    assert len({each.id for each in made}) == 10
    for number, each in enumerate(made):
        each.write("own.txt", str(number).encode())
    for number, each in enumerate(made):
        assert (each.read("own.txt"), each.read("shared.txt")) == (str(number).encode(), b"shared\n")
        assert sorted(change.path for change in each.diff()) == ["own.txt", "shared.txt"]
        each.close()
    with pytest.raises(NotFound):
        workspace.forks("nothere", 3)


def test_a_fork_goes_its_own_way(workspace: Workspace, run: Shell) -> None:
    run(workspace, "echo shared > s")
    token = workspace.checkpoint()
    other = workspace.fork(token)
    run(workspace, "echo mine > s")
    run(other, "echo theirs > s; echo t > t")
    assert workspace.read("s") == b"mine\n"
    assert other.read("s") == b"theirs\n"
    assert paths(workspace, token) == ["s"]
    assert paths(other, token) == ["s", "t"]
    workspace.close()
    assert other.read("s") == b"theirs\n"
    assert run(other, "cat s a.txt").stdout.startswith(b"theirs\none")
    other.close()


def test_what_is_written_from_outside_is_there_inside(workspace: Workspace, run: Shell) -> None:
    run(workspace, "rm -r old; rm a.txt")
    workspace.write("old/fresh/x.txt", b"hello\n")
    workspace.write("a.txt", b"again\n", mode=0o755)
    workspace.write("pkg/mod.py", b"changed\n")
    assert run(workspace, "cat old/fresh/x.txt a.txt pkg/mod.py; ls old; test -x a.txt; echo more >> a.txt").stdout == (
        b"hello\nagain\nchanged\nfresh\n"
    )
    assert workspace.read("a.txt") == b"again\nmore\n"


def test_a_file_may_have_the_longest_name_there_is(workspace: Workspace) -> None:
    for name in ("a" * 252 + ".py", "é" * 127):
        workspace.write(f"pkg/{name}", b"x")
        assert workspace.read(f"pkg/{name}") == b"x"


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../b", "", ".", ".git/config", "pkg", "pkg//x"])
def test_nothing_is_written_outside_or_over_a_folder(workspace: Workspace, path: str) -> None:
    with pytest.raises(Refused):
        workspace.write(path, b"x")


def test_only_plain_files_below_the_cap_are_read(workspace: Workspace, run: Shell) -> None:
    run(workspace, "ln -sf /etc/passwd link; mkfifo pipe; head -c 2000000 /dev/zero > large; ln -s /etc etc")
    for path in ("link", "pipe", "large", "etc/passwd", "../place/project"):
        with pytest.raises((Refused, NotFound)):
            workspace.read(path)
    with pytest.raises(NotFound):
        workspace.read("absent")
    assert len(workspace.read("large", limit_bytes=3_000_000)) == 2_000_000


def test_an_unknown_checkpoint_is_not_found(workspace: Workspace) -> None:
    for call in (workspace.restore, workspace.fork, workspace.diff):
        for token in ("nothing", "../x"):
            with pytest.raises(NotFound):
                call(token)


def test_the_project_is_never_touched(workspace: Workspace, run: Shell, project: Path) -> None:
    run(workspace, "rm -rf * ; echo x > a.txt; chmod 700 .")
    for name, content in FILES.items():
        assert (project / name).read_bytes() == content
        assert (project / name).stat().st_uid == os.getuid()


def test_a_diff_is_a_patch_that_git_applies(workspace: Workspace, run: Shell, project: Path) -> None:
    run(
        workspace,
        "echo 4 >> a.txt; printf z >> no-end.txt; printf 'n\\r\\n' >> crlf.txt; rm -r old; chmod 755 pkg/mod.py;"
        "head -c 300 /dev/zero > bin.dat; rm pkg/__init__.py; : > empty; ln -sf tool.sh link; rm tool.sh;"
        "ln -s a.txt tool.sh; printf 'sp ace' > 'with space'; mkdir n; echo n > n/m;"
        "printf x > \"$(printf 'n\\303\\244me')\"",
    )
    changes = workspace.diff()
    applied = subprocess.run(
        ["git", "apply", "-p1"],
        cwd=project,
        input=diff_text(changes).encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
    )
    assert applied.returncode == 0, applied.stderr.decode() + diff_text(changes)
    for change in changes:
        path = project / change.path
        if change.after is None:
            assert not os.path.lexists(path)
        elif change.after_mode == 0o120000:
            assert os.fsencode(os.readlink(path)) == change.after
        else:
            assert path.read_bytes() == change.after
            assert bool(path.stat().st_mode & 0o100) == (change.after_mode == 0o755)


def test_an_export_is_the_tree_that_git_makes(workspace: Workspace, run: Shell, project: Path) -> None:
    run(workspace, "rm -r old; echo 1 > new; mkdir b b.d; echo 1 > b/x; echo 1 > b.d/x; echo 1 > b-c; echo x > x.log")
    repository = project.parent / "repository"
    subprocess.run(["git", "init", "-q", repository], check=True)
    tree = workspace.export(repository / ".git" / "objects")
    git = ["git", "-C", str(repository), "-c", "core.autocrlf=false"]
    subprocess.run([*git, "read-tree", tree], check=True)
    subprocess.run([*git, "checkout-index", "-a"], check=True)
    subprocess.run([*git, "fsck", "--strict"], check=True, capture_output=True)
    assert (repository / "b-c").read_text() == "1\n"
    assert not (repository / "old").exists()
    assert not (repository / "x.log").exists()
    assert os.access(repository / "tool.sh", os.X_OK)
    subprocess.run([*git, "add", "-A", "-f"], check=True)
    made = subprocess.run([*git, "write-tree"], check=True, capture_output=True, text=True).stdout.strip()
    assert made == tree


def test_copy_in_leaves_out_what_is_ignored_secret_or_rebuilt(kind: str, project: Path) -> None:
    for name in (
        *("x.log", "build/y", ".env", ".env.production", "config/id_rsa", ".aws/credentials", "certs/server.key"),
        *(".git/config", "vendored/.git/config", "env-by-another-name/pyvenv.cfg", ".npmrc", "prod.tfvars"),
        *(".env.example", "keep.log", "certs/ca.pem", "environment.py", "sub/z.log"),
    ):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("-----BEGIN PRIVATE KEY-----\n" if name.endswith(".key") else "content\n")
    os.mkfifo(project / "pipe")
    made = KINDS[kind][0](project, project.parent / "place")
    for name in (".env.example", "keep.log", "certs/ca.pem", "environment.py", *FILES):
        assert made.read(name) == (project / name).read_bytes(), name
    for name in (
        *("x.log", "build/y", ".env", ".env.production", "config/id_rsa", ".aws/credentials", "certs/server.key"),
        *(".git/config", "vendored/.git/config", "env-by-another-name/pyvenv.cfg", ".npmrc", "prod.tfvars", "pipe"),
        "sub/z.log",
    ):
        with pytest.raises(NotFound):
            made.read(name)


def test_what_git_tracks_is_copied_even_where_it_is_ignored(kind: str, project: Path) -> None:
    (project / "needed.log").write_text("tracked\n")
    (project / "build").mkdir()
    (project / "build" / "kept.txt").write_text("tracked\n")
    (project / "build" / "left.txt").write_text("not tracked\n")
    git = ["git", "-C", str(project), "-c", "user.email=a@b", "-c", "user.name=n"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-f", "needed.log", "build/kept.txt"], check=True)
    made = KINDS[kind][0](project, project.parent / "place")
    assert made.read("needed.log") == b"tracked\n"
    assert made.read("build/kept.txt") == b"tracked\n"
    with pytest.raises(NotFound):
        made.read("build/left.txt")


def test_a_random_history_reads_the_same_from_outside_as_from_inside(workspace: Workspace, run: Shell) -> None:
    rng = random.Random(7)
    states: dict[str, bytes] = {}
    listing = 'find . \\( -type f -o -type l \\) | LC_ALL=C sort | while read -r f; do echo "$f"; cat "$f" || :; done'
    for step in range(30):
        folder, name = f"d{rng.randrange(3)}", f"f{rng.randrange(4)}"
        act = rng.choice(
            [
                f"mkdir -p {folder}; echo {step} > {folder}/{name}",
                f"rm -rf {folder}",
                f"rm -rf {folder}; mkdir {folder}; echo {step} > {folder}/new{step}",
                f"rm -rf {folder}; echo {step} > {folder}",
                f"rm -rf {name}; mkdir {name}; echo {step} > {name}/in",
                f"mv old {folder}x 2>/dev/null || :",
                f"rm -rf {folder}/{name} 2>/dev/null || :; ln -s a.txt link{step}",
            ]
        )
        # A file may stand where a folder is wanted: then this step changes nothing.
        state = run(workspace, f"( {act} ) 2>/dev/null || :; {listing}").stdout
        if rng.random() < 0.5:
            states[workspace.checkpoint()] = state
        if states and rng.random() < 0.3:
            token = rng.choice(list(states))
            workspace.restore(token)
            assert run(workspace, listing).stdout == states[token]
            assert workspace.diff(token) == []


def test_many_checkpoints_are_folded_and_what_nobody_names_is_cleared_away(project: Path) -> None:
    if not probe(Bubblewrap(), quick=True).works:
        pytest.skip("bubblewrap does not work on this machine")
    made, place = LayeredWorkspace.create(project, project.parent / "place"), project.parent / "place"
    for number in range(70):
        made.write(f"n{number % 9}", f"{number}\n".encode())
        token = made.checkpoint()
    assert len(made.view().layers) <= 64
    assert made.read("n6") == b"69\n"
    ran = Bubblewrap().run(Command(argv=("cat", *(f"n{n}" for n in range(9))), view=made.view()))
    assert sorted(map(int, ran.stdout.split())) == list(range(61, 70))
    other = made.fork(token)
    made.close()
    assert len(list((place / "layers").iterdir())) <= 66
    assert other.read("n6") == b"69\n"
    again = LayeredWorkspace.open(place, other.id)
    assert again.read("n6") == b"69\n"
    again.close()
    assert not place.exists()
    with pytest.raises(NotFound):
        LayeredWorkspace.open(place, other.id)


def test_no_change_makes_a_virtual_environment(workspace: Workspace, run: Callable[[Workspace, str], Ran]) -> None:
    made = "mkdir -p .venv/bin; echo home = /usr/bin > .venv/pyvenv.cfg; ln -s /usr/bin/python3 .venv/bin/python"
    assert run(workspace, made).exit_code == 0
    assert ".venv/pyvenv.cfg" not in {each.path for each in workspace.diff()}
    token = workspace.checkpoint()
    workspace.restore(token)
    assert workspace.read(".venv/pyvenv.cfg") == b"home = /usr/bin\n"
