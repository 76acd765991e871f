"""The command group: help by what people want to do, errors as one line with the remedy, documented exit codes."""

from __future__ import annotations

import errno
import io
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ratchet import __version__
from ratchet.cli.commands import SECTIONS
from ratchet.cli.folders import PATH
from ratchet.errors import BackendError, RatchetError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ratchet.runtime import Runtime

COMMANDS = {name: found for commands in SECTIONS.values() for name, found in commands.items()}

EXIT_CODES = """
\b
Exit codes
  0  done                          4  somebody else changed it first
  1  unexpected fault              5  refused on purpose; the message says what to do
  2  wrong call or input           6  store, file or service broken
  3  no such record                130 interrupted
"""


_SENTENCE = 200
"""Characters that a command may say of itself in its group's help."""
_MEANT = 0.7  # likeness from which another option is named: `--session` is no slip of `--json` (.67)
_TAKES = 4  # options that are named where a word stands without one


def _unknown(ctx: click.Context, group: click.Group, word: str) -> click.UsageError:
    from ratchet.cli.nearest import meant

    return click.UsageError(f"no command {word!r}{meant(ctx, group, word)}", ctx)


class Group(click.Group):
    """A group whose commands are named where they were called wrongly, and said whole in its help."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if error.ctx is None:  # click's parser of options does not say whose they are
                error.ctx = click.Context(self, parent=ctx, info_name=ctx.invoked_subcommand)
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        named = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, found.get_short_help_str(_SENTENCE)) for name, found in named if found])


class Sections(Group):
    """A group that reads its commands' names and short helps from a table, and imports a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command = getattr(import_module(f"ratchet.cli.{module}"), cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            raise _unknown(ctx, self, args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, said) for name, (_, said) in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=said) for name, (_, said) in COMMANDS.items() if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)


class Commands(Group):
    """A group that names the command that was meant where it has none of that name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise _unknown(ctx, self, args[0])
        return super().resolve_command(ctx, args)


class Records(Commands):
    """A group about records of one noun, which tells what to do with an id where a command is due."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and any(letter.isdigit() for letter in args[0]):
            raise click.UsageError(f"no command {args[0]!r}; for that one: {ctx.command_path} show {args[0]}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Sections, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ratchet")
@click.option("--home", type=PATH, help="Where everything is kept (RATCHET_HOME; ~/.ratchet).")
@click.pass_context
def cli(ctx: click.Context, home: Path | None) -> None:
    """Records what fails, learns what fixed it, and hands the fix back when it fails again.

    Start with `ratchet demo`, then `ratchet learn` reads the histories of coding agents on this machine.
    """
    ctx.obj = home


def _keep_home(ctx: click.Context, param: click.Parameter, home: Path | None) -> None:
    """`--home` counts before and after a command's name; behind it, it is the nearer one."""
    del param
    ctx.find_root().obj = home or ctx.find_root().obj


