"""A Postgres server for tests: one of its own, in a folder that is gone afterwards, which may be stopped and killed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

USER = "ratchet"
START_TIMEOUT_S = 60.0
_NOBODY = 65_534  # Postgres refuses to run as root
# Nothing of it must outlive the tests, so it need not wait for the disk.
_OPTIONS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=200", "shared_buffers=64MB")


def programs() -> Path | None:
    """The folder of `initdb` and `postgres`: of the package pgserver, on PATH, or where Debian puts them."""
    package = importlib.util.find_spec("pgserver")
    places = [Path(package.origin).parent / "pginstall" / "bin"] if package and package.origin else []
    named = shutil.which("initdb")
    places += [Path(named).resolve().parent] if named else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


class PostgresServer:
    """A server on a free port of this machine, started when made. Use it as a context manager, or `close` it.

    Raises FileNotFoundError where no Postgres is installed.
    """

    def __init__(self, *, password: str = "") -> None:
        self._password = password
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="ratchet-postgres-"))
        try:
            self._programs = self._reachable(programs())
            self._make()
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = int(free.getsockname()[1])
            self.start()
        except BaseException:
            self.close()
            raise

    def url(self, database: str = "postgres") -> str:
        secret = f":{self._password}" if self._password else ""
        return f"postgresql://{USER}{secret}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, again after `stop` or `kill`; return once it answers. Raises TimeoutError."""
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self.port), "-k", ""]
        for option in ("listen_addresses=127.0.0.1", *_OPTIONS):
            command += ["-c", option]
        with (self._folder / "log").open("ab") as log:
            self._process = self._spawn(command, log.fileno())
        give_up = time.monotonic() + START_TIMEOUT_S
        ready = self._data / "postmaster.pid"
        while time.monotonic() < give_up and self._process.poll() is None:
            if ready.exists() and ready.read_text().splitlines()[7:8] == ["ready   "]:
                return
            time.sleep(0.02)
        raise TimeoutError(f"Postgres did not start: {(self._folder / 'log').read_text()[-2000:]}")

    def stop(self) -> None:
        """Stop it as an administrator does in a hurry: sessions are cut off, what was committed stays."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Stop it without a chance to tidy up."""
        self._end(signal.SIGQUIT)  # the server's own immediate shutdown: SIGKILL would leave its children behind

    def close(self) -> None:
        self._end(signal.SIGQUIT)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _reachable(self, found: Path | None) -> Path:
        """The programs where the server's user can run them: below root's own home it cannot, so they are copied."""
        if found is None:
            raise FileNotFoundError("no Postgres here: pip install pgserver, or install the system's postgresql")
        if not _is_root():
            return found
        os.chown(self._folder, _NOBODY, _NOBODY)
        if self._run([str(found / "postgres"), "--version"]).returncode == 0:
            return found
        copy = self._folder / "programs"
        shutil.copytree(found.parent, copy, symlinks=True)
        return copy / found.name

    def _make(self) -> None:
        command = [str(self._programs / "initdb"), "-D", str(self._data), "-U", USER, "-E", "UTF8", "--locale=C"]
        command += ["--no-sync", "--auth=scram-sha-256" if self._password else "--auth=trust"]
        if self._password:
            secret = self._folder / "secret"
            secret.write_text(self._password + "\n")
            command += [f"--pwfile={secret}"]
        made = self._run(command)
        if made.returncode:
            raise RuntimeError(f"initdb failed: {made.stderr.decode(errors='replace')}")

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[bytes]:
        try:
            process = self._spawn(command, subprocess.PIPE)
        except PermissionError as error:
            return subprocess.CompletedProcess(command, 126, b"", str(error).encode())
        _, said = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, b"", said)

    def _spawn(self, command: list[str], log: int) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        environ = {"PATH": os.environ.get("PATH", ""), "HOME": str(self._folder), "LC_ALL": "C", "TZ": "UTC"}
        if _is_root():
            return subprocess.Popen(
                command,
                cwd=self._folder,
                env=environ,
                stdin=quiet,
                stdout=quiet,
                stderr=log,
                user=_NOBODY,
                group=_NOBODY,
                extra_groups=[],
            )
        return subprocess.Popen(command, cwd=self._folder, env=environ, stdin=quiet, stdout=quiet, stderr=log)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(number)
            process.wait(60)


class Databases:
    """Empty databases on one server. Who is done with one gives it back: emptying is quicker than making, and much
    quicker than dropping. Where `kept`, the server goes with them and `close` leaves them to it."""

    def __init__(self, url: str, *, kept: bool = False) -> None:
        self._url = url
        self._kept = kept
        self._made: list[str] = []
        self._free: list[str] = []

    def fresh(self) -> str:
        """The address of a database that holds Ratchet's tables and no row."""
        if self._free:
            return self._free.pop()
        from ratchet.store.postgres import PostgresStore

        url = self.bare()
        PostgresStore(url).close()
        return url

    def give_back(self, url: str) -> None:
        """Empty a database that `fresh` gave out, ending whoever is still in it."""
        import psycopg

        from ratchet.store.schema import TABLES

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            connection.execute(";".join(f'DELETE FROM "{name}"' for name in TABLES).encode())
        self._free.append(url)

    def bare(self) -> str:
        """The address of a database that holds nothing."""
        name = f"ratchet_{uuid4().hex[:12]}"
        self._execute(f'CREATE DATABASE "{name}" ENCODING UTF8 TEMPLATE template0')
        self._made.append(name)
        base, question, options = self._url.partition("?")
        return f"{base.rpartition('/')[0]}/{name}{question}{options}"

    def close(self) -> None:
        """Drop them all."""
        for name in () if self._kept else self._made:
            self._execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        self._made.clear()
        self._free.clear()

    def _execute(self, text: str) -> None:
        import psycopg

        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(text.encode())


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0
