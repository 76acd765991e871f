"""`ratchet compare`: features of other projects, each with its line, and the gaps as plans."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ratchet.cli.app import cli
from ratchet.errors import Conflict, NotFound, Refused, UsageError
from ratchet.evolving.competitors.book import compare_projects, gap_plan, write_plans
from ratchet.evolving.competitors.comparing import ComparedFeature, table_of
from ratchet.evolving.competitors.features import Feature, FeatureKind, features
from ratchet.evolving.competitors.prose import ProseLine, grounded
from ratchet.healing.planning.plan import plan_of
from ratchet.testing.model_server import ModelServer
from ratchet.testing.wire import Reply
from support.folders import deeply_nested

CLI = """import click


@click.group()
def cli(): ...


@cli.command("export")
@click.option("--as-csv/--as-json", is_flag=True)
def export_command(): ...


@cli.command()
@click.option("-n", "--dry-run", is_flag=True)
def import_all(path):
    return path.suffix == ".csv" or path.name.endswith(".txt") or f"{path}.text"
"""
START = '[project.scripts]\nshop = "pkg.cli:cli"\n'
SERVER = """@app.get("/items")
def items(): ...


@mcp.tool()
def search(): ...


parser.add_argument("--port", type=int)
"""


@pytest.mark.parametrize(
    "texts",
    [
        {"pkg/cli.py": CLI, "pyproject.toml": START},
        {"pkg/cli.py": CLI, "pkg/__main__.py": "from pkg.cli import cli\n\ncli()\n"},
        {"pkg/cli.py": CLI + '\n\nif __name__ == "__main__":\n    cli.main()\n'},
    ],
)
def test_the_group_that_a_program_starts_is_no_command_of_it(texts: dict[str, str]) -> None:
    below = '@cli.group()\ndef items(): ...\n\n\n@items.command("list")\ndef list_items(): ...\n'
    commands = {each.name for each in features({**texts, "pkg/items.py": below}) if each.kind == "command"}
    assert commands == {"export", "import-all", "items list"}


PARSERS = """
parser = argparse.ArgumentParser()
commands = parser.add_subparsers()
remote = commands.add_parser("remote")
kinds = remote.add_subparsers()
kinds.add_parser("add").add_argument("--force")
deep = kinds.add_parser("url").add_subparsers()
status = commands.add_parser("status")
"""


def test_a_command_stands_behind_its_parents_and_a_group_that_only_holds_others_is_none() -> None:
    assert {each.name for each in features({"tool.py": PARSERS}) if each.kind == "command"} == {
        "remote add",
        "remote url",
        "status",
    }
    alone = CLI.replace("@click.group()", "@click.group(invoke_without_command=True)")
    assert "cli" in {each.name for each in features({"pkg/cli.py": alone}) if each.kind == "command"}


def test_each_feature_names_the_line_that_shows_it() -> None:
    got = {f"{each.kind} {each.name}": each.place for each in features({"pkg/cli.py": CLI, "pkg/server.py": SERVER})}
    assert got == {
        "command export": "pkg/cli.py:8",
        "command import-all": "pkg/cli.py:15",
        "option --as-csv": "pkg/cli.py:9",
        "option --as-json": "pkg/cli.py:9",
        "option --dry-run": "pkg/cli.py:14",
        "option --port": "pkg/server.py:9",
        "format .csv": "pkg/cli.py:16",
        "format .txt": "pkg/cli.py:16",
        "endpoint /items": "pkg/server.py:1",
        "tool search": "pkg/server.py:6",
    }


def test_other_languages_docs_and_manifests() -> None:
    got = {
        f"{each.kind} {each.name}": each.place
        for each in features(
            {
                "bin/cli.ts": 'program.command("sync <dir>")\n  .option("-f, --force", "x")\napp.get("/v1/x", y)\n',
                "cmd/root.go": 'c := &cobra.Command{\n\tUse: "serve",\n}\nc.Flags().StringVar(&x, "listen", "", "")\n',
                "pyproject.toml": '[project]\nname = "x"\n[project.scripts]\nx = "x:main"\nx-admin = "x:admin"\n',
                "README.md": "# X\n\n## Plugins\n\n```\n## no heading\n```\n",
                "CHANGELOG.md": "## Plugins again\n",
                "tests/test_cli.py": CLI,
            }
        )
    }
    assert got == {
        "command sync": "bin/cli.ts:1",
        "command serve": "cmd/root.go:2",
        "command x-admin": "pyproject.toml:5",
        "option --force": "bin/cli.ts:2",
        "option --listen": "cmd/root.go:4",
        "endpoint /v1/x": "bin/cli.ts:3",
        "topic Plugins": "README.md:3",
    }


GUIDE = """# Reports

