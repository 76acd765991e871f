"""One configuration: keyword > `RATCHET_*` environment > a folder's `ratchet.toml` > the home's > default."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

from ratchet.errors import UsageError

FILE_NAME = "ratchet.toml"
log = logging.getLogger(__name__)
_LENGTHS = {"h": 3_600.0, "d": 86_400.0}
_LONG = 20  # characters of a number and a length


class Often(NamedTuple):
    """So many failures within so many seconds."""

    times: int
    within_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that can be set, with its default. `ratchet doctor` prints the values in force."""

    home: Path
    """The folder that holds the store, the journal and the hook's cache."""
    withheld_share: float = 0.20
    """Share of (session, pattern) units that get no lesson, so that the effect can be measured. 0 to 0.9. From the 20th
    unit to the 250th, while no effect is proven, it is two and a half times that, at most a half."""
    proven_withheld_share: float = 0.05
    """The same once the pooled evidence has passed 20 (design: keep measuring, at a lower price)."""
    drain_interval_s: float = 30.0
    """How often a recording process moves its journal into the store in the background; 0 = only before reads."""
    window_days: float = 14.0
    """How far back `patterns` looks for what recurs, from the newest outcome."""
    auto_fix: bool = False
    """Whether the improve loop starts safe fixes by itself, each as a trial; else it proposes them."""
    loop_interval_s: float = 60.0
    """How often `ratchet loop` goes round. 1 second to a day."""
    proposers: str = ""
    """Who is asked for fixes besides the built-in rules: names or `package.module:function`, separated by commas."""

    model: str = ""
    """Who plans in `ratchet run`: `provider:name`, or several separated by commas, each asked when the one before it
    cannot answer; `local` is the first server found on this machine."""
    fast_model: str = ""
    """Who summarises, spelled like `model`; without it those that plan do."""
    session_model: str = ""
    """Who plans where a person waits (`ratchet run`), spelled like `model`, which counts where this is empty."""
    loop_model: str = ""
    """Who plans in unattended work (evolving, distilling, queued tasks), spelled like `model`, which counts where this
    is empty: a server of your own for what runs all night, and another model at the desk."""
    model_base_url: str = ""
    """The address of an OpenAI-compatible server for names without a provider."""
    model_prices: str = ""
    """Prices of models that no table has: `name=INPUT/OUTPUT` in USD for a million tokens, separated by commas."""
    distill: bool = False
    """Whether `ratchet lessons distill` may send evidence to the configured model without being asked each time."""
    prompts: str = ""
    """A folder of your own prompts (`repair.md`, `propose.md`, ...), each used instead of the one of that name that
    comes along."""
    database_url: str = field(default="", repr=False)  # its password must not stand in a log
    """A Postgres database instead of the home's own file: `postgresql://USER:PASSWORD@HOST/DATABASE`.

    Shown without its password."""
    redis_url: str = field(default="", repr=False)  # as above
    """A Redis with vector search beside the store, for speed: `redis://USER:PASSWORD@HOST:6379/0`, `rediss://` with
    TLS. Nothing is in it that the store has not.

    Shown without its password."""
    retention_days: float = 0.0
    """Days for which outcomes, events and diffs of attempts stay (1 to 36,500); 0 keeps all.

    Tallies, lessons, trials, and patterns with an example of each always stay."""

    cluster: str = ""
    """Address of the workers for `--executor dask` (`tcp://HOST:8786`, `tls://...`) or `ray` (`ray://HOST:10001`).
    Without one they are started on this machine.

    Whoever reaches such an address runs code there: it belongs into a network of your own."""

    keep_steps: bool = False
    """Whether the results of steps that worked are kept in the store, redacted and cut, too. Else they are read from
    their histories as long as those are there."""
    alert_often: str = ""
    """When a server alerts of a pattern for its number alone: `20/1h` is 20 failures within an hour (`h`, `d`). New,
    rising and returning patterns are told anyway."""

    @property
    def often(self) -> Often | None:
        """`alert_often` as numbers; None where it is not set."""
        times, _, length = self.alert_often.partition("/")
        if not self.alert_often:
            return None
        unit_s = _LENGTHS.get(length[-1:], 0.0)
        if not (times.isdecimal() and length[:-1].isdecimal() and unit_s and len(self.alert_often) < _LONG):
            raise UsageError(f"alert_often is {self.alert_often!r}: write a number and a length, as 20/1h or 100/1d")
        return Often(max(1, int(times)), max(1, int(length[:-1])) * unit_s)

    def __post_init__(self) -> None:
        _check_range("withheld_share", self.withheld_share, 0.0, 0.9)
        _check_range("proven_withheld_share", self.proven_withheld_share, 0.0, 0.9)
        _check_range("drain_interval_s", self.drain_interval_s, 0.0, 86_400.0)
        _check_range("window_days", self.window_days, 0.01, 3_650.0)
        _check_range("loop_interval_s", self.loop_interval_s, 1.0, 86_400.0)
        _ = self.often
        if self.retention_days:
            _check_range("retention_days", self.retention_days, 1.0, 36_500.0)
        if self.database_url and self.database_url.partition("://")[0] not in ("postgresql", "postgres"):
            raise UsageError(
                "database_url is no address of a Postgres database; write postgresql://USER:PASSWORD@HOST/DATABASE"
            )
        if self.redis_url and self.redis_url.partition("://")[0] not in ("redis", "rediss", "unix"):
            raise UsageError("redis_url is no address of a Redis; write redis://USER:PASSWORD@HOST:6379/0")


