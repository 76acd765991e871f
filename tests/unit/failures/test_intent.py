"""What a tool call tries is named the same however it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.failures.intent import commands, head_of, intent, is_shell

COMMANDS = {
    "git push origin y": ("git push", ""),
    "# Reply to it (it's fatal)\n  # in full\ngit push origin y": ("git push", ""),
    "cd x\n# don't build\ngit push origin y": ("git push", ""),
    "cd x && git push origin y": ("git push", ""),
    "cd /a && FOO=1 timeout 60 mix test test/foo_test.exs:12 2>&1 | tail -20": ("mix test", "test/foo_test.exs:12"),
    "sudo -u x git -C y --no-pager log | head": ("git log", ""),
    "uv run pytest a.py::t -q": ("pytest", "a.py::t"),
    "python3 -m pytest -k foo tests/a.py": ("pytest", "tests/a.py"),
    ".venv/bin/python -m pytest tests/a.py": ("pytest", "tests/a.py"),
    "poetry run pytest --tb short tests": ("pytest", "tests"),
    "pytest": ("pytest", ""),
    "bash -lc 'npm run build && npm test'": ("npm test", ""),
    "nohup time npm ci": ("npm ci", ""),
    "npm run test:unit -- src/a.test.ts": ("npm run test:unit", ""),
    "npx jest src/a.test.ts": ("jest", "src/a.test.ts"),
    "./node_modules/.bin/eslint . --fix": ("eslint", ""),
    "cargo +nightly test foo": ("cargo test", "foo"),
    "go test ./pkg/... -run TestX": ("go test", "./pkg/..."),
    "docker compose -f a.yml up -d": ("docker compose up", ""),
    "docker-compose up": ("docker compose up", ""),
    "kubectl -n ns get pods": ("kubectl get", ""),
    "gh pr create --title x": ("gh pr create", ""),
    "make -C sub test": ("make test", ""),
    "mise run lint 2>&1": ("mise run lint", ""),
    "MIX_ENV=test mix ecto.migrate": ("mix ecto.migrate", ""),
    "export A=1; ./gradlew :app:test": ("gradle :app:test", ""),
    "python manage.py test shop.tests": ("django test", "shop.tests"),
    "python scripts/x.py --a": ("python", "scripts/x.py"),
    "python -c 'import x; print(1)'": ("python -c", ""),
    "pip3 install -r requirements.txt": ("pip install", ""),
    "source .venv/bin/activate && python -m pip install foo": ("pip install", ""),
    "cat foo | grep bar": ("cat", ""),
    "grep -rn foo src | head -5": ("grep", ""),
    "ls -la /x 2>/dev/null || echo none": ("ls", ""),
    "find . -name x | xargs rm": ("rm", ""),
    "(cd a && make)": ("make", ""),
    "for i in 1 2; do curl -s localhost:$i; done": ("curl", ""),
    "cat > f.py <<EOF\nrm -rf x; git push\nEOF\npython f.py": ("python", "f.py"),
    'git add -A && git commit -m "$(cat <<\'EOF\'\nfix: "a" && b; make c\n\nEOF\n)"': ("git commit", ""),
    "": ("", ""),
    "CACHE=$(go env GOMODCACHE) && grep x $CACHE/a.go": ("grep", ""),
    "cat $(go env GOMODCACHE)/shop/shop.go | head": ("cat", ""),
    "bash -c 'CACHE=$(go env GOMODCACHE) && grep x $CACHE/a.go'": ("grep", ""),
    "for at in $(git ls-files); do cat $at; done": ("cat", ""),
    "STATUS=$(curl -s localhost)": ("curl", ""),
    "echo $(go test ./pkg)": ("go test", "./pkg"),
    "   ": ("", ""),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_shell_command_is_known_by_what_it_is_for(command: str) -> None:
    assert intent("Bash", {"command": command}) == COMMANDS[command]


@pytest.mark.parametrize(
    ("tool", "tool_input"),
    [
        ("shell", {"command": ["bash", "-lc", "cd a && git push"]}),
        ("local_shell", {"command": ["git", "push", "origin", "a branch"]}),
        ("exec_command", {"cmd": "git push"}),
        ("run_shell_command", {"command": "git push"}),
        ("execute_bash", {"command": "git push"}),
        ("shell", ["git", "push"]),
        ("Bash", "git push"),
    ],
)
def test_every_agents_shell_is_one(tool: str, tool_input: object) -> None:
    assert is_shell(tool)
    assert intent(tool, tool_input) == ("git push", "")


@pytest.mark.parametrize(
    ("tool", "tool_input", "expected"),
    [
        ("Read", {"file_path": "/p/f.py"}, ("read", "/p/f.py")),
        ("Edit", {"file_path": "/p/f.py", "old_string": "a"}, ("edit", "/p/f.py")),
        ("MultiEdit", {"file_path": "/p/f.py"}, ("edit", "/p/f.py")),
        ("NotebookEdit", {"notebook_path": "/p/n.ipynb"}, ("edit", "/p/n.ipynb")),
        ("Write", {"file_path": "/p/f.py"}, ("write", "/p/f.py")),
        ("read_file", {"absolute_path": "/p/f.py"}, ("read", "/p/f.py")),
        ("str_replace_editor", {"command": "view", "path": "/x"}, ("read", "/x")),
        ("str_replace_editor", {"command": "str_replace", "path": "/x"}, ("edit", "/x")),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a/b.py\n@@"}, ("edit", "a/b.py")),
        ("shell", {"command": ["apply_patch", "*** Begin Patch\n*** Add File: a/b.py\n"]}, ("edit", "a/b.py")),
        ("mcp__github__create_pull_request", {"title": "x"}, ("mcp__github__create_pull_request", "")),
        ("WebFetch", {"url": "https://example.org"}, ("webfetch", "https://example.org")),
        ("Task", {"subagent_type": "Explore", "prompt": "x"}, ("task", "Explore")),
        ("Grep", {"pattern": "x"}, ("grep", "")),
    ],
)
def test_other_tools_are_known_by_verb_and_file(tool: str, tool_input: object, expected: tuple[str, str]) -> None:
    assert intent(tool, tool_input) == expected


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)
SHELL_TEXT = st.text(alphabet="ab -=&|;<>()'\"\\$`#\n/.EOF{}!", max_size=120)


@given(st.sampled_from(["Bash", "shell", "Edit", "apply_patch", "Task", "mcp__x", "", None, 3]), ANYTHING)
def test_any_input_gets_an_answer(tool: object, tool_input: object) -> None:
    head, target = intent(tool, tool_input)
    assert isinstance(head, str)
    assert isinstance(target, str)


@given(SHELL_TEXT)
def test_any_command_gets_an_answer_and_the_same_one_inside_a_shell(command: str) -> None:
    head, target = intent("Bash", {"command": command})
    assert isinstance(head, str)
    assert intent("Bash", {"command": command}) == (head, target)
    if not set(command) & set("'\\\n<#"):
        assert intent("shell", {"command": ["bash", "-lc", command]}) == (head, target)


PASSWORD = "hun" + "ter2pw"


@pytest.mark.parametrize(
    "command",
    [
        f"https://bob:{PASSWORD}@git.example.com",
        f"mysql -p{PASSWORD} app",
        f"cd x && TOKEN=abc postgres://app:{PASSWORD}@db/app",
        f"bash -lc 'https://bob:{PASSWORD}@git.example.com'",
        f"pytest https://bob:{PASSWORD}@git.example.com/x.py",
    ],
)
@pytest.mark.parametrize("as_list", [False, True])
def test_no_part_of_a_secret_names_what_a_command_tries(command: str, as_list: bool) -> None:
    given = {"command": ["bash", "-lc", command] if as_list else command}
    assert PASSWORD not in " ".join(intent("Bash", given))


def test_a_url_that_is_fetched_keeps_no_secret_where_it_is_cut() -> None:
    url = f"https://example.com/{'a' * 460}?access_token=" + "9f8e7d6c5b4a" * 4
    assert "9f8e" not in intent("WebFetch", {"url": url})[1]
    assert intent("WebFetch", {"url": "https://example.com/a"}) == ("webfetch", "https://example.com/a")


def test_what_follows_a_long_text_in_a_command_still_counts() -> None:
    assert intent("Bash", {"command": "cat > a <<'EOF'\n" + "line of text\n" * 2000 + "EOF\npytest a.py"}) == (
        "pytest",
        "a.py",
    )


@pytest.mark.parametrize(
    ("command", "heads"),
    [
        ("CACHE=$(go env GOMODCACHE) && grep x $CACHE/a.go", ["go env", "grep"]),
        ("AT=$(go env GOMODCACHE)/github.com/shop@* && ls $AT", ["go env", "ls"]),
        ("grep x $(go env GOMODCACHE)/shop/shop.go", ["grep", "go env"]),
        ("git add $(git ls-files -m) && make", ["git add", "git ls-files", "make"]),
        ("git -C $(pwd)/shop status", ["git status", "pwd"]),
        ("for at in a b; do cat $at; done", ["cat"]),
        ("for at in $(git log --format=%h -3); do git show $at; done", ["git log", "git show"]),
        ("A=$(git log -1 | head -1) B=$(date -u) make it", ["make it", "git log", "head", "date"]),
        ("AT=`git log -1`; echo $AT", ["git log", "echo"]),
        ("echo $((1 + (2 * 3))) && ls", ["echo", "ls"]),
        ("echo '$(rm x)' \"$(rm y)\" && ls", ["echo", "ls"]),
        ("(cd shop && make test) || ls", ["cd", "make test", "ls"]),
        ("echo $(echo $(git status", ["echo", "echo", "git status"]),
    ],
)
def test_what_a_substitution_runs_is_a_command_and_its_rest_is_none(command: str, heads: list[str]) -> None:
    assert [head_of(words)[0] for words, _ in commands(command)] == heads