home_option = click.option(
    "--home",
    type=PATH,
    expose_value=False,
    callback=_keep_home,
    help="Where everything is kept (RATCHET_HOME; ~/.ratchet).",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")


def opened(*, begins: bool = False) -> Runtime:
    """The runtime of this call, closed when the command ends. Only a command that begins something makes a home where
    none is at the place that is named, or needs none. Raises NotFound for any other: no home comes from a typo;
    UsageError for a file."""
    from ratchet.runtime import Runtime

    ctx = click.get_current_context()
    home = ctx.find_root().obj
    runtime = Runtime.open(home=home)
    ctx.call_on_close(runtime.close)
    if runtime.home.exists() and not runtime.home.is_dir():
        raise UsageError(f"{runtime.home} is a file and no home: name a folder with --home, or in RATCHET_HOME")
    if runtime.home.is_symlink() and not runtime.home.exists():
        raise UsageError(
            f"{runtime.home} is a link to what is not there: mount or make that, or name a folder with --home"
        )
    if home is not None and not begins:
        runtime.need()
    return runtime


def is_new(runtime: Runtime) -> bool:
    """Return whether the home was named and is not there yet: one of a typo knows nothing, and whoever serves it or is
    told by it would not notice."""
    return click.get_current_context().find_root().obj is not None and not (runtime.exists or runtime.home.is_dir())


def say_if_new(runtime: Runtime) -> None:
    """Say on standard error that the home which was named is not there yet."""
    if is_new(runtime):
        new = f"there is no home at {runtime.home} yet, so it begins empty; next: ratchet --home {runtime.home} learn"
        click.echo(f"ratchet: {new}", err=True)


def run() -> None:
    """Run one command; a known error is one line on stderr and its own exit code."""
    _have_all_streams()
    _speak_all_alphabets()
    code: object = 0
    try:
        code = cli.main(prog_name="ratchet", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()  # what cannot be written is said here, not by the interpreter as it ends
    except click.exceptions.Abort:
        code = _say("interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())  # who names a group alone asks what it offers
    except click.UsageError as error:
        if isinstance(error, click.NoSuchOption) and error.possibilities:
            from difflib import get_close_matches

            near = get_close_matches(error.option_name, error.possibilities, n=1, cutoff=_MEANT)
            error = click.NoSuchOption(error.option_name, possibilities=near, ctx=error.ctx)
        path = error.ctx.command_path if error.ctx else "ratchet"
        said = " ".join(error.format_message().split()).rstrip(".")
        said += " See" if said.endswith("?") else f"{_behind_options(error)}; see"
        code = _say(f"{said} `{path} --help`", error.exit_code)
    except click.ClickException as error:
        code = _say(error.format_message(), error.exit_code)
    except RatchetError as error:
        code = _say(str(error), error.exit_code)
    except KeyboardInterrupt:
        code = _say("interrupted", 130)
    except BrokenPipeError:
        _hush()  # the reader (head, less) went away: that is its right, and changes nothing of how a command ended
    except OSError as error:
        _hush()
        code = _say(explained(error), BackendError.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _behind_options(error: click.UsageError) -> str:
    """Of a word that a command does not take: which of its options take one, where it takes none without."""
    params = error.ctx.command.params if error.ctx and "extra argument" in error.format_message() else []
    if not params or any(isinstance(each, click.Argument) for each in params):
        return ""
    takes = [each.opts[0] for each in params if isinstance(each, click.Option) and not each.is_flag]
    return f"; what it takes stands behind an option: {', '.join(takes[:_TAKES])}, ..." if takes else ""


def _have_all_streams() -> None:
    """A stream that the caller has closed is an empty one: nothing else may come to lie at its number, where a program
    that is started would take it for its own."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest free number: the closed one, where it is still free
            setattr(sys, name, os.fdopen(opened, "r" if name == "stdin" else "w", encoding="utf-8"))


def _speak_all_alphabets() -> None:
    """A terminal that knows few characters gets `?` for the others; half a character becomes its escape, which is what
    JSON has for it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            knows_all = stream.encoding.lower().replace("-", "") == "utf8"
            stream.reconfigure(errors="backslashreplace" if knows_all else "replace")


def _hush() -> None:
    """Point standard output at nothing, so that the interpreter's last flush stays quiet."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def explained(error: OSError) -> str:
    """A fault of the system in one line: what, where, and what to look at."""
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return "the working directory was deleted; change to another one"
    where = f"{error.filename}: " if error.filename is not None else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{where}{error.strerror}; free some space, then try again"
    return f"{where}{error.strerror or error}; nothing else was changed: check its path, permissions and free space"


def _say(message: str, code: int) -> int:
    """A message may quote a file's name or content, which must not command the terminal, and an address as it was
    given, with a password."""
    from ratchet.failures.redaction.forms import hide_url_credentials  # a start without a fault does not need it

    shown = hide_url_credentials(message)
    click.echo("ratchet: " + "".join(c if c.isprintable() or c == "\n" else "?" for c in shown), err=True)
    return code