class Tunables(TypedDict, total=False):
    """Keywords besides the home; None means "not given". `foreign_home` is no setting: see `load`."""

    withheld_share: float | None
    proven_withheld_share: float | None
    drain_interval_s: float | None
    window_days: float | None
    auto_fix: bool | None
    loop_interval_s: float | None
    proposers: str | None
    model: str | None
    fast_model: str | None
    session_model: str | None
    loop_model: str | None
    model_base_url: str | None
    model_prices: str | None
    distill: bool | None
    prompts: str | None
    database_url: str | None
    redis_url: str | None
    retention_days: float | None
    cluster: str | None
    keep_steps: bool | None
    alert_often: str | None
    foreign_home: bool


class Settings(Tunables, total=False):
    """Everything that may be given as a keyword."""

    home: str | PathLike[str] | None


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # false for NaN too
        raise UsageError(f"{name} is {value!r}: use a number from {low:g} to {high:g}")


KEYS = tuple(field.name for field in fields(Config))
MODEL_KEY = "RATCHET_MODEL_API_KEY"
"""The key for `model_base_url`: only from the environment, like all keys, and never written down."""
SERVE_TOKEN = "RATCHET_SERVE_TOKEN"  # noqa: S105  (its name)
"""A token for `ratchet serve`, as its --token: the environment is not shown to other people of the machine."""
NOTIFY_PREFIX = "RATCHET_NOTIFY_"
NOTIFY = {
    f"{NOTIFY_PREFIX}WEBHOOK_URL": "an https address that is sent each notice as JSON",
    f"{NOTIFY_PREFIX}SLACK_URL": "the address of a Slack incoming webhook",
    f"{NOTIFY_PREFIX}TELEGRAM_TOKEN": "the token of a Telegram bot; needs RATCHET_NOTIFY_TELEGRAM_CHAT",
    f"{NOTIFY_PREFIX}TELEGRAM_CHAT": "the id of the chat that the bot writes to",
    f"{NOTIFY_PREFIX}SMTP_URL": "a mail server, smtp://user:password@host:587 (STARTTLS) or smtps:; needs _EMAIL_TO",
    f"{NOTIFY_PREFIX}EMAIL_TO": "who gets the mail, several separated by commas",
    f"{NOTIFY_PREFIX}EMAIL_FROM": "the sender; by default the first recipient",
}
"""Variables that name ways to reach a person: secrets, so only from the environment."""
SHARED_KEYS = ("drain_interval_s", "window_days", "loop_interval_s")
"""All that a folder's file may set. Every other key names code, money, a destination, or what hooks obey: a repository
must not decide about these."""
_VARIABLES = {f"RATCHET_{key.upper()}" for key in KEYS} | {*NOTIFY, MODEL_KEY, SERVE_TOKEN}
_NAMED = 5  # unknown keys in a warning
_NEAR = 0.75  # of two names: a typing error; less is another program's variable, or one that we hand to a child