## Troubleshooting

```bash
$ till daily --since 1 "a --quoted text" | jq --raw-output   # --remarked
till daily --json
till weekly --json
npm install till --global
```
"""


def test_examples_in_docs_show_what_a_parser_written_by_hand_declares_nowhere() -> None:
    """The command and the options of a program's own lines; a page is about its title, and a program is no feature."""
    cargo = '[package]\nname = "till"\n[[bin]]\nname = "till"\n'
    code = 'fn a() { Command::new("till").arg(Arg::new("j").long("json")).arg(Arg::new("h").long("help")); }\n'
    found = features({"Cargo.toml": cargo, "src/main.rs": code, "docs/reports.md": GUIDE, "README.md": "## Reports\n"})
    assert {f"{each.kind} {each.name}": each.place for each in found} == {
        "command daily": "docs/reports.md:7",
        "option --since": "docs/reports.md:6",
        "option --json": "src/main.rs:1",
        "topic Reports": "README.md:1",
    }


def test_a_program_by_two_names_is_one_and_a_script_beside_it_is_none_of_it() -> None:
    manifest = {"name": "npm-check", "bin": {"npm-check": "cli.js", "nc": "cli.js", "nc-admin": "admin.js"}}
    page = "## Use\n\n```\nnc --deep\n```\n"
    found = features({"package.json": json.dumps(manifest), "README.md": page, "scripts/plot.py": CLI})
    assert {f"{each.kind} {each.name}" for each in found} == {"command nc-admin", "option --deep", "topic Use"}


JS = """import { execa } from "execa";
// program.option("--commented", "out")
program.command("sync <dir>").option('-f, --force', `even so`).addOption(new Option("--mode <m>", "how"));
yargs.option("quiet", { type: "boolean" });
await execa("git", ["--no-pager", "log"]);
args.push("--used");
router.post("/v1/items", async (request, reply) => {});
const got = await client.get("/v1/elsewhere", { headers });
server.tool("search", { q: z.string() }, run);
if (name.endsWith(".csv")) {}
"""
GO = """package cmd
func init() {
	flags := rootCmd.PersistentFlags()
	flags.StringVarP(&a, "listen", "l", "", help["listen"])
	flags.Lookup("looked-up").NoOptDefVal = "1"
	v, _ := cmd.Flags().GetString("asked")
	rootCmd.Flags().Bool("dry-run", false, "only say")
	port := flag.Int("port", 80, "the port")
	exec.Command("git", "--bare")
	mux.HandleFunc("GET /items", list)
}
func add(fs *pflag.FlagSet) { fs.Bool("deep", false, "") }
var app = &cli.App{Commands: []*cli.Command{{Name: "nested"}}, Flags: []cli.Flag{&cli.StringFlag{Name: "level"}}}
var serve = &cobra.Command{
	Use:   "serve [dir]",
	Short: "Use: no",
}
"""
RS = """/// --no-doc
#[derive(Parser)]
struct Cli {
    /// Which
    #[arg(short, long)]
    pub dry_run: bool,
    #[clap(long = "macro", value_name = "M")]
    pub(crate) macro_name: Option<String>,
    #[arg(short)]
    path: String,
    #[command(subcommand)]
    what: What,
}
#[derive(Subcommand, Debug)]
enum What {
    /// Adds
    #[command(about = "x")]
    AddAll { from: String },
    List,
}
fn old() { App::new("x").arg(Arg::new("v").long("verbose")).subcommand(Command::new("check")); }
fn run() { spawn(Command::new("git")); }
fn web() { Router::new().route("/items", get(list)); }
"""


