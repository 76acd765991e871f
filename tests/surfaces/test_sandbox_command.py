"""`ratchet sandbox exec` as scripts see it: exit codes, streams, limits, the JSON object, and what the folder holds."""

from __future__ import annotations

import json
import os
import pty
import pwd
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ratchet.sandbox.beneath import remove_tree
from ratchet.sandbox.bubblewrap import Bubblewrap
from support.sandboxes import working


@pytest.fixture(scope="module", autouse=True)
def _sandbox() -> None:
    working(Bubblewrap())


@pytest.fixture
def work() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="exec-"))
    yield folder
    remove_tree(folder)


def ratchet(*words: str, stdin: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "ratchet", "sandbox", *words],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
        env={**os.environ, **variables},
    )


def run(work: Path, *words: str, stdin: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    return ratchet("exec", "--workdir", str(work), *words, stdin=stdin, **variables)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("true",), 0),
        (("sh", "-c", "exit 3"), 3),
        (("sh", "-c", "exit 255"), 255),
        (("no-such-command",), 127),
        (("./absent",), 127),
        (("/usr",), 126),
        (("./plain",), 126),
        (("sh", "-c", "kill -TERM $$"), 143),
        (("sh", "-c", "kill -SEGV $$"), 139),
    ],
)
def test_the_exit_code_is_what_a_shell_would_say(work: Path, command: tuple[str, ...], code: int) -> None:
    (work / "plain").write_text("echo no\n")
    done = run(work, "--", *command)
    assert done.returncode == code, done
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "killed", "program"),
    [
        (("--wall-s", "0.5"), 124, "wall", "import time; time.sleep(60)"),
        (("--idle-s", "0.5"), 124, "idle", "import time; time.sleep(60)"),
        (("--cpu-s", "0.5"), 125, "cpu", "while True: pass"),
        (("--mem-mb", "64"), 137, "memory", "x = b'x' * (1 << 30)"),
        (("--disk-mb", "8"), 125, "disk", "for n in range(40): open(f'f{n}', 'wb').write(b'x' * (1 << 20))"),
        (("--inodes", "100"), 125, "inodes", "for n in range(500): open(f'f{n}', 'w').close()"),
        (("--out-kb", "16"), 125, "output", "while True: print('x' * 100)"),
    ],
)
def test_a_limit_that_is_passed_ends_the_command_with_its_code_and_name(
    work: Path, options: tuple[str, ...], code: int, killed: str, program: str
) -> None:
    done = run(work, *options, "--json", "--", "python", "-c", program)
    found = json.loads(done.stdout)
    assert done.returncode == code
    assert found["exit_code"] == code
    assert found["killed"] == killed
    assert found["truncated"] == (killed == "output")


def test_the_json_object_has_these_fields_and_nothing_else_is_printed(work: Path) -> None:
    done = run(work, "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 5")
    found = json.loads(done.stdout)
    assert set(found) == {
        *("exit_code", "signal", "killed", "truncated", "stdout", "stderr"),
        *("wall_s", "cpu_s", "max_mem_mb", "isolation", "refused"),
    }
    assert (found["exit_code"], found["stdout"], found["stderr"]) == (5, "out\n", "err\n")
    assert (found["signal"], found["killed"], found["truncated"]) == (None, "", False)
    assert found["isolation"] == "bubblewrap"
    assert done.stderr == b""


def test_ctrl_z_lets_the_command_stand_still_and_a_continue_lets_it_go_on(work: Path) -> None:
    script = "for n in $(seq 40); do echo $n >> clock; sleep 0.05; done"
    words = ["exec", "--workdir", str(work), "--wall-s", "30", "--", "sh", "-c", script]
    process = subprocess.Popen([sys.executable, "-m", "ratchet", "sandbox", *words], start_new_session=True)
    clock = work / "clock"
    _until(lambda: clock.exists() and clock.stat().st_size > 4)
    os.kill(process.pid, signal.SIGTSTP)
    _until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    size = clock.stat().st_size
    time.sleep(1)
    assert clock.stat().st_size == size
    os.kill(process.pid, signal.SIGCONT)
    assert process.wait(60) == 0
    assert len(clock.read_text().split()) == 40


