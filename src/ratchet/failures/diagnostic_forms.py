"""The forms in which tools report a finding: one row a form, tried in order. Lean: hook processes import it.

A row is (tool, mark, pattern, key, near). A line is matched only if `mark` stands in it. Groups of a pattern: `msg`
(the sentence), `code` (rule or error number), `path`, `line`, `source` (the code it is about). `key` is built from
`{code}` and `{said}`, the masked message; a leading `{linter}` names the rule's owner. `near` tells where the place
stands that the line itself lacks: a pattern sought in the lines below (">...") or above ("<..."), or "" for none.
"""

from __future__ import annotations

FormRow = tuple[str, str, str, str, str]

PLACE = r"^\s{0,8}(?:at )?(?P<path>(?:[A-Za-z]:)?[^\s:()\[\]'\"]{1,300}\.\w{1,12}):(?P<line>\d{1,6})(?::\d{1,5})?"
# `severity - place - sentence - rule`, as Dart's analyzer and others write it, with whatever between them.
_SAID = r"^\s{0,8}(?:(?:error|warning|info|hint|style)\s+[-•|]\s+)?"
_AT = r"(?P<path>[^\s:•]{1,300}\.\w{1,12}):(?P<line>\d{1,6})(?::\d{1,5})?"
_BETWEEN = r"\s+[-•|]\s+"
_RULE = r"(?P<code>[a-z][a-z\d]*(?:[-_/:][a-z\d]+)+)"
_BELOW_RUST = r">^\s*(?:-->|╭▸|┌─) (?P<path>[^\s:]+):(?P<line>\d+)"
_BELOW_MIX = r">^\s*(?:│\s*)?└─ (?P<path>[^\s:]+):(?P<line>\d+)|^  (?P<path2>[\w./-]+\.exs?):(?P<line2>\d+)"
_BELOW_CREDO = r">^\s*┃\s+(?P<path>[^\s:]+\.exs?):(?P<line>\d+)"
_ABOVE_FILE = r"<^(?P<path>(?:/|\w:\\|[\w.@-]+/)?\S*\w\.(?:[cm]?[jt]sx?|vue|svelte|astro|s?css))$"
_IN_BIOME = r"^\s{0,8}(?:at )?(?P<path>[^\s:]{1,300}\.\w{1,12})(?::(?P<line>\d{1,6}):\d{1,5})?"
_ABOVE_BUN = r"<^\s{2,8}at .*\((?P<path>[^()]+):(?P<line>\d+):\d+\)$"
_ABOVE_PYTHON = r"<^\s+File \"(?P<path>[^\"\n]+)\", line (?P<line>\d+)"