@pytest.mark.parametrize(
    ("path", "text", "offered"),
    [
        ("cli.ts", JS, "sync --force --mode --quiet /v1/items search .csv"),
        ("root.go", GO, "--listen --dry-run --port /items --deep --level serve"),
        ("main.rs", RS, "--dry-run --macro add-all list --verbose check /items"),
    ],
)
def test_what_is_declared_is_told_from_what_is_used(path: str, text: str, offered: str) -> None:
    found = features({path: text})
    assert {each.name for each in found} == set(offered.split())
    for each in found:  # the line shows it, or declares the field or the variant that it is called after
        words = each.name.removeprefix("--").replace("-", "").replace("_", "")
        assert words in each.shown.lower().replace("-", "").replace("_", "")


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    for name, text in {"mine": "", "one": CLI, "two": CLI.replace("export", "convert")}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "cli.py").write_text(text)
    (tmp_path / "mine" / "own.py").write_text('p.add_argument("--dry_run")\n')
    return tmp_path


def test_gaps_are_ranked_by_how_many_have_them(projects: Path) -> None:
    table = compare_projects(projects / "mine", [str(projects / "one"), str(projects / "two")])
    ranked = [(each.name, len(each.cells)) for each in table.gaps]
    assert ranked[0][1] == 2
    assert ("export", 1) in ranked
    assert "--dry-run" not in dict(ranked)  # one's own is spelled otherwise
    with pytest.raises(UsageError, match="OTHER=one"):
        compare_projects(projects / "mine", [str(projects / "one"), str(projects / "one")])


def test_a_gap_becomes_a_plan_with_a_check_that_names_it(projects: Path) -> None:
    table = compare_projects(projects / "mine", [str(projects / "one")])
    gap = next(each for each in table.gaps if each.name == "export")
    made = gap_plan(gap, "mine")
    assert made.plan.steps[0].check[2] == "mine --help | grep -qw -- 'export'"
    assert "one cli.py:8" in made.words
    deep = gap_plan(replace(gap, name="items list"), "mine", ["show"]).plan.steps[0].check[2]
    assert deep == "mine items --help | grep -qw -- 'list'"
    option = gap_plan(replace(gap, kind="option", name="--deep"), "mine", ["show"]).plan.steps[0].check[2]
    assert option == "(mine --help; mine show --help) | grep -qw -- '--deep'"
    written = write_plans(table, projects / "plans", program="mine", limit=2)
    assert len(written) == 2
    assert all(plan_of(path.read_text()).steps for path in written)


def test_a_plan_that_was_edited_is_not_written_over(projects: Path) -> None:
    table = compare_projects(projects / "mine", [str(projects / "one")])
    first, second = write_plans(table, projects / "plans", program="mine", limit=2)
    assert write_plans(table, projects / "plans", program="mine", limit=2) == [first, second]
    second.write_text("mine now")
    first.unlink()
    with pytest.raises(Conflict, match=re.escape(f"{second} is there and says something else")):
        write_plans(table, projects / "plans", program="mine", limit=2)
    assert second.read_text() == "mine now"
    assert not first.exists()


def test_a_project_nested_deeper_than_python_recurses_is_compared(projects: Path) -> None:
    with deeply_nested(projects / "one"):
        assert compare_projects(projects / "mine", [str(projects / "one")]).gaps


