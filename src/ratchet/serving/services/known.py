"""The services that are known: the program of each, how it is told its port, and a question that only it answers."""

from __future__ import annotations

import http.client
import importlib.util
import os
import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from ratchet.registry import adding

HOST = "127.0.0.1"
TIMEOUT_S = 1.0
_SSL_REQUEST = bytes.fromhex("0000000804d2162f")  # PostgreSQL's frontend protocol: SSLRequest, answered by S or N
_XLLAMACPP = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.n_ctx = sys.argv[1], int(sys.argv[2]), 4096
params.hostnames, params.n_parallel, params.use_jinja = ["127.0.0.1"], 1, True
server = xllamacpp.Server(params)
while True:
    time.sleep(3600)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The command of a service. `before` runs once, to its end, while `made` is not there.

    `keys` are files that hold the service's password before it starts: path -> text with `{}` for the password; those
    of `once` are there for `before` alone, and gone when it ended. Where the file `rules` lets everybody in, `closing`
    runs, is told `closed` (with `{}` for the password), and the rules are changed.
    """

    argv: tuple[str, ...]
    keys: Mapping[Path, str] = field(default_factory=dict)
    once: Mapping[Path, str] = field(default_factory=dict)
    rules: Path | None = None
    closing: tuple[str, ...] = ()
    closed: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    made: Path | None = None
    unprivileged: bool = False
    """Whether it refuses to run as root: then it runs as nobody, in a folder that nobody reaches."""
    signal: str = "SIGTERM"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One kind of server.

    `launch` gives its command for (folder, home, port, model), or says what is missing; `url` its address for
    (home, port), which never holds a password.
    """

    name: str
    port: int
    launch: Callable[[Path, Path, int, str], Launch | str]
    answers: Callable[[int], bool]
    url: Callable[[Path, int], str]
    compose: str
    """Its entry in a compose file; {port} is filled in."""


def place_of(home: Path, name: str) -> Path:
    """The folder of a service: its state, its log, its password and, but for one, its data."""
    return home / "services" / name


def _http(path: str, statuses: tuple[int, ...] = (200,)) -> Callable[[int], bool]:
    def answers(port: int) -> bool:
        connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_S)
        try:
            connection.request("GET", path)
            return connection.getresponse().status in statuses
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    return answers


def _said(question: bytes, answers: tuple[bytes, ...]) -> Callable[[int], bool]:
    def asked(port: int) -> bool:
        try:
            with socket.create_connection((HOST, port), timeout=TIMEOUT_S) as connection:
                connection.sendall(question)
                return connection.recv(64).startswith(answers)
        except OSError:
            return False

    return asked


def _page(_place: Path, home: Path, port: int, _model: str) -> Launch | str:
    if importlib.util.find_spec("uvicorn") is None:
        return f"the page needs the extra `serve`: {adding('serve')}"
    return Launch(argv=(sys.executable, "-P", "-m", "ratchet", "--home", str(home), "serve", "--port", str(port)))


# An error ends it, and its log does not say what it was told.
_CLOSING = ("exit_on_error=on", "log_min_error_statement=panic", "password_encryption=scram-sha-256")


def _database(place: Path, home: Path, port: int, _model: str) -> Launch | str:
    programs = _postgres()
    if programs is None:
        return "no Postgres is installed: apt-get install postgresql, or pip install pgserver"
    data = place / "data"
    first = place / "first"
    safe = ("-A", "scram-sha-256", "--pwfile", str(first))
    words = ("-D", str(data), "-U", "ratchet", "-E", "UTF8", "--locale=C", *safe)
    make = (str(programs / "initdb"), *words)
    server = str(programs / "postgres")
    return Launch(
        argv=(server, "-D", str(data), "-p", str(port), "-k", "", "-c", f"listen_addresses={HOST}"),
        keys={_pgpass(home): f"{HOST}:*:*:ratchet:{{}}\n"},
        once={first: "{}\n"},
        before=make,
        made=data / "PG_VERSION",
        rules=data / "pg_hba.conf",
        closing=(
            server,
            "--single",
            "-D",
            str(data),
            *(word for each in _CLOSING for word in ("-c", each)),
            "postgres",
        ),
        closed="ALTER USER ratchet PASSWORD '{}'\n",
        unprivileged=True,
        # Sessions are cut off and everything is written; SIGTERM would wait for clients that never leave.
        signal="SIGINT",
    )


def _pgpass(home: Path) -> Path:
    """The file in which every Postgres client finds the password that belongs to the address."""
    return place_of(home, "database") / "pgpass"


def _postgres() -> Path | None:
    found = importlib.util.find_spec("pgserver")
    places = [Path(found.origin).parent / "pginstall" / "bin"] if found and found.origin else []
    named = shutil.which("initdb")
    places += [Path(named).resolve().parent] if named else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    held = [each for each in places if (each / "initdb").exists() and (each / "postgres").exists()]
    # As root the server runs as nobody, who must be able to read its program.
    return next((each for each in held if os.geteuid() != 0 or _open_to_all(each)), None)


def _open_to_all(folder: Path) -> bool:
    return all(each.stat().st_mode & 0o001 for each in (folder, *folder.parents))