FORMS: tuple[FormRow, ...] = (
    # -- linters that name their rule in the line ---------------------------------------------------------------------
    ("ruff", ".py", PLACE + r": (?P<code>[A-Z]{1,4}\d{2,4}) (?:\[\*\] )?(?P<msg>.+)$", "ruff:{code}", ""),
    ("pylint", ".py", PLACE + r": (?P<code>[CRWEF]\d{4}): (?P<msg>.+?)(?: \([\w-]+\))?$", "pylint:{code}", ""),
    ("mypy", ": error: ", PLACE + r": error: (?P<msg>.+?)\s+\[(?P<code>[a-z][a-z-]*)\]$", "mypy:{code}", ""),
    ("pyright", " - error: ", PLACE + r" - error: (?P<msg>.+?)\s*\((?P<code>report\w+)\)$", "pyright:{code}", ""),
    ("pyright", " - error: ", PLACE + r" - error: (?P<msg>(?!TS\d).+)$", "pyright:{said}", ""),
    ("pyright", "(report", r"^\s+.*\((?P<code>report\w+)\)(?P<msg>)$", "pyright:{code}", "<^"),
    (
        "rubocop",
        ": ",
        PLACE + r": [CWEFR]: (?:\[\w+\] )?(?P<code>[A-Z]\w+(?:/\w+)+): (?P<msg>.+)$",
        "rubocop:{code}",
        "",
    ),
    ("shellcheck", "[SC", PLACE + r": \w+: (?P<msg>.+?) \[(?P<code>SC\d{4})\]$", "shellcheck:{code}", ""),
    (
        "shellcheck",
        "SC",
        r"^\s*\^?-*\^? ?-*-? ?(?P<code>SC\d{4}) \(\w+\): (?P<msg>.+)$",
        "shellcheck:{code}",
        r"<^In (?P<path>\S+) line (?P<line>\d+):$",
    ),
    ("eslint", "[", PLACE + r": (?P<msg>.+?) \[(?:Error|Warning)/(?P<code>[@\w/-]+)\]$", "eslint:{code}", ""),
    (
        "eslint",
        "error",
        r"^\s+(?P<line>\d{1,6}):\d{1,5}\s+error\s+(?P<msg>.+?)\s{2,}(?P<code>@?[a-z][\w/@-]*)$",
        "eslint:{code}",
        _ABOVE_FILE,
    ),
    ("eslint", "error", r"^\s+(?P<line>\d{1,6}):\d{1,5}\s+error\s+(?P<msg>.+)$", "eslint:{said}", _ABOVE_FILE),
    ("biome", " lint/", PLACE + r" (?P<code>lint/\w+/\w+)(?P<msg>)", "biome:{code}", ""),
    (
        "biome",
        " ━",
        rf"{_IN_BIOME} (?P<code>format|assist/\w+/\w+|organizeImports)(?P<msg>)\b",
        "biome:{code}",
        "",
    ),
    ("typecheck", "(typecheck)", PLACE + r": (?P<msg>(?!: ).+) \(typecheck\)$", "c:{said}", ""),
    (
        "golangci",
        ")",
        PLACE + r": (?P<msg>(?:(?P<code>[A-Z]{1,3}\d{3,4}|[a-z]\w*(?:-\w+)+"
        r"|[a-z]+[A-Z]\w*): )?.+) \((?P<linter>[a-z][a-z0-9-]{2,30})\)$",
        "{linter}:{code}",
        "",
    ),
    # -- compilers ----------------------------------------------------------------------------------------------------
    ("tsc", "error TS", PLACE + r" - error (?P<code>TS\d+): (?P<msg>.+)$", "tsc:{code}", ""),
    (
        "tsc",
        "error TS",
        r"^(?P<path>[^\s(]+)\((?P<line>\d+),\d+\): error (?P<code>TS\d+): (?P<msg>.+)$",
        "tsc:{code}",
        "",
    ),
    (
        "csc",
        ": error ",
        r"^(?P<path>[^\s(]+)\((?P<line>\d+),\d+\): error (?P<code>[A-Z]{2,3}\d{4}): (?P<msg>.+?)(?: \[.+\])?$",
        "csc:{code}",
        "",
    ),
    ("rustc", "error[", r"^error\[(?P<code>E\d{4})\]: (?P<msg>.+)$", "rustc:{code}", _BELOW_RUST),
    ("ruff", "[", r"^(?P<code>[A-Z]{1,4}\d{2,4}) (?:\[\*\] )?(?P<msg>.+)$", "ruff:{code}", _BELOW_RUST),
    (
        "clippy",
        "clippy",
        r"^\s*= (?:note|help): .*clippy[:/]\S*?[:#](?P<code>[a-z_]+)\b(?P<msg>)",
        "clippy:{code}",
        "<^",
    ),
    (
        "gcc",
        "error: ",
        PLACE + r": (?:fatal )?error: (?P<msg>.+?) \[-W(?:error=)?(?P<code>[\w+-]+)=?\]$",
        "cc:{code}",
        "",
    ),
    ("ld", "undefined reference", r"(?P<path>[\w./-]+\.\w+):.*(?P<msg>undefined reference to .+)$", "ld:{said}", ""),
    (
        "maven",
        "[ERROR] ",
        r"^\[ERROR\] (?P<path>\S+\.\w+):\[(?P<line>\d+),\d+\] (?:error: )?(?P<msg>.+)$",
        "c:{said}",
        "",
    ),
    (
        "kotlinc",
        "e: ",
        r"^e: (?:file://)?(?P<path>\S+?\.kts?):?\(?(?P<line>\d+)[:,] ?\d+\)?:? (?P<msg>.+)$",
        "c:{said}",
        "",
    ),
    (
        "mix",
        "Error) ",
        r"^\*\* \(\w*Error\) (?P<path>[^\s:]+\.\w+):(?P<line>\d+)(?::\d+)?: (?P<msg>.+)$",
        "c:{said}",
        "",
    ),
    ("mix", "error: ", r"^\s{0,8}error: (?P<msg>.+)$", "c:{said}", _BELOW_MIX),
    ("mix", "warning: ", r"^\s{0,8}warning: (?P<msg>.+)$", "w:{said}", _BELOW_MIX),
    ("credo", "┃ [", r"^\s*┃ \[[A-Z]\] \S? ?(?P<msg>.+)$", "credo:{said}", _BELOW_CREDO),
    ("dialyzer", ".ex:", PLACE + r":(?P<code>[a-z]+(?:_[a-z]+)*)(?P<msg>)$", "dialyzer:{code}", ""),
    ("rustc", "error: ", r"^error: (?P<msg>.+)$", "c:{said}", _BELOW_RUST),
    ("javac", ": error: ", PLACE + r": (?:fatal )?error: (?P<msg>.+)$", "c:{said}", ""),
    ("mypy", ": error: ", PLACE + r": error: (?P<msg>.+)$", "c:{said}", ""),
    # -- test runners -------------------------------------------------------------------------------------------------
    (
        "pytest",
        "E  ",
        r"^E\s{2,7}(?P<msg>(?P<code>(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning)): .+)$",
        "py:{said}",
        r">^(?P<path>[^\s:]+\.py):(?P<line>\d+): ",
    ),
    ("pytest", "E  ", r"^E\s{2,7}(?P<msg>assert .+)$", "t:{said}", r">^(?P<path>[^\s:]+\.py):(?P<line>\d+): "),
    ("pytest", "FAILED ", r"^FAILED (?P<path>[^\s:]+)::\S+ - (?P<msg>.+)$", "t:{said}", ""),
    (
        "jest",
        "●",
        r"^\s+● (?P<source>\S.*)(?P<msg>)$",
        "t:{said}",
        r">\((?P<path>[^\s()]+\.[cm]?[jt]sx?):(?P<line>\d+):\d+\)$",
    ),
    (
        "vitest",
        "Error: ",
        r"^(?P<msg>(?:Assertion|Type|Reference|Range)?Error: .+)$",
        "t:{said}",
        r">^ ❯ (?P<path>[^\s:]+\.[cm]?[jt]sx?):(?P<line>\d+):\d+$",
    ),
    ("bun", "(fail) ", r"^\(fail\) (?P<source>.+?)(?P<msg>)(?: \[[\d.]+m?s\])?$", "t:{said}", _ABOVE_BUN),
    (
        "rspec",
        "Failure/Error: ",
        r"^\s+Failure/Error: (?P<source>.+)(?P<msg>)$",
        "t:{said}",
        r">^\s+# \./(?P<path>\S+\.rb):(?P<line>\d+)",
    ),
    (
        "exunit",
        "failed",
        r"^\s{4,8}(?P<msg>Assertion with .+ failed)$",
        "t:{said}",
        r"<^\s{4,6}(?P<path>\S+_test\.exs):(?P<line>\d+)$",
    ),
    ("python", ": ", r"^(?P<msg>(?:\w+\.)*[A-Z]\w*(?:Error|Exception): .+)$", "py:{said}", _ABOVE_PYTHON),
    ("pre-commit", "- hook id: ", r"^- hook id: (?P<code>[\w.-]+)(?P<msg>)$", "pre-commit:{code}", ""),
    # -- tools of infrastructure and packages -------------------------------------------------------------------------
    (
        "terraform",
        "Error: ",
        r"^\s*[│╷|] ?Error: (?P<msg>.+)$",
        "terraform:{said}",
        r">on (?P<path>\S+\.tf) line (?P<line>\d+)",
    ),
    ("docker", "failed to solve: ", r"^.*?failed to solve: (?P<msg>.+)$", "docker:{said}", ""),
    ("docker", "from daemon: ", r"^.*Error response from daemon: (?P<msg>.+)$", "docker:{said}", ""),
    ("npm", " code E", r"^npm (?:ERR!|error) code (?P<code>E\w+)(?P<msg>)$", "npm:{code}", ""),
    ("npm", "issing script", r"^npm (?:ERR!|error) (?P<msg>[Mm]issing script: .+)$", "npm:{said}", ""),
    (
        "pip",
        "ERROR: ",
        r"^ERROR: (?P<msg>(?:Could not|No matching|Cannot|Package|pip's|Directory|Invalid).+)$",
        "pip:{said}",
        "",
    ),
    ("gradle", "Execution failed", r"^(?P<msg>Execution failed for task .+)$", "gradle:{said}", ""),
    ("maven", "Failed to execute goal", r"^\[ERROR\] (?P<msg>Failed to execute goal .+)$", "maven:{said}", ""),
    ("git", " are ignored by ", r"^(?P<msg>The following paths are ignored by .+)$", "git:{said}", ""),
    ("git", "fatal: ", r"^fatal: (?P<msg>.+)$", "git:{said}", ""),
    (
        "cargo",
        "error: ",
        r"^error: (?P<msg>(?!aborting|could not compile|process didn't|unknown |test failed).+)$",
        "e:{said}",
        "",
    ),
    # -- a place, a sentence and the name of a rule, by whichever tool ------------------------------------------------
    ("rule", ":", _SAID + _AT + _BETWEEN + r"(?P<msg>.+)" + _BETWEEN + _RULE + "$", "rule:{code}", ""),
    ("rule", ":", _SAID + r"(?P<msg>.+)" + _BETWEEN + _AT + _BETWEEN + _RULE + "$", "rule:{code}", ""),
    ("rule", "]", PLACE + r":? (?:\w+: )?(?P<msg>.+) \[" + _RULE + r"\]$", "rule:{code}", ""),
    ("rule", ")", PLACE + r":? (?:\w+: )?(?P<msg>.+) \(" + _RULE + r"\)$", "rule:{code}", ""),
    (
        "rule",
        ":",
        PLACE + r":? (?:(?:error|warning):? )?(?P<code>[A-Z]{1,8}\d{2,5}(?:/[\w/-]+)?):? (?P<msg>.+)$",
        "rule:{code}",
        "",
    ),
    # -- a place and a sentence ---------------------------------------------------------------------------------------
    ("go", ".go:", PLACE + r": (?P<msg>(?!: |too many errors).+)$", "c:{said}", ""),
    (
        "place",
        ":",
        r"^(?P<path>[\w.@+/-]{1,200}\.[A-Za-z]\w{0,7}):(?P<line>\d{1,6}):\d{1,5}: (?P<msg>(?!warning|note).+)$",
        "c:{said}",
        "",
    ),
)

# A place as each family of tools writes it, down to what it puts between the place and the sentence.
PLACES = (
    *("", "_.py:1:1: ", "_.py:1:1: error: ", "_.rb:1:1: C: ", "_.py:1:1 ", "_.py:1:1 - ", "_.py:1:1 - error: "),
    *("_.ts:1:1 - error ", "_.cs(1,1): ", "_.cs(1,1): error ", "  1:1  error  ", "_.ex:1:"),
)
