"""Facts about shell programs and agents' tools, for `ratchet.failures.intent`. Lean: hook processes import it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS = _names("bash sh zsh dash ksh")
SHELL_TOOLS = _names(
    """
    bash shell localshell shellcommand execcommand runshellcommand runterminalcmd executebash executecommand terminal
    containerexec exec runcommand runcommands runinterminal cmd localshellcall powershell
    """
)


def is_shell(tool: str) -> bool:
    """Tell whether a tool runs commands, however its name is written, under whatever server."""
    name = tool.rsplit("__", 1)[-1].lower()
    return "".join(c for c in name if c.isalnum()) in SHELL_TOOLS


def called(tool: str, given: str) -> str:
    """A step in one line for a person: a command as it was typed, another tool by its name and what it was given, of
    JSON (`{"pattern": "*.md", "path": "docs"}`) by name and value (`Glob pattern=*.md path=docs`)."""
    if is_shell(tool) and given:
        return given
    import json  # of what a hook process asks for, nothing comes here

    try:
        held = json.loads(given)
    except (ValueError, RecursionError):  # cut, or words
        return f"{tool} {given}".strip()
    if not isinstance(held, dict):
        return f"{tool} {given}".strip()
    said = [f"{name}={each if isinstance(each, str) else json.dumps(each)}" for name, each in held.items()]
    return " ".join([tool, *said]).strip()


FILE_VERBS = {
    tool: verb
    for verb, tools in {
        "read": "read readfile readfiles viewfile view openfile open notebookread readmanyfiles",
        "edit": "edit multiedit notebookedit editfile editor strreplace strreplaceeditor "
        "strreplacebasededittool texteditor fileeditor replacestringinfile multireplacestringinfile "
        "inserteditintofile replace replaceinfile searchreplace insert applypatch applydiff patch "
        "update",
        "write": "write writefile writetofile createfile create",
        "ls": "ls listdir listdirectory",
        "delete": "deletefile",
    }.items()
    for tool in tools.split()
}


def role_of(tool: str) -> str:
    """Tell what a tool is for, whatever its agent calls it: "shell", "search", a verb of `FILE_VERBS`; "" for another
    one."""
    plain = tool.lower().replace("_", "").replace("-", "")
    if plain in SHELL_TOOLS:
        return "shell"
    is_search = "grep" in plain or plain.startswith(("searchfile", "searchcode"))  # verb and object, in any spelling
    return "search" if is_search else FILE_VERBS.get(plain, "")


def several_of(given: Mapping[str, object] | dict[object, object]) -> str:
    """The commands that a shell tool is given as a list, each on a line of its own; "" where it is given none."""
    listed = given.get("commands")
    return "\n".join(each for each in listed if isinstance(each, str)) if isinstance(listed, list) else ""


# Programs that run another one -> their options that take a value.
WRAPPERS = {
    "sudo": _names("-u -g -C -h"),
    "doas": _names("-u"),
    "env": _names("-u -C -S"),
    "time": _names("-f -o"),
    "timeout": _names("-s -k --signal --kill-after"),
    "gtimeout": _names("-s -k"),
    "nohup": frozenset(),
    "nice": _names("-n"),
    "ionice": _names("-c -n"),
    "stdbuf": _names("-i -o -e"),
    "setsid": frozenset(),
    "exec": _names("-a"),
    "command": frozenset(),
    "builtin": frozenset(),
    "xvfb-run": _names("-s -n"),
    "caffeinate": _names("-t"),
    "direnv": frozenset(),
    "npx": _names("-p --package"),
    "bunx": frozenset(),
    "pnpx": frozenset(),
    "uvx": _names("--from --with -p --python"),
    "xargs": _names("-n -I -P -d -L"),
}
# `program word` that only runs the rest in an environment: the intent is the rest's.
RUNNERS = frozenset(
    tuple(pair.split())
    for pair in (
        "asdf exec",
        "bundle exec",
        "conda run",
        "direnv exec",
        "hatch run",
        "mise exec",
        "npm exec",
        "pdm run",
        "pipenv run",
        "pipx run",
        "pnpm dlx",
        "pnpm exec",
        "poetry run",
        "rye run",
        "uv run",
        "yarn dlx",
        "yarn exec",
    )
)
LOOPS = frozenset(("for", "select", "case"))
"""Keywords of a shell behind which words stand that it goes through, not a command."""
KEYWORDS = _names("then do else elif if while until ! { } done fi in")

# How little a command says about what its chain is for: the chain's intent is that of the last command with the
# least of it. 2: sets the scene or trims output; 1: looks at something; 0 (absent): does something.
NOISE = dict.fromkeys(
    _names(
        """
        cd pushd popd echo printf true false : sleep export set unset source . tail head wait read tee exit return shift
        local declare ulimit umask alias trap less more clear for case esac done fi test [ [[ column
        """
    ),
    2,
) | dict.fromkeys(
    _names(
        """
        cat grep egrep fgrep rg ag sed awk gawk cut sort uniq wc tr jq yq ls pwd find fd which type stat file du df ps
        lsof date diff comm xxd od hexdump strings tree basename dirname realpath readlink env printenv whoami id uname
        pgrep command hash nl tac rev fold paste
        """
    ),
    1,
)

# Programs whose arguments are operands: no subcommand belongs to their head.
PLAIN = _names(
    """
    ls cat grep egrep fgrep rg ag sed awk gawk cut sort uniq wc tr jq yq pwd find fd which type stat file du df ps
    cd lsof date diff comm xxd od hexdump strings tree basename dirname realpath readlink printenv whoami id uname
    pgrep rm mkdir rmdir touch cp mv ln chmod chown kill pkill killall ssh scp rsync ping dig nslookup host nc
    telnet curl wget http tar zip unzip gzip gunzip zstd man echo printf sleep export source . test [ [[ tee head
    tail xargs env psql mysql sqlite3 redis-cli mongosh open xdg-open code vim vi nano emacs less more gcc g++ cc
    clang clang++ javac java ruby perl php lua node ts-node tsx deno-run python pypy bash sh zsh dash ksh iex elixir
    elixirc erl erlc ghc rustc gofmt goimports tsc eslint prettier stylelint black isort mypy pyright flake8 pylint
    shellcheck jest vitest mocha ava pytest nosetests tox nox rspec minitest phpunit ctest gtest busted bats
    playwright cypress dd sha256sum md5sum sha1sum md5 shasum base64 openssl strace ltrace time for while until if
    read exit return set unset local declare alias trap true false : apply_patch say pbcopy pbpaste nl seq yes watch
    crontab su mount umount sync pip-compile cmake ninja meson cmp patch split truncate install hash unrar 7z ffmpeg
    convert pandoc
    """
)
EVERY = frozenset[str]()
# Programs with a second level below these first words (`EVERY`: below each): `docker compose up`, `gh pr create`.
TWO_LEVELS = {
    "gh": EVERY,
    "aws": EVERY,
    "gcloud": EVERY,
    "az": EVERY,
    "glab": EVERY,
    "hub": EVERY,
    "git": _names("remote stash worktree submodule config bisect notes lfs flow"),
    "docker": _names("compose container image volume network buildx system context"),
    "podman": _names("compose container image volume network"),
    "kubectl": _names("config rollout create set auth"),
    "npm": _names("run run-script config cache"),
    "pnpm": _names("run config"),
    "yarn": _names("run config workspace"),
    "bun": _names("run pm"),
    "deno": _names("task"),
    "uv": _names("pip tool python cache"),
    "poetry": _names("env self cache config"),
    "cargo": _names("nextest"),
    "mise": _names("run"),
    "nx": _names("run"),
    "turbo": _names("run"),
    "poe": EVERY,
    "go": _names("mod work"),
    "mix": _names("do"),
    "pre-commit": EVERY,
    "claude": _names("mcp plugin"),
    "terraform": _names("state workspace"),
    "rails": EVERY,
    "supabase": EVERY,
    "fly": EVERY,
    "flyctl": EVERY,
    "heroku": EVERY,
}
# Options that take a value and may stand before the subcommand.
VALUED = {
    "git": _names("-C -c --git-dir --work-tree --namespace"),
    "make": _names("-C -f -j -I -o --directory --file"),
    "docker": _names("-H --context -l --config -f --file -p --project-name --env-file --profile"),
    "podman": _names("-H --connection"),
    "kubectl": _names("-n --namespace --context --kubeconfig -l"),
    "helm": _names("-n --namespace --kube-context"),
    "npm": _names("--prefix -C -w --workspace --loglevel"),
    "pnpm": _names("-C --dir --filter -F"),
    "yarn": _names("--cwd"),
    "bun": _names("--cwd"),
    "gh": _names("-R --repo"),
    "cargo": _names("--manifest-path --config -Z"),
    "go": _names("-C"),
    "uv": _names("--directory --project -p --python --with --extra --group --from --spec"),
    "poetry": _names("-C --directory -P --project"),
    "mvn": _names("-f -pl -P -s -T"),
    "gradle": _names("-p -b -c --project-dir"),
    "terraform": _names("-chdir"),
    "aws": _names("--region --profile"),
    "python": _names("-W -X"),
    "pip": _names("--python"),
}
TASKED = _names("mix gradle mvn rake invoke task just")  # their subcommands are tasks: `ecto.migrate`, `:app:test`
SAME = {
    "python3": "python",
    "python2": "python",
    "py": "python",
    "pip3": "pip",
    "pip2": "pip",
    "nodejs": "node",
    "gradlew": "gradle",
    "mvnw": "mvn",
    "gmake": "make",
    "docker-compose": "docker compose",
    "py.test": "pytest",
    "run-script": "run",
}
INTERPRETERS = SHELLS | _names("python pypy node ruby perl php ts-node tsx elixir lua")
TEST_RUNNERS = _names(
    "pytest jest vitest mocha ava rspec phpunit nosetests unittest playwright cypress bats ctest tox nox"
) | frozenset(
    (
        "mix test",
        "go test",
        "cargo test",
        "cargo nextest run",
        "npm test",
        "npm run test",
        "yarn test",
        "yarn run test",
        "pnpm test",
        "pnpm run test",
        "bun test",
        "deno test",
        "dotnet test",
        "rails test",
        "swift test",
        "bazel test",
        "playwright test",
        "django test",
        "flutter test",
        "dart test",
        "zig test",
        "mvn test",
        "gradle test",
    )
)
# Options of test runners whose value is not what is tested.
TEST_VALUED = _names(
    """
    -k -m -n -p -c -o -W -r --tb --timeout --cov --cov-report --maxfail --durations --rootdir --confcutdir --seed
    --max-failures --only --exclude --include -run -count -timeout -bench -cpu -parallel -tags -coverprofile
    --config --project --reporter --grep -g -t --testNamePattern --color --package --features --test-threads
    --maxWorkers -e --format --filter --workspace -w --partitions --formatter --trace -j --jobs -f
    """
)
