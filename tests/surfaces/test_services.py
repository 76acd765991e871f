"""`ratchet services` with the real programs: up, status, down, twice; a port that is taken, a service that dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ratchet import files
from ratchet.serving.services import running
from ratchet.serving.services.closing import asking
from ratchet.serving.services.known import SERVICES, Launch

Ratchet = Callable[..., subprocess.CompletedProcess[str]]


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


@pytest.fixture
def ratchet(home: Path) -> Iterator[Ratchet]:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        asked = [sys.executable, "-m", "ratchet", "services", *words]
        environ = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "RATCHET_HOME": str(home)}
        return subprocess.run(asked, env=environ, capture_output=True, text=True, timeout=180, check=False)

    yield run
    run("down", "all")
    shutil.rmtree(os.path.join("/var/lib/ratchet", _digest(home)), ignore_errors=True)


def _digest(home: Path) -> str:
    import hashlib

    return hashlib.sha256(os.fsencode(home)).hexdigest()[:16]


def in_session(pid: int) -> list[str]:
    """Processes of a session that still live."""
    said = subprocess.run(["ps", "-o", "pid=,stat=", "-s", str(pid)], capture_output=True, text=True, check=False)
    return [line for line in said.stdout.splitlines() if line.split()[1][0] != "Z"]


@pytest.mark.parametrize("name", ["redis", "database", "page"])
def test_a_service_goes_up_and_down_twice_and_leaves_nothing(ratchet: Ratchet, name: str, tmp_path: Path) -> None:
    port = free_port()
    launch = SERVICES[name].launch(tmp_path, tmp_path, port, "")
    if not isinstance(launch, Launch):
        pytest.skip(launch)
    for _ in range(2):
        up = ratchet("up", name, "--port", f"{name}={port}", "--json")
        assert up.returncode == 0, up.stderr
        (found,) = json.loads(up.stdout)
        assert (found["state"], found["port"]) == ("up", port)
        again = json.loads(ratchet("up", name, "--port", f"{name}={port}", "--json").stdout)
        assert again[0]["pid"] == found["pid"]  # one that is up stays as it is
        other = ratchet("up", name, "--port", f"{name}={free_port()}", "--json")
        assert (other.returncode, f"{name} is up on port {port}" in other.stderr) == (4, True), other.stderr
        assert json.loads(other.stdout)[0]["pid"] == found["pid"]
        assert in_session(found["pid"])
        down = json.loads(ratchet("down", name, "--json").stdout)
        assert down[0]["state"] == "down"
        assert in_session(found["pid"]) == []
        with socket.socket() as tried:
            assert tried.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("name", ["redis", "database"])
def test_nobody_comes_in_without_the_password_that_only_this_user_reads(
    ratchet: Ratchet, name: str, home: Path, tmp_path: Path
) -> None:
    launch = SERVICES[name].launch(tmp_path, tmp_path, 1, "")
    if not isinstance(launch, Launch):
        pytest.skip(launch)
    port = free_port()
    (found,) = json.loads(ratchet("up", name, "--port", f"{name}={port}", "--json").stdout)
    place = home / "services" / name
    password = (place / "password").read_text()
    assert password not in json.dumps(found)
    assert all(each.stat().st_mode & 0o077 == 0 for each in place.iterdir() if each.name in ("password", "pgpass"))
    if name == "redis":
        assert answer(port, "PING").startswith("-NOAUTH")
        assert answer(port, f"AUTH {password}\r\nPING").endswith("+PONG")
        return
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(found["url"]) as opened:
        assert opened.execute("SELECT current_user").fetchone() == ("ratchet",)
    for wrong in (found["url"].partition("?")[0], found["url"].replace("ratchet@", "ratchet:guess@").partition("?")[0]):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(wrong)


@pytest.mark.parametrize("running", [False, True])
def test_a_database_that_let_everybody_in_asks_for_the_password_and_keeps_its_rows(
    ratchet: Ratchet, home: Path, tmp_path: Path, running: bool
) -> None:
    """As older services made it: rules that trust, no password anywhere; it may still be up."""
    launch = SERVICES["database"].launch(tmp_path, tmp_path, 1, "")
    if not isinstance(launch, Launch):
        pytest.skip(launch)
    psycopg = pytest.importorskip("psycopg")
    port = free_port()
    words = ("up", "database", "--port", f"database={port}", "--json")
    (found,) = json.loads(ratchet(*words).stdout)
    with psycopg.connect(found["url"]) as opened:
        (folder,) = opened.execute("SHOW data_directory").fetchone()
        opened.execute("CREATE TABLE kept AS SELECT 42 AS n")
        opened.execute("ALTER USER ratchet PASSWORD NULL")
    place, data = home / "services" / "database", Path(folder)
    assert not (data.parent / "first").exists()  # told to initdb, and to nobody after it
    if not running:
        ratchet("down", "database")
    rules = (data / "pg_hba.conf").read_text()
    (data / "pg_hba.conf").write_text(rules.replace("scram-sha-256", "trust"))
    (place / "password").unlink()
    (place / "pgpass").unlink()
    (data.parent / "first").write_text("of an older Ratchet")

    said = ratchet(*words)
    assert said.returncode == 0, said.stderr
    (found,) = json.loads(said.stdout)
    kept = [line for line in rules.splitlines() if not line.startswith("#")]
    assert [line for line in (data / "pg_hba.conf").read_text().splitlines() if not line.startswith("#")] == kept
    assert not (data.parent / "first").exists()
    assert (place / "password").read_text() not in (place / "log").read_text()
    with psycopg.connect(found["url"]) as opened:
        assert opened.execute("SELECT n FROM kept").fetchone() == (42,)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(found["url"].partition("?")[0])
    assert json.loads(ratchet(*words).stdout)[0]["pid"] == found["pid"]  # once is enough


def test_rules_that_let_everybody_in_are_found_by_their_method_alone() -> None:
    rules = """\
