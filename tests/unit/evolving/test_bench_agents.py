"""Which agent a text names, and what a folder may declare."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ratchet.errors import NotFound, RatchetError, UsageError
from ratchet.evolving.bench.agents import agent_of, may_change, shown


def declared(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "agent.py").write_text("print('hi')\n")
    (folder / "ratchet-agent.toml").write_text(text)
    return folder


def test_a_folder_declares_how_it_runs_what_may_change_and_its_knobs(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    folder = declared(
        tmp_path / "agent",
        """
        command = "python agent.py {task}"
        changes = ["prompts/*.md", "agent.py"]
        check = "python -m pytest -q"
        net = "host"
        pass_env = ["MY_KEY"]
        readable = ["../models"]
        [settings]
        tone = "warm"
        steps = 4
        [knobs.steps]
        type = "range"
        low = 1
        high = 9
        integer = true
        [knobs.style]
        type = "choice"
        options = ["short", "long"]
        """,
    )
    agent = agent_of("agent", cwd=tmp_path)
    assert agent.argv == ("python", "{agent}/agent.py", "{task}")
    assert (agent.folder, agent.net, agent.pass_env) == (str(folder), "host", ("MY_KEY",))
    assert agent.readable == (str(tmp_path / "models"),)
    assert agent.own_check == ("python", "-m", "pytest", "-q")
    assert agent.settings == {"steps": 4, "style": "short", "tone": "warm"}
    assert agent.knobs["steps"]["high"] == 9
    assert agent_of(str(folder / "ratchet-agent.toml"), cwd=Path("/")) == agent


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('comand = "x"', "did you mean command"),
        ('command = "x"\nchange = []', "did you mean changes"),
        ('command = "x"\nurl = "http://a"', "command and url"),
        ("changes = []", "names none of command"),
        ("command = [", "not valid TOML"),
        ("command = 3", "list of texts"),
        ('command = ""', "empty"),
        ('command = "\'"', "split into words"),
        ('command = "x"\nnet = "all"', "the network is"),
        ('command = "x"\nchanges = ["../other/*"]', "within the folder"),
        ('command = "x"\nchanges = ["/etc/*"]', "within the folder"),
        ('command = "x"\nchanges = "a"', "list of texts"),
        ('command = "x"\nreadable = ["nowhere"]', "does not exist"),
        ('command = "x"\n[settings]\nsteps = 40\n[knobs.steps]\nlow = 1\nhigh = 9', "out of range"),
        ('command = "x"\n[knobs.steps]\nlow = 1\nhihg = 9', "did you mean high"),
        ('command = "x"\n[knobs.steps]\ntype = "dial"', "range"),
        ('command = "x"\n[knobs.steps]\ntype = "choice"\noptions = []', "options"),
        ('command = "x"\nsettings = 3', "use a table"),
        ('command = "x"\n[settings]\nat = 2026-01-01', "settings.at"),
        ('command = "x"\n[settings]\nat = nan', "settings.at"),
        ('callable = "no colon"', "module:function"),
        ('url = "ftp://x"', "no address"),
        ('url = "http://me:word@x/"', "name or password"),
    ],
)
def test_a_bad_declaration_is_refused_naming_its_file_and_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    folder = declared(tmp_path / "agent", text)
    with pytest.raises(UsageError) as error:
        agent_of(str(folder), cwd=tmp_path)
    assert said in str(error.value)


def test_a_folder_that_declares_nothing_is_told_how(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ratchet-agent\.toml"):
        agent_of(str(tmp_path), cwd=tmp_path)


@pytest.mark.parametrize("text", ["my-agnet", "my-agnet/", "./my-agnet", "/no/my-agnet", "/no/run {task}"])
def test_a_mistyped_folder_is_refused_and_not_taken_for_a_command(tmp_path: Path, text: str) -> None:
    with pytest.raises(NotFound, match="there is n"):
        agent_of(text, cwd=tmp_path)
    for command in ("true", "/bin/true", "{workdir}/solve", "./of-the-task {task}"):
        assert agent_of(command, cwd=tmp_path).argv == tuple(command.split())


def test_an_address_and_a_callable_are_known_by_their_form(tmp_path: Path) -> None:
    web = agent_of("http://127.0.0.1:8000/solve", cwd=tmp_path)
    assert (web.how, web.target, web.folder) == ("http", "http://127.0.0.1:8000/solve", "")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "agent.py").write_text("def solve(asked): ...\n")
    call = agent_of("agent:solve", cwd=tmp_path / "mine")
    assert (call.how, call.target, call.folder) == ("callable", "agent:solve", str(tmp_path / "mine"))
    assert agent_of("json:dumps", cwd=tmp_path).folder == ""
    with pytest.raises(NotFound):
        agent_of("no_such_module_here:solve", cwd=tmp_path)


def test_a_command_brings_the_folder_of_its_own_file_along(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "agent.py").write_text("")
    (mine / "rules.txt").write_text("")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "big.bin").write_text("")
    argv = f"{sys.executable} mine/agent.py --rules mine/rules.txt --data {tmp_path}/data/big.bin {{task}} {{workdir}}"
    agent = agent_of(argv, cwd=tmp_path)
    assert agent.folder == str(mine)
    assert agent.argv[1:] == (
        "{agent}/agent.py",
        "--rules",
        "{agent}/rules.txt",
        "--data",
        f"{tmp_path}/data/big.bin",
        "{task}",
        "{workdir}",
    )
    assert agent.readable == (f"{tmp_path}/data/big.bin",)
    assert "agent.py" in shown(agent)


@pytest.mark.parametrize(
    "spec", ["", "  ", "\0", "no-such-program-anywhere {task}", "'", "http://", "https:///x", "nowhere/"]
)
def test_what_names_no_agent_is_refused(tmp_path: Path, spec: str) -> None:
    with pytest.raises(RatchetError):
        agent_of(spec, cwd=tmp_path)


def test_only_declared_files_may_change_and_the_declaration_never(tmp_path: Path) -> None:
    text = 'command = "x"\nchanges = ["*.md", "prompts/**/*.txt", "lib/", "ratchet-agent.toml", "**"]'
    agent = agent_of(str(declared(tmp_path / "all", text)), cwd=tmp_path)
    for path in ("a.md", "prompts/a.txt", "prompts/x/y/a.txt", "lib/deep/x.py"):
        assert may_change(agent, path), path
    for path in ("ratchet-agent.toml", "../x.md", "/etc/passwd", "", "a/../../b.md", ".git/config"):
        assert not may_change(agent, path), path
    text = 'command = "x"\nchanges = ["*.md", "lib/"]'
    some = agent_of(str(declared(tmp_path / "some", text)), cwd=tmp_path)
    assert not may_change(some, "sub/a.md")
    assert not may_change(some, "library.py")


def test_what_is_given_beside_adds_to_what_is_declared(tmp_path: Path) -> None:
    folder = declared(tmp_path / "agent", 'command = "x"\npass_env = ["ONE"]')
    agent = agent_of(str(folder), cwd=tmp_path, net="host", pass_env=("TWO", "ONE"), readable=(Path(),))
    assert (agent.net, agent.pass_env, agent.readable) == ("host", ("ONE", "TWO"), (str(tmp_path),))


def test_a_virtual_environment_belongs_to_no_version(tmp_path: Path) -> None:
    folder = declared(tmp_path / "agent", 'command = ".venv/bin/python agent.py"')
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").write_text("")
    agent = agent_of(str(folder), cwd=tmp_path)
    assert agent.argv == (str(folder / ".venv/bin/python"), "{agent}/agent.py")
    assert str(folder / ".venv") in agent.readable


def test_a_program_that_is_installed_somewhere_is_no_folder_of_the_agent(tmp_path: Path) -> None:
    (tmp_path / "tool" / "bin").mkdir(parents=True)
    (tmp_path / "tool" / "bin" / "agent").write_text("")
    agent = agent_of(f"{tmp_path}/tool/bin/agent --fast", cwd=tmp_path)
    assert (agent.folder, agent.readable) == ("", (str(tmp_path / "tool"),))
    assert agent.argv == (str(tmp_path / "tool" / "bin" / "agent"), "--fast")


def test_an_environment_that_is_a_link_is_not_shown(tmp_path: Path) -> None:
    folder = declared(tmp_path / "agent", 'command = ".venv/bin/python agent.py"')
    (tmp_path / "home" / "bin").mkdir(parents=True)
    (tmp_path / "home" / "bin" / "python").write_text("")
    (folder / ".venv").symlink_to(tmp_path / "home")
    assert agent_of(str(folder), cwd=tmp_path).readable == ()
    assert agent_of(".venv/bin/python agent.py", cwd=folder).readable == (str(folder / ".venv/bin/python"),)


def test_settings_of_an_environment_name_no_folder_to_show(tmp_path: Path) -> None:
    folder = declared(tmp_path / "agent", 'command = ".venv/bin/python agent.py"')
    for each in (folder / ".venv" / "bin", tmp_path / "home" / "lib"):
        each.mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").write_text("")
    (folder / ".venv" / "pyvenv.cfg").write_text(f"home = {tmp_path}/home/bin\n")
    assert agent_of(str(folder), cwd=tmp_path).readable == (str(folder / ".venv"),)