def _redis(place: Path, _home: Path, port: int, _model: str) -> Launch | str:
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        return "no Redis is installed: apt-get install redis-server (or valkey)"
    settings = {"--port": str(port), "--bind": HOST, "--dir": str(place), "--daemonize": "no", "--appendonly": "yes"}
    told = place / "redis.conf"
    return Launch(
        argv=(program, str(told), *(word for pair in settings.items() for word in pair)),
        keys={told: "requirepass {}\n"},
    )


def _model_server(_place: Path, _home: Path, port: int, model: str) -> Launch | str:
    if model.endswith(".gguf"):
        if not Path(model).is_file():
            return f"there is no file {model}: name a model with --model FILE.gguf"
        own = shutil.which("llama-server")
        if own:
            return Launch(argv=(own, "-m", model, "--host", HOST, "--port", str(port)))
        if importlib.util.find_spec("xllamacpp") is None:
            return "nothing here serves a .gguf file: pip install xllamacpp, or put llama-server on PATH"
        quiet = {"OMP_WAIT_POLICY": "passive"}  # else it is 20 times slower on a busy machine
        return Launch(argv=(sys.executable, "-I", "-c", _XLLAMACPP, model, str(port)), environ=quiet)
    if (ollama := shutil.which("ollama")) is not None:
        return Launch(argv=(ollama, "serve"), environ={"OLLAMA_HOST": f"{HOST}:{port}"})
    if model and (vllm := shutil.which("vllm")) is not None:
        return Launch(argv=(vllm, "serve", model, "--host", HOST, "--port", str(port)))
    return "no server of models: install Ollama, or vLLM with --model NAME, or xllamacpp with --model FILE.gguf"


def _search(place: Path, _home: Path, port: int, _model: str) -> Launch | str:
    program = shutil.which("searxng-run")
    if program is None:
        return "SearXNG is not installed here: `ratchet services up search --compose FILE` writes how to run its image"
    environ = {"SEARXNG_PORT": str(port), "SEARXNG_BIND_ADDRESS": HOST, "HOME": str(place)}
    return Launch(argv=(program,), environ=environ)


SERVICES: Mapping[str, Service] = {
    each.name: each
    for each in (
        Service(
            name="page",
            port=8484,
            launch=_page,
            # Whoever asks without a token gets 401: it is the page all the same.
            answers=_http("/health", (200, 401, 403)),
            url=lambda _home, port: f"http://{HOST}:{port}",
            compose="""\
    image: python:3.13-slim
    command: sh -c "pip install 'ratchet-ai[serve]' && ratchet serve --host 0.0.0.0 --port 8484"
    environment:
      RATCHET_HOME: /data
      RATCHET_SERVE_TOKEN: ${{RATCHET_SERVE_TOKEN:?choose one}}
    volumes: [page:/data]
    ports: ["127.0.0.1:{port}:8484"]""",
        ),
        Service(
            name="database",
            port=5484,
            launch=_database,
            answers=_said(_SSL_REQUEST, (b"S", b"N")),
            url=lambda home, port: f"postgresql://ratchet@{HOST}:{port}/postgres?passfile={quote(str(_pgpass(home)))}",
            compose="""\
    image: postgres:16
    environment: {{POSTGRES_USER: ratchet, POSTGRES_PASSWORD: "${{POSTGRES_PASSWORD:?choose one}}"}}
    volumes: [database:/var/lib/postgresql/data]
    ports: ["127.0.0.1:{port}:5432"]""",
        ),
        Service(
            name="redis",
            port=6484,
            launch=_redis,
            answers=_said(b"PING\r\n", (b"+PONG", b"-NOAUTH")),
            url=lambda _home, port: f"redis://{HOST}:{port}",
            compose="""\
    image: redis:8
    command: redis-server --appendonly yes --requirepass ${{REDIS_PASSWORD:?choose one}}
    volumes: [redis:/data]
    ports: ["127.0.0.1:{port}:6379"]""",
        ),
        Service(
            name="model",
            port=11484,
            launch=_model_server,
            answers=_http("/v1/models"),
            url=lambda _home, port: f"http://{HOST}:{port}/v1",
            compose="""\
    image: ollama/ollama
    volumes: [model:/root/.ollama]
    ports: ["127.0.0.1:{port}:11434"]""",
        ),
        Service(
            name="search",
            port=8485,
            launch=_search,
            answers=_http("/healthz"),
            url=lambda _home, port: f"http://{HOST}:{port}",
            compose="""\
    image: searxng/searxng
    volumes: [search:/etc/searxng]
    ports: ["127.0.0.1:{port}:8080"]""",
        ),
    )
}


def compose_text(ports: Mapping[str, int]) -> str:
    """A compose file of these services (name -> port). It is only written: nothing here runs it."""
    lines = [
        "# Written by `ratchet services up --compose`; it was not run here. Start it: docker compose -f FILE up -d"
    ]
    lines += ["services:"]
    for name, port in ports.items():
        lines += [f"  {name}:", SERVICES[name].compose.format(port=port), "    restart: unless-stopped"]
    return "\n".join([*lines, "volumes:", *(f"  {name}:" for name in ports), ""])