# local all all trust
local   all   all                 trust
host all all 127.0.0.1/32 trust  # we trust
host all all 10.0.0.1 255.0.0.0 trust
host trust trust ::1/128 md5
hostssl "my db" trust ::1/128 ldap ldapserver=trust
hostssl all all ::1/128 trust clientcert=verify-full
"""
    changed = {
        number
        for number, pair in enumerate(zip(rules.splitlines(), asking(rules).splitlines(), strict=True))
        if pair[0] != pair[1]
    }
    assert changed == {1, 2, 3, 6}
    assert asking(rules).splitlines()[2] == "host all all 127.0.0.1/32 scram-sha-256  # we trust"
    assert asking(asking(rules)) == asking(rules)


def answer(port: int, words: str) -> str:
    """All that a Redis says to these lines."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as asked:
        asked.sendall(f"{words}\r\nQUIT\r\n".encode())
        said = b""
        while piece := asked.recv(4096):
            said += piece
    return said.decode().removesuffix("+OK\r\n").strip()


def test_a_port_that_is_taken_is_said_with_the_way_out(ratchet: Ratchet) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server here")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = ratchet("up", "redis", "--port", f"redis={port}")
    assert said.returncode == 4
    assert f"port {port} is another program's" in said.stderr
    assert f"--port redis={port + 1}" in said.stderr


def test_a_service_that_dies_is_told_with_its_log_and_starts_again(ratchet: Ratchet) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server here")
    port = free_port()
    (found,) = json.loads(ratchet("up", "redis", "--port", f"redis={port}", "--json").stdout)
    os.kill(found["pid"], signal.SIGKILL)
    status = ratchet("status", "redis")
    assert status.returncode == 1
    assert "died" in status.stdout
    assert "the log says" in status.stdout
    (again,) = json.loads(ratchet("up", "redis", "--port", f"redis={port}", "--json").stdout)
    assert (again["state"], again["pid"] != found["pid"]) == ("up", True)