def load(*, environ: Mapping[str, str] | None = None, cwd: Path | None = None, **given: Unpack[Settings]) -> Config:
    """The configuration in force. `given` are keywords; None among them means "not given".

    Files read: `ratchet.toml` in the home, and over it the one in the working directory, which may set `SHARED_KEYS`
    only. It may be anybody's, so its other keys are one warning. With `foreign_home` the home's file is such
    a file too: nobody named the folder, so it may have come with a clone. `RATCHET_HOME` and `~/.ratchet` never are,
    unless another user may have written the file there.

    Raises UsageError naming the key, where it was set, and the nearest known key.
    """
    environ = os.environ if environ is None else environ
    foreign_home = given.pop("foreign_home", False)
    chosen: dict[str, object] = {}
    for key, value in given.items():
        _known(key, "a keyword")
        if value is not None:
            chosen[key] = value
    for key in KEYS:
        name = f"RATCHET_{key.upper()}"
        if key not in chosen and environ.get(name):
            chosen[key] = environ[name]
    for name in unknown_environment(environ):
        near = _near(name.removeprefix("RATCHET_"), (each.removeprefix("RATCHET_") for each in _VARIABLES), _NEAR)
        if near:
            raise UsageError(f"unknown setting {name} in the environment: did you mean RATCHET_{near}?")
    home = home_of(chosen.get("home"), environ=environ)
    folder = cwd or _here()
    is_foreign = foreign_home and home.absolute() != home_of(None, environ=environ).absolute()
    if not is_foreign and _is_anothers(home):
        held = _shared(home, None, whose=f"which another user may have written: chmod 700 {home}, if it is yours, or")
    else:
        held = _shared(home, None) if is_foreign else _of_home(home)
    beside = {} if folder is None or _same(folder / FILE_NAME, home / FILE_NAME) else _shared(folder, home)
    for key, value in (held | beside).items():
        chosen.setdefault(key, value)
    chosen["home"] = home
    return Config(**{key: _converted(key, value) for key, value in chosen.items()})  # type: ignore[arg-type]


def unknown_environment(environ: Mapping[str, str]) -> list[str]:
    """`RATCHET_*` variables that mean nothing here (a typing error, or a newer Ratchet's)."""
    return sorted(name for name in environ if name.startswith("RATCHET_") and name not in _VARIABLES)


def home_of(given: object, *, environ: Mapping[str, str] | None = None) -> Path:
    """The home folder, absolute: given, else RATCHET_HOME, else `~/.ratchet`. Reads no file and never raises."""
    environ = os.environ if environ is None else environ
    chosen = given or environ.get("RATCHET_HOME") or None  # an empty variable is one that is not set
    path = Path(
        os.fspath(chosen) if isinstance(chosen, str | os.PathLike) else Path(environ.get("HOME") or "~", ".ratchet")
    )
    try:
        return Path(os.path.abspath(path.expanduser()))  # noqa: PTH100  (what is started elsewhere, as a hook, has no `..`)
    except (RuntimeError, OSError):  # no user has this name, or none is known; the working directory was deleted
        return path


