"""Each finding of a tool's output is told apart: by its rule or its masked message, with its place and its code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.lessons.mining.diagnostics import diagnostics, keys_of, masked

# What the tools print, each with the findings in it: (key, file, line).
OUTPUTS: dict[str, tuple[str, list[tuple[str, str, int]]]] = {
    "golangci-lint": (
        "[lint] $ golangci-lint run ./...\n"
        "cmd/cli/setup.go:653:9: error returned from external package is unwrapped: sig: func a.b/c.F(silent bool) (int, error) (wrapcheck)\n"
        "\treturn err\n\t       ^\n"
        "cmd/cli/session.go:254:2: G104: Errors unhandled (gosec)\n\titer.ForEach(func(c *object.Commit) error {\n"
        "cmd/cli/resume.go:243:30: unused-parameter: parameter 'repo' seems to be unused, consider removing or renaming it as _ (revive)\n"
        "cmd/cli/x.go:12:2: ifElseChain: rewrite if-else to switch statement (gocritic)\n"
        "4 issues:\n* gocritic: 1\n* gosec: 1\n* revive: 1\n* wrapcheck: 1\n[lint] ERROR task failed",
        [
            ("wrapcheck", "setup.go", 653),
            ("gosec:G104", "session.go", 254),
            ("revive:unused-parameter", "resume.go", 243),
            ("gocritic:ifElseChain", "x.go", 12),
        ],
    ),
    "golangci-lint, its head cut off": (
        '\tgitInit := exec.Command("git", "init")\n\t                       ^\n2 issues:\n* noctx: 2\n[lint] ERROR task failed',
        [("noctx", "", 0)],
    ),
    "golangci-lint before it can lint": (
        "cmd/cli/auto.go:1: : # a.io/cli/cmd [a.io/cli/cmd.test]\ncmd/cli/clean.go:297:12: undefined: errors (typecheck)\n1 issues:\n* typecheck: 1",
        [("c:undefined: errors", "clean.go", 297)],
    ),
    "go build": (
        "# a.io/cli/strategy\ncmd/cli/strategy.go:201:14: undefined: checkpoint\n./main.go:5:2: \"fmt\" imported and not used",
        [("c:undefined: checkpoint", "strategy.go", 201), ("c:<> imported and not used", "main.go", 5)],
    ),
    "go test": (
        "--- FAIL: TestTotal (0.00s)\n    hooks.go:155: Hook output: 2026/01/12 15:18:40 INFO stop component=hooks\n"
        "    cart_test.go:20: total = 3, want 4\nFAIL\nFAIL\ta.io/cart\t0.01s",
        [("t:total = #, want #", "cart_test.go", 20)],
    ),
    "gcc": (
        "a.c: In function \u2018main\u2019:\na.c:4:18: error: \u2018missing\u2019 undeclared (first use in this function)\n"
        '    4 |   printf("%d\\n", missing);\n      |                  ^~~~~~~\n'
        "a.c:3:7: error: unused variable \u2018unused\u2019 [-Werror=unused-variable]\n    3 |   int unused = 3;\n",
        [("c:<> undeclared (first use in this function)", "a.c", 4), ("cc:unused-variable", "a.c", 3)],
    ),
    "the linker": (
        "/usr/bin/ld: /tmp/ccN0uGv3.o: in function `main':\nb.c:(.text+0x5): undefined reference to `helper'\ncollect2: error: ld returned 1 exit status",
        [("ld:undefined reference to <>", "b.c", 0)],
    ),
    "clang": (
        "main.cpp:7:3: error: use of undeclared identifier 'foo'\n  foo();\n  ^\n1 error generated.",
        [("c:use of undeclared identifier <>", "main.cpp", 7)],
    ),
    "rustc": (
        "error[E0425]: cannot find value `foo` in this scope\n --> src/main.rs:1:44\n  |\n1 | fn main(){ foo }\n  |            ^^^ not found in this scope\n\n"
        "For more information about this error, try `rustc --explain E0425`.\nerror: could not compile `z` (bin \"z\") due to 1 previous error",
        [("rustc:E0425", "main.rs", 1)],
    ),
    "clippy": (
        "error: unneeded `return` statement\n --> src/main.rs:1:17\n  |\n1 | fn f() -> i32 { return 5; }\n  |                 ^^^^^^^^\n  |\n"
        "  = help: for further information visit https://rust-lang.github.io/rust-clippy/rust-1.95.0/index.html#needless_return\n"
        '  = note: `-D clippy::needless-return` implied by `-D warnings`\nerror: could not compile `z` (bin "z") due to 1 previous error',
        [("clippy:needless_return", "main.rs", 1)],
    ),
    "cargo": (
        "error: could not find `Cargo.toml` in `/w/g` or any parent directory",
        [("e:could not find <> in <> or any parent directory", "", 0)],
    ),
    "javac": (
        'A.java:1: error: incompatible types: String cannot be converted to int\n    int x = "s";\n            ^\n1 error',
        [("c:incompatible types: String cannot be converted to int", "A.java", 1)],
    ),
    "maven": (
        "[INFO] Compiling 3 source files\n[ERROR] COMPILATION ERROR :\n"
        "[ERROR] /w/shop/src/main/java/Cart.java:[10,5] cannot find symbol\n  symbol:   class List",
        [("c:cannot find symbol", "Cart.java", 10)],
    ),
    "gradle with Kotlin": (
        "> Task :app:compileKotlin FAILED\ne: file:///w/shop/src/Cart.kt:12:9 Unresolved reference 'total'.\n\n"
        "FAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':app:compileKotlin'.",
        [("c:Unresolved reference <>", "Cart.kt", 12), ("gradle:Execution failed for task <>", "", 0)],
    ),
    "tsc": (
        "a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\na.ts(2,1): error TS2304: Cannot find name 'foo'.",
        [("tsc:TS2322", "a.ts", 1), ("tsc:TS2304", "a.ts", 2)],
    ),
    "tsc in colour": (
        "\x1b[96ma.ts\x1b[0m:\x1b[93m1\x1b[0m:\x1b[93m7\x1b[0m - \x1b[91merror\x1b[0m\x1b[90m TS2322: \x1b[0mType 'string' is not assignable to type 'number'.\n\n"
        '\x1b[7m1\x1b[0m const n: number = "a";',
        [("tsc:TS2322", "a.ts", 1)],
    ),
    "eslint": (
        "\n/w/shop/src/a.js\n  2:7  error  Expected '===' and instead saw '=='  eqeqeq\n  2:19  error  'z' is assigned a value but never used  @typescript-eslint/no-unused-vars\n\n"
        "\u2716 2 problems (2 errors, 0 warnings)",
        [("eslint:eqeqeq", "a.js", 2), ("eslint:@typescript-eslint/no-unused-vars", "a.js", 2)],
    ),
    "jest": (
        "FAIL ./sum.test.js\n  \u25cf cart \u203a total\n\n    expect(received).toEqual(expected) // deep equality\n\n"
        "    > 2 | describe('cart', () => {})\n\n      at Object.toEqual (sum.test.js:2:62)\n",
        [("t:expect(received)<> // deep equality", "sum.test.js", 2)],
    ),
    "vitest": (
        " FAIL  v.test.ts > adds\nAssertionError: expected 2 to be 3 // Object.is equality\n\n- Expected\n+ Received\n\n \u276f v.test.ts:2:35\n      2| test('adds')",
        [("t:AssertionError: expected # to be # // <> equality", "v.test.ts", 2)],
    ),
    "pytest": (
        "    def test_import():\n>       import nosuch\nE       ModuleNotFoundError: No module named 'nosuch'\n\ntest_a.py:6: ModuleNotFoundError\n"
        "=== short test summary info ===\nFAILED test_a.py::test_import - ModuleNotFoundError: No module named 'nosuch'\n1 failed in 0.05s",
        [("py:ModuleNotFoundError: No module named <>", "test_a.py", 6)],
    ),
    "python": (
        'Traceback (most recent call last):\n  File "/w/app.py", line 3, in <module>\n    import yaml\nModuleNotFoundError: No module named \'yaml\'',
        [("py:ModuleNotFoundError: No module named <>", "app.py", 3)],
    ),
    "mypy": (
        'x.py:3: error: Incompatible return value type (got "int", expected "str")  [return-value]\nFound 1 error in 1 file (checked 1 source file)',
        [("mypy:return-value", "x.py", 3)],
    ),
    "ruff": (
        "F401 [*] `os` imported but unused\n --> x.py:1:8\n  |\n1 | import os\n  |        ^^\n\nFound 1 error.",
        [("ruff:F401", "x.py", 1)],
    ),
    "ruff in lines": ("x.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.", [("ruff:F401", "x.py", 1)]),
    "pyright": (
        '/w/x.py\n  /w/x.py:3:12 - error: Type "int" is not assignable to return type "str" (reportReturnType)\n1 error, 0 warnings, 0 informations',
        [("pyright:reportReturnType", "x.py", 3)],
    ),
    "pyright in two lines": (
        '  /w/x.py:4:8 - error: Cannot access attribute "foo" for class "str"\n    Attribute "foo" is unknown (reportAttributeAccessIssue)\n1 error',
        [("pyright:reportAttributeAccessIssue", "x.py", 4)],
    ),
    "rspec": (
        "  1) Cart adds\n     Failure/Error: expect(cart.total).to eq(4)\n\n       expected: 4\n            got: 3\n     # ./spec/cart_spec.rb:7:in 'block'\n",
        [("t:expected: #", "cart_spec.rb", 7)],
    ),
    "rubocop": (
        "app/cart.rb:3:5: C: [Correctable] Style/StringLiterals: Prefer single-quoted strings.\n    puts \"x\"\n         ^^^",
        [("rubocop:Style/StringLiterals", "cart.rb", 3)],
    ),
    "mix compile": (
        "    error: undefined function total/1 (expected Shop.Cart to define such a function)\n    \u2502\n  5 \u2502     total(cart)\n    \u2502     ^^^^^\n    \u2502\n"
        "    \u2514\u2500 lib/shop/cart.ex:5:5: Shop.Cart.show/1\n",
        [("c:undefined function <> (expected <> to define such a function)", "cart.ex", 5)],
    ),
    "mix test": (
        "  1) test adds (Shop.CartTest)\n     test/shop/cart_test.exs:5\n     Assertion with == failed\n     code:  assert total == 4\n     left:  3\n",
        [("t:Assertion with == failed", "cart_test.exs", 5)],
    ),
    "credo": (
        "┃ [R] → Modules should have a @moduledoc tag.\n┃       lib/shop/cart.ex:1:11 #(Shop.Cart)\n",
        [("credo:Modules should have a @moduledoc tag", "cart.ex", 1)],
    ),
    "shellcheck": (
        "\nIn s.sh line 2:\nrm $1\n   ^-- SC2086 (info): Double quote to prevent globbing and word splitting.\n\nIn s.sh line 3:\ncd /tmp\n"
        "^-----^ SC2164 (warning): Use 'cd ... || exit' or 'cd ... || return' in case cd fails.",
        [("shellcheck:SC2086", "s.sh", 2), ("shellcheck:SC2164", "s.sh", 3)],
    ),
    "shellcheck in lines": (
        "s.sh:2:4: note: Double quote to prevent globbing and word splitting. [SC2086]",
        [("shellcheck:SC2086", "s.sh", 2)],
    ),
    "terraform": (
        "\u2577\n\u2502 Error: Unsupported argument\n\u2502\n\u2502   on main.tf line 2, in resource \"null_resource\" \"x\":\n\u2502    2:   foo = 1\n\u2575",
        [("terraform:Unsupported argument", "main.tf", 2)],
    ),
    "docker": (
        "#4 ERROR: process did not complete\nERROR: failed to solve: nothing:latest: failed to resolve source metadata",
        [("docker:<>: failed to resolve source metadata", "", 0)],
    ),
    "npm": (
        'npm error Missing script: "nope"\nnpm error\nnpm error To see a list of scripts, run:\nnpm error   npm run',
        [("npm:Missing script: <>", "", 0)],
    ),
    "npm's resolver": (
        "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error A complete log of this run can be found in: /x",
        [("npm:ERESOLVE", "", 0)],
    ),
    "pip": (
        "ERROR: Could not find a version that satisfies the requirement nosuch-zz (from versions: none)\nERROR: No matching distribution found for nosuch-zz",
        [
            ("pip:Could not find a version that satisfies the requirement nosuch-zz (from versions: none)", "", 0),
            ("pip:No matching distribution found for nosuch-zz", "", 0),
        ],
    ),
    "git": (
        "fatal: not a git repository (or any of the parent directories): .git",
        [("git:not a git repository (or any of the parent directories): <>", "", 0)],
    ),
    "a command's own error above its usage": (
        "unknown flag: --stat\n\nUsage:  gh pr diff [<number> | <url> | <branch>] [flags]\n\nFlags:\n      --name-only   Display only names of changed files",
        [("e:unknown flag: --stat", "", 0)],
    ),
    "usage alone": ("Usage:\n  shop list [flags]\n\nFlags:\n  -h, --help   help for list", [("e:Usage: shop list [flags]", "", 0)]),
}


@pytest.mark.parametrize("tool", OUTPUTS)
def test_the_findings_of_a_tool_are_told_apart(tool: str) -> None:
    output, expected = OUTPUTS[tool]
    assert [(each.key, each.name, each.line) for each in diagnostics(output)] == expected


def test_the_code_that_a_tool_quotes_is_kept() -> None:
    output, _ = OUTPUTS["golangci-lint"]
    assert diagnostics(output)[0].source.strip() == "return err"
    assert diagnostics(OUTPUTS["rustc"][0])[0].source == "fn main(){ foo }"
    assert diagnostics(OUTPUTS["golangci-lint, its head cut off"][0])[0].source == 'gitInit := exec.Command("git", "init")'


def test_what_an_editor_repeats_of_its_input_is_no_finding() -> None:
    text = "String to replace not found in file.\nString: return fmt.Errorf(\n}"
    assert keys_of(text) == ["e:String to replace not found in file"]


def test_a_message_is_masked_to_what_its_cause_shares() -> None:
    assert masked("cannot use cp (variable of type strategy.Checkpoint) as string") == masked(
        "cannot use cp (variable of type store.Row) as string"
    )
    assert masked("undefined: strconv") != masked("undefined: errors")
    assert masked("unknown flag: --stat") != masked("unknown flag: --json")


@given(st.text(max_size=400) | st.text(alphabet="ab1:/.-()[]\n E", max_size=400))
def test_any_text_has_findings_or_none(text: str) -> None:
    for each in diagnostics(text):
        assert each.key
        assert each.line >= 0