@pytest.mark.parametrize("state", [None, "", "{}", '{"pid": 0}', '{"pid": -1}', '{"pid": 1, "port": 1}'])
def test_a_service_whose_process_is_not_known_any_more_ends_nobody_else(
    ratchet: Ratchet, home: Path, state: str | None
) -> None:
    """Whoever started it was killed before it was written down; to `kill` no process is everybody of one's own."""
    place = home / "services" / "redis"
    place.mkdir(parents=True)
    with (place / "alive").open("w") as held:
        assert files.lock(held.fileno())
        if state is not None:
            (place / "state.json").write_text(state)
        told = json.loads(ratchet("status", "redis", "--json").stdout)
        assert told[0]["state"] == "starting"
        said = ratchet("down", "redis")
        assert said.returncode == 6
        assert f"fuser -k {place / 'alive'}" in " ".join(said.stderr.split())
    assert ratchet("down", "redis").returncode == 0


def test_a_number_that_is_another_process_by_now_is_not_ended(ratchet: Ratchet, home: Path) -> None:
    place = home / "services" / "redis"
    place.mkdir(parents=True)
    stranger = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        with (place / "alive").open("w") as held:
            assert files.lock(held.fileno())
            (place / "state.json").write_text(json.dumps({"pid": stranger.pid, "began": "another time", "port": 1}))
            said = ratchet("down", "redis")
            assert (said.returncode, stranger.poll()) == (6, None)
            assert f"fuser -k {place / 'alive'}" in " ".join(said.stderr.split())
    finally:
        stranger.kill()
        stranger.wait()


def test_who_is_killed_while_it_starts_a_service_leaves_no_number_of_the_one_before(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = home / "services" / "redis"
    place.mkdir(parents=True)
    (place / "state.json").write_text('{"pid": 4242, "port": 1}')
    monkeypatch.setattr(running, "_free", lambda _name, _port: None)
    monkeypatch.setitem(SERVICES, "redis", replace(SERVICES["redis"], launch=lambda *_: Launch(argv=("true",))))

    def killed(*_: object) -> subprocess.Popen[bytes]:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_spawned", killed)
    with pytest.raises(KeyboardInterrupt):
        running.Services(home).up("redis")
    assert not (place / "state.json").exists()


@pytest.mark.parametrize("make", [os.mkfifo, lambda log: os.symlink("elsewhere", log)], ids=["pipe", "link"])
def test_a_log_that_is_no_file_is_refused_and_not_waited_for(
    ratchet: Ratchet, home: Path, make: Callable[[Path], None]
) -> None:
    if shutil.which("redis-server") is None:
        pytest.skip("no redis-server here")
    place = home / "services" / "redis"
    place.mkdir(parents=True)
    make(place / "log")
    said = ratchet("up", "redis", "--port", f"redis={free_port()}")
    assert (said.returncode, "a plain file, or none" in " ".join(said.stderr.split())) == (5, True), said.stderr
    assert not (place / "elsewhere").exists()


def test_what_is_missing_or_only_written_says_so(ratchet: Ratchet, tmp_path: Path) -> None:
    said = ratchet("up", "model", "--model", str(tmp_path / "none.gguf"))
    assert said.returncode == 5
    assert "there is no file" in said.stderr
    file = tmp_path / "compose.yml"
    said = ratchet("up", "--compose", str(file), "--port", "redis=7000")
    assert "it was not run here" in said.stdout
    text = file.read_text()
    assert "127.0.0.1:7000:6379" in text
    assert all(f"  {name}:" in text for name in SERVICES)
    assert ratchet("up", "--port", "redis=x").returncode == 2
    down = ratchet("status", "redis").stdout.splitlines()
    assert down[0].split() == ["service", "state", "port", "address"]
    assert down[-1] == "next  ratchet services up redis     start one"