def _here() -> Path | None:
    """The working directory; None when it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


def _is_anothers(home: Path) -> bool:
    """Tell whether another user, who is not root, may have written the home's file: it is theirs, or open to all.
    Root reads what it is pointed at: in a container it is another user's as a rule."""
    me = getattr(os, "geteuid", int)()
    for path in (home, home / FILE_NAME):
        try:
            about = path.stat()
        except (OSError, ValueError):
            continue
        if (me and about.st_uid not in (me, 0)) or about.st_mode & stat.S_IWOTH:
            return os.path.isfile(home / FILE_NAME)  # noqa: PTH113  (never raises, `Path.is_file` may)
    return False


def _of_home(home: Path) -> dict[str, object]:
    path = home / FILE_NAME
    values = _read(path)
    for key in values:
        _known(key, str(path))
    if "home" in values:
        raise UsageError(f"{path} sets home; set RATCHET_HOME or --home instead")
    for key, value in values.items():
        _need_good(path, key, value)
    return values


def _need_good(path: Path, key: str, value: object) -> None:
    """Raise UsageError, which names the file, for a value that its key does not take."""
    try:
        Config(home=path.parent, **{key: _converted(key, value)})  # type: ignore[arg-type]
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _shared(folder: Path, home: Path | None, *, whose: str = "") -> dict[str, object]:
    """Read the file of a folder that may be anybody's; what it may not set belongs into the home's own file. `whose`
    says so where that is not a project's."""
    path = folder / FILE_NAME
    try:
        values = _read(path)
    except UsageError as error:
        _warn_of(str(error))
        return {}
    refused = tuple(sorted(key for key in values if key not in SHARED_KEYS))
    if refused:
        remedy = f" write it into {home / FILE_NAME}, or" if home else ""
        _warn_once(str(path), refused, whose or f"which no project may set:{remedy}")
    kept: dict[str, object] = {}
    for key in SHARED_KEYS:
        if key in values:
            try:
                _need_good(path, key, values[key])
                kept[key] = values[key]
            except UsageError as error:
                _warn_of(str(error))
    return kept


@cache
def _warn_of(why: str) -> None:
    """Say once what is wrong with a folder's file, which may be anybody's: it must not end a command."""
    log.warning("not read: %s", why)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one of them is missing, or no path at all
        return False


@cache
def _warn_once(path: str, refused: tuple[str, ...], why: str) -> None:
    ours = [key for key in refused if key in KEYS]
    others = [key for key in refused if key not in KEYS]
    said = []
    if ours:
        said.append(f"{', '.join(ours)}, {why} set RATCHET_{ours[0].upper()}")
    if others:
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        said.append(f"{', '.join(ascii(key) for key in others[:_NAMED])}{more}, unknown here")
    log.warning("not read from %s: %s", path, "; ".join(said))


def _read(path: Path) -> dict[str, object]:
    """The values in a file of settings; none where there is no such file."""
    if not os.path.isfile(path):  # noqa: PTH113  (never raises, `Path.is_file` may)
        return {}
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); mend its permissions, or remove it") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error


def _near(key: str, known: Iterable[str], least: float) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(key, list(known), n=1, cutoff=least)), "")


def _known(key: str, where: str) -> None:
    if key in KEYS:
        return
    near = _near(key, KEYS, 0.4)
    hint = f"did you mean {near}?" if near else f"known keys: {', '.join(KEYS)}"
    raise UsageError(f"unknown setting {key!r} in {where}: {hint}")


_DEFAULTS = {field.name: field.default for field in fields(Config)}
_SWITCHES = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _switch(key: str, value: object) -> bool:
    found = value if isinstance(value, bool) else _SWITCHES.get(str(value).strip().lower())
    if found is None:
        raise UsageError(f"{key} is {value!r}: use true or false")
    return found


def _converted(key: str, value: object) -> object:
    if key == "home":
        return value
    default = _DEFAULTS[key]
    if isinstance(default, bool):
        return _switch(key, value)
    if isinstance(default, str):
        if not isinstance(value, str):
            raise UsageError(f"{key} is {value!r}: use a text")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UsageError(f"{key} is {value!r}: use a number")
    try:
        return float(value)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{key} is {value!r:.60}: use a number") from error