def _until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_the_command_and_its_account_is_still_given(work: Path, number: signal.Signals) -> None:
    words = [
        "exec",
        "--workdir",
        str(work),
        "--json",
        "--",
        "sh",
        "-c",
        "echo out; touch begun; setsid sleep 61 & wait",
    ]
    command = [sys.executable, "-m", "ratchet", "sandbox", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        until = time.monotonic() + 30
        while not (work / "begun").exists() and time.monotonic() < until:
            time.sleep(0.02)
        running.send_signal(number)
        said, _ = running.communicate(timeout=30)
    found = json.loads(said)
    assert (running.returncode, found["exit_code"], found["killed"]) == (125, 125, "cancel")
    assert found["stdout"] == "out\n"


@pytest.mark.parametrize(
    "limit",
    [
        *(("--wall-s", "nan"), ("--wall-s", "0"), ("--idle-s", "-1"), ("--cpu-s", "inf")),
        *(("--mem-mb", "0"), ("--pids", "0"), ("--disk-mb", "-1"), ("--out-kb", "-1"), ("--inodes", "x")),
    ],
)
def test_a_limit_that_limits_nothing_or_everything_is_a_wrong_call(work: Path, limit: tuple[str, str]) -> None:
    done = run(work, *limit, "--", "true")
    assert done.returncode == 2, done
    assert limit[0].encode() in done.stderr


def test_a_terminal_shows_the_output_and_obeys_none_of_it(work: Path) -> None:
    program = r"printf '\033]0;named\007\033[31mred\033[2J\033]52;c;eA==\033\\ \302\233c done\n'"
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "ratchet", "sandbox", "exec", "--workdir", str(work), "--", "sh", "-c", program]
    done = subprocess.run(command, stdin=follower, stdout=follower, stderr=follower, check=False, timeout=60)
    os.close(follower)
    shown = os.read(leader, 65_536)
    os.close(leader)
    assert done.returncode == 0, shown
    assert b"\x1b[31mred" in shown
    assert b"done" in shown
    assert shown.rstrip().endswith(b"\x1b[0m")
    for command_of_a_terminal in (b"\x1b]", b"\x07", b"\x1b[2J", b"\xc2\x9b"):
        assert command_of_a_terminal not in shown


def test_streams_come_through_as_bytes(work: Path) -> None:
    done = run(work, "--", "python", "-c", r"import os; os.write(1, b'\xff\0'); os.write(2, b'\xfe')")
    assert (done.stdout, done.stderr) == (b"\xff\0", b"\xfe")


def test_standard_input_is_empty_unless_asked_for(work: Path) -> None:
    assert run(work, "--", "cat", stdin=b"secret").stdout == b""
    assert run(work, "--stdin", "--", "cat", stdin=b"x" * 300_000).stdout == b"x" * 300_000
    assert run(work, "--stdin", "--", "true", stdin=b"x" * 300_000).returncode == 0


def test_the_folder_is_changed_in_place_and_stays_its_owners(work: Path) -> None:
    (work / "a").write_text("1\n")
    (work / "sub").mkdir()
    done = run(work, "--", "sh", "-c", "echo 2 >> a; echo n > sub/new; mkdir made; ln -s a link; chmod 700 a")
    assert done.returncode == 0, done
    assert (work / "a").read_text() == "1\n2\n"
    for path in (work, *work.rglob("*")):
        assert path.lstat().st_uid == os.getuid()


def test_a_folder_that_a_command_closed_to_its_owner_can_be_worked_in_again(work: Path) -> None:
    assert run(work, "--", "chmod", "000", ".").returncode == 0
    assert work.stat().st_mode & 0o777 == 0o700
    assert run(work, "--", "touch", "made").returncode == 0


def test_python_is_the_one_that_runs_ratchet_with_its_packages(work: Path) -> None:
    program = "import click, ratchet, sys; print(sys.prefix, sys.version_info[:3], ratchet.__file__)"
    outside = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    assert run(work, "--", "python", "-c", program).stdout == outside