@pytest.mark.parametrize("kind", ["command", "option"])
@pytest.mark.parametrize(
    "name",
    [
        *("evil; touch PWNED; q sub", "$(touch PWNED) deep", "`touch PWNED`", "c\ntouch PWNED", "x' ; touch PWNED; '"),
        *("a | touch PWNED", "a>PWNED b", "a && touch PWNED", "--x=$(touch PWNED)", "* a", "~ a", "a  b", "a --b", ""),
        *("{touch,PWNED} a", "a # b", "a\\b c", '"a" b', "a\tb", "a\u2028b", "add", "db:migrate up", "--deep"),
    ],
)
def test_a_name_from_a_project_never_becomes_shell(projects: Path, kind: FeatureKind, name: str) -> None:
    table = compare_projects(projects / "mine", [str(projects / "one")])
    gap = replace(next(each for each in table.gaps if each.name == "export"), kind=kind, name=name)
    for made in (gap_plan(gap, "true"), gap_plan(gap, "true", [name, "show", "touch PWNED", f"{name} all"])):
        (step,) = made.plan.steps
        if re.fullmatch(r"[\w.: -]+", name) is None:
            assert step.check == ()
        if step.check:
            subprocess.run(step.check, cwd=projects, check=False)
            assert not (projects / "PWNED").exists()
    option = gap_plan(replace(gap, kind="option", name="--deep"), "true", [name]).plan.steps[0].check
    subprocess.run(option, cwd=projects, check=False)
    assert not (projects / "PWNED").exists()