def test_a_projects_own_environment_is_used_and_cannot_be_written(work: Path) -> None:
    made = subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(work / ".venv")], check=False)
    assert made.returncode == 0
    script = work / ".venv" / "bin" / "tool"
    script.write_text(f"#!{work / '.venv' / 'bin' / 'python'}\nimport sys\nprint(sys.prefix)\n")
    script.chmod(0o755)
    assert run(work, "--", "python", "-c", "import sys; print(sys.prefix)").stdout == b"/workspace/.venv\n"
    assert run(work, "--", "tool").stdout.strip().endswith(b"/.venv")
    assert run(work, "--", "touch", ".venv/planted").returncode == 1
    assert not (work / ".venv" / "planted").exists()


def test_an_environment_that_names_a_strangers_folder_is_not_believed(work: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "secret").write_text("secret")
    (work / ".venv" / "bin").mkdir(parents=True)
    (work / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (work / ".venv" / "pyvenv.cfg").write_text(f"home = {tmp_path}/bin\n")
    assert run(work, "--", "cat", str(tmp_path / "secret")).returncode == 1


def test_variables_and_readable_paths_are_only_those_that_are_named(work: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "shown").write_text("shown\n")
    done = run(
        work, "--env", "A=1=2", "--ro", str(tmp_path), "--", "sh", "-c", f"env; cat {tmp_path}/shown", SECRET="s"
    )
    assert b"A=1=2\n" in done.stdout
    assert b"shown\n" in done.stdout
    assert b"SECRET" not in done.stdout
    assert run(work, "--ro", str(tmp_path), "--", "touch", f"{tmp_path}/planted").returncode == 1
    assert run(work, "--env", "novalue", "--", "true").returncode == 2
    assert run(work, "--ro", "/no/such/path", "--", "true").returncode == 5


@pytest.mark.parametrize("folder", ["/", "/usr", "/etc", "~"])
def test_a_folder_with_secrets_or_the_systems_is_refused(folder: str) -> None:
    done = run(Path(folder).expanduser(), "--", "true")
    assert done.returncode == 5, done


def test_a_home_is_one_too_where_the_environment_names_another(work: Path) -> None:
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert run(home, "--", "true", HOME=str(work)).returncode == 5
    assert run(Path("/home"), "--", "true").returncode == 5


def test_plain_processes_run_only_when_asked_for_and_say_so(work: Path) -> None:
    done = run(work, "--unsafe-no-sandbox", "--json", "--", "sh", "-c", "pwd")
    found = json.loads(done.stdout)
    assert found["isolation"] == "none"
    assert found["stdout"] == f"{work}\n"


def test_the_probe_tells_what_holds_here() -> None:
    found = {each["name"]: each for each in json.loads(ratchet("probe", "--json").stdout)}
    assert found["bubblewrap"]["works"]
    for name in ("files", "network", "pids", "secrets"):
        assert found["bubblewrap"][name] == "enforced"
    assert found["bubblewrap"]["memory"] in ("enforced", "watched")
    assert found["bubblewrap"]["disk"] == "watched"
    assert not found["docker"]["verified"]


@pytest.mark.parametrize("target", ["/", "/proc/version"])
def test_a_home_that_cannot_be_written_does_not_keep_a_command_from_its_sandbox(
    work: Path, tmp_path: Path, target: str
) -> None:
    (tmp_path / "sandbox.json").symlink_to(target)
    done = run(work, "--", "sh", "-c", "exit 3", RATCHET_HOME=str(tmp_path))
    assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("kept", ["", "[1]", "5", "null", '{"name": 5}'])
def test_what_was_kept_of_the_proof_counts_for_nothing_once_it_is_damaged(
    work: Path, tmp_path: Path, kept: str
) -> None:
    (tmp_path / "sandbox.json").write_text(kept, encoding="utf-8")
    assert run(work, "--", "true", RATCHET_HOME=str(tmp_path)).returncode == 0
    assert json.loads((tmp_path / "sandbox.json").read_text(encoding="utf-8"))["name"] == "bubblewrap"


def test_a_folder_that_is_a_link_to_itself_is_refused_in_a_line(work: Path) -> None:
    loop = work / "loop"
    loop.symlink_to(loop)
    done = ratchet("exec", "--workdir", str(loop), "--", "true")
    assert done.returncode == 5, done.stderr
    assert b"is not a folder" in done.stderr
    done = ratchet("exec", "--workdir", str(work), "--", "true", RATCHET_HOME=str(loop))
    assert done.returncode == 2, done.stderr
    assert b"is a link to what is not there" in done.stderr