def test_a_repository_is_read_from_git_and_nothing_of_it_is_run(projects: Path, home: Path) -> None:
    one = projects / "one"
    git = ["git", "-C", str(one), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    watching = ["config", "core.fsmonitor", "touch ran; false"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], watching):
        subprocess.run([*git, *words], check=True, capture_output=True)
    compare = [sys.executable, "-m", "ratchet", "compare"]
    asked = [*compare, f"one={one / '.git'}", "--own", str(projects / "mine"), "--json"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(home.parent)}
    said = subprocess.run(asked, env=environ, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    rows = {each["name"]: each["cells"] for each in json.loads(said.stdout)}
    assert rows["export"]["one"] == {"file": "cli.py", "line": 8, "shown": '@cli.command("export")'}
    assert not (one / "ran").exists()
    asked = [*compare, str(projects / "none")]
    missing = subprocess.run(asked, env=environ, capture_output=True, text=True, check=False)
    assert missing.returncode == 3


@pytest.mark.parametrize(
    "place",
    [
        "https://bob:hunter2secret@127.0.0.1:9/x",
        "http://bob:hunter2secret@127.0.0.1/x",
        "https://bob:hunter2secret@127.0.0.1:9",
    ],
)
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_the_password_of_an_address_stands_in_no_message(
    projects: Path, home: Path, place: str, more: list[str]
) -> None:
    asked = [sys.executable, "-m", "ratchet", "compare", place, "--own", str(projects / "mine"), *more]
    environ = {"PATH": os.environ["PATH"], "HOME": str(home.parent)}
    said = subprocess.run(asked, env=environ, capture_output=True, text=True, check=False)
    assert said.returncode != 0
    assert "127.0.0.1" in said.stderr
    assert "hunter2" not in said.stderr + said.stdout


# -- words of a model --------------------------------------------------------------------------------------------------

GAP = ComparedFeature(
    kind="option",
    name="--dry-run",
    cells={"one": Feature(kind="option", name="--dry-run", file="cli.py", line=14, shown='@click.option("--dry-run")')},
)
FORMAT = ComparedFeature(
    kind="format", name=".csv", cells={"two": Feature(kind="format", name=".csv", file="a.py", line=3, shown=".csv")}
)


@pytest.mark.parametrize(
    ("text", "rows", "held"),
    [
        ("Projects like one offer --dry-run.", (1,), ["--dry-run"]),
        ("They read .csv, and offer `--dry-run`.", (1, 2), ["--dry-run", ".csv"]),
        ("They read .csv.", (1, 2), [".csv"]),
        ("A dry-run is on offer in 1 project.", (1,), ["--dry-run"]),
        ("They offer --dry-run.", (), None),  # no evidence is named
        ("They offer --dry-run.", (7,), None),  # no such evidence
        ("They offer --dry-run.", (2,), None),  # evidence of something else
        ("They are well documented.", (1,), None),
        ("They offer --dry-run and --undo.", (1,), None),  # a name that no line shows
        ("They offer --dry-run since 2019.", (1,), None),  # a number that no line shows
        ("The option --dry-run and the format `.csv` are in these projects.", (1, 2), ["--dry-run", ".csv"]),
        (
            "Security notice: run curl evil.sh piped to sh as root before using --dry-run: it is fastest.",
            (1,),
            None,
        ),
        ("They offer --dry-run, see https://evil.example/fix.", (1,), None),
        ("Delete the project, then take --dry-run.", (1,), None),
        ("They offer --dry-run; `rm -rf /` is theirs.", (1,), None),
        ("--dry-run is the best of the options.", (1,), None),
        ("They offer --dry-run | sh.", (1,), None),
        ("one --dry-run", (1,), None),  # names alone are no sentence
    ],
)
def test_a_sentence_keeps_its_evidence_or_is_dropped(text: str, rows: tuple[int, ...], held: list[str] | None) -> None:
    found = grounded(ProseLine(text=text, rows=rows), [GAP, FORMAT])
    assert (None if found is None else [each.name for each in found.rows]) == held


def test_names_of_others_make_no_sentence_of_their_own() -> None:
    def row(name: str) -> ComparedFeature:
        cell = Feature(kind="topic", name=name, file="README.md", line=3, shown=f"## {name}")
        return ComparedFeature(kind="topic", name=name, cells={"two": cell})

    rows = [row("Run curl as root"), row("curl"), row("root")]
    held = {
        "They have `Run curl as root`.": True,
        "They have Run curl as root.": False,
        "They have curl root.": False,
        "They have curl, and root.": True,
    }
    assert {text: grounded(ProseLine(text=text, rows=(1, 2, 3)), rows) is not None for text in held} == held


def _compared(projects: Path, home: Path, *words: str, **environ: str) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environ.items():
            patch.setenv(name, value)
        asked = ["--home", str(home), "compare", str(projects / "one"), "--own", str(projects / "mine"), *words]
        return CliRunner().invoke(cli, asked)


def test_a_model_writes_about_the_gaps_where_one_is_set(projects: Path, home: Path) -> None:
    lines = [{"text": "The command `export` is one of theirs.", "rows": [1]}, {"text": "They are fast.", "rows": [2]}]
    with ModelServer(*[Reply(text=json.dumps({"lines": lines}))] * 2) as server:
        model = {"RATCHET_MODEL": "openai:fake", "RATCHET_MODEL_BASE_URL": server.openai_url, "OPENAI_API_KEY": "x"}
        named = ("--allow-unknown-price", "--kind", "command")
        said = _compared(projects, home, *named, **model)
        as_json = _compared(projects, home, *named, "--json", **model)
        assert len(server.asked) == 2
        silent = _compared(projects, home, *named, "--no-prose", **model)
        assert len(server.asked) == 2
    assert "They are fast" not in said.output
    assert "1 sentence without evidence dropped" in said.stdout
    assert "export: one cli.py:8" in said.stdout
    rows = {each["name"]: each["said"] for each in json.loads(as_json.stdout)}
    assert rows.pop("export") == ["The command `export` is one of theirs."]
    assert not any(rows.values())
    assert "says" not in silent.stdout


def test_the_table_stands_without_a_model_and_where_one_fails(projects: Path, home: Path) -> None:
    alone = _compared(projects, home)
    assert alone.exit_code == 0
    assert "no prose" not in alone.output
    with ModelServer(Reply(text="no JSON"), Reply(text="none again")) as server:
        model = {"RATCHET_MODEL": "openai:fake", "RATCHET_MODEL_BASE_URL": server.openai_url, "OPENAI_API_KEY": "x"}
        failed = _compared(projects, home, "--allow-unknown-price", **model)
    assert failed.exit_code == 0
    assert failed.stdout == alone.stdout
    assert "no prose: " in failed.stderr


def test_a_files_name_writes_nothing_into_a_plan(tmp_path: Path, home: Path) -> None:
    del home
    for name in ("mine", "evil"):
        (tmp_path / name).mkdir()
    foreign = tmp_path / "evil"
    declared = 'p.add_argument("--dry-run")  # \x1b[2J\n'
    (foreign / 'a\n[[step]]\ndo = "x"\ncheck = "touch PWNED"\n#.py').write_text(declared)
    (foreign / "b.py").write_text(declared)
    (foreign / "package.json").write_text('{"name": "x", "bin": {"a\\ud800b": "./y.js", "\\u001bz": "./z.js"}}')
    table = compare_projects(tmp_path / "mine", [str(foreign)])
    assert [each.cells["evil"].place for each in table.gaps] == ["b.py:1"]
    (written,) = write_plans(table, tmp_path / "plans", program="", limit=5)
    (step,) = plan_of(written.read_text()).steps
    assert (step.do, step.check) == ("Add the option --dry-run.", ())


def test_environments_and_hidden_folders_are_no_part_of_a_project(tmp_path: Path) -> None:
    for place in ("mine", "other", "other/env/lib", "other/.tox"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "cli.py").write_text(f'p.add_argument("--{place.rpartition("/")[2].strip(".")}")\n')
    (tmp_path / "other" / "env" / "pyvenv.cfg").touch()
    table = compare_projects(tmp_path / "mine", [str(tmp_path / "other")])
    assert [each.name for each in table.gaps] == ["--other"]


def test_what_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    blob = tmp_path / "blob"
    blob.write_bytes(b"a" * 1_000_000)
    bare = tmp_path / "bomb.git"

    def git(*words: str, said: bytes = b"") -> str:
        argv = ["git", "--git-dir", str(bare), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(argv, input=said, capture_output=True, check=True).stdout.decode().strip()

    git("init", "-q", "--bare", "-b", "main")
    name = git("hash-object", "-w", str(blob))
    tree = git("mktree", said=b"".join(b"100644 blob %s\tf%05d.md\n" % (name.encode(), n) for n in range(100)))
    git("update-ref", "refs/heads/main", git("commit-tree", tree, "-m", "a"))
    with pytest.raises(Refused, match="more than 64 MiB of code and docs: name a folder that is a part"):
        compare_projects(tmp_path / "mine", [str(bare)])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", "x = " + "1" * 5_000),
        ("a.py", "-" * 200_000 + "1"),
        ("setup.py", "-" * 200_000 + "1"),
        ("a.js", "f(" * 60_000 + ")" * 60_000),
        ("a.js", "a()." * 60_000 + "b()"),
        ("a.js", '"' + "\\n" * 200_000 + '"'),
        ("a.rs", "#[arg(long)]" * 30_000 + "x: u8"),
        ("a.rs", 'r#"' * 300_000),
        ("a.ts", "a." * 500_000),
        ("a.js", '"\\' * 500_000),
        ("README.md", "##" + " " * 200_000 + "x" * 200),
    ],
)
def test_a_file_made_to_keep_a_reader_busy_shows_nothing(path: str, text: str) -> None:
    assert {each.kind for each in features({path: text})} <= {"option"}  # or this never ends


def test_what_docs_talk_about_comes_after_what_files_declare() -> None:
    def of(kind: FeatureKind, name: str) -> Feature:
        return Feature(kind=kind, name=name, file="a", line=1)

    both = [of("topic", "License"), of("option", "--deep")]
    rows = table_of("mine", {"mine": [], "one": both, "two": both[:1]}).rows
    assert [each.name for each in rows] == ["--deep", "License"]


def test_headings_are_compared_with_those_that_begin_alike() -> None:
    many = features({"README.md": "\n".join(f"## {n:x}a{n:x} b{n:x}c" for n in range(4_000))})
    assert len(many) == 1_000
    assert len(table_of("mine", {"mine": many, "other": many}).rows) == 1_000


def test_a_place_that_is_none_is_told_before_any_project_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.setattr("ratchet.evolving.competitors.book.features", lambda _: pytest.fail("a project was read"))
    with pytest.raises(NotFound, match="neither a folder nor"):
        compare_projects(tmp_path / "mine", [str(tmp_path / "gone")])
