"""Reads which name a compiler, linter or interpreter does not know. Lean: hook processes import this.

Where a name comes from, or what it is called here, is a fact of that name: a finding of this kind is told apart by it
(`tsc:undefined: formatDate`), not by its rule (`TS2304`), under which every unknown name is one.
"""

from __future__ import annotations

from ratchet.failures.expressions import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MARK = "undefined: "
"""Stands before the name in such a finding's key."""
_NAME_CHARS = 60


def names_rule(key: str) -> bool:
    """Tell whether a finding's key is a rule's name, not a masked sentence or a missing name."""
    return key[:2] not in ("c:", "t:", "e:", "w:") and key[:3] != "py:" and f":{MARK}" not in key


_BELOW = 6  # lines within which javac names the symbol
_NO_OWNER = frozenset(("NoneType", "None", "undefined", "null", "never", "nil", "NilClass"))  # a value is missing

_Q, _E = "[\"'`\u2018\u201c]", "[\"'`\u2019\u201d]"
_NAME = r"(?P<name>[A-Za-z_$][\w$.:!?]{0,80})"
_QUOTED = f"{_Q}{_NAME}{_E}"
_OWNER = r"(?P<of>[A-Za-z_$][\w$.:]{0,80})"
_QUOTED_OWNER = rf"{_Q}(?:struct |class |type\[)?{_OWNER}[^\"'`\u2019\u201d\n]{{0,80}}{_E}"

# (what must stand in the sentence, the expression that finds the name and its owner). One row a wording.
_FORMS: tuple[tuple[str, str], ...] = (
    ("undefined: ", rf"^undefined: {_NAME}$"),  # Go
    (" has no field or method ", rf"undefined \(type \*?(?:[\w.-]+/)*{_OWNER}.* has no field or method {_NAME}\)$"),
    ("Cannot find name ", rf"^Cannot find name {_QUOTED}"),  # TypeScript
    (" does not exist on type ", rf"^Property {_QUOTED} does not exist on type {_Q}(?:typeof )?(?:{_OWNER}|\{{)"),
    (
        " has no exported member ",
        rf"^Module {_Q}\"?(?P<of>[^\"'`]+)\"?{_E} has no exported member (?:named )?{_Q}?{_NAME}",
    ),
    (" in this scope", rf"^cannot find [\w ,-]+ `{_NAME}` in this scope"),  # Rust
    ("failed to resolve: ", rf"^failed to resolve: use of [\w ]+ `{_NAME}`"),
    (" named `", rf"^no [\w ]+ named `{_NAME}` found for [\w ]+ `&?(?:mut )?{_OWNER}"),
    ("no field `", rf"^no field `{_NAME}` on type `&?(?:mut )?{_OWNER}"),
    ("unresolved import", rf"^unresolved import `{_NAME}`"),
    (" is not defined", rf"^(?:NameError: )?(?:name |Name )?{_QUOTED} is not defined"),  # Python, ESLint
    (" is not defined", rf"^ReferenceError: {_NAME} is not defined"),
    (
        " has no attribute ",
        rf"^(?:AttributeError: )?(?:[Mm]odule |type object )?{_QUOTED_OWNER}(?: object)? has no attribute {_QUOTED}",
    ),
    ("cannot import name ", rf"^(?:ImportError: )?cannot import name {_QUOTED} from {_QUOTED_OWNER}"),
    ("Undefined name ", rf"^Undefined name {_QUOTED}"),  # Pyright, Dart
    (" isn't defined for the type ", rf"^The [\w ]+ {_QUOTED} isn't defined for the type {_QUOTED_OWNER}"),  # Dart
    ("Undefined class ", rf"^Undefined class {_QUOTED}"),
    ("Cannot access attribute ", rf"^Cannot access attribute {_QUOTED} for class {_QUOTED_OWNER}"),
    (" is unknown import symbol", rf"^{_QUOTED} is unknown import symbol"),
    (" was not declared in this scope", rf"^{_QUOTED} was not declared in this scope"),  # C and C++
    (" undeclared", rf"^{_QUOTED} undeclared"),
    ("undeclared identifier ", rf"^use of undeclared identifier {_QUOTED}"),
    ("unknown type name ", rf"^unknown type name {_QUOTED}"),
    ("implicit declaration of function ", rf"^implicit declaration of function {_QUOTED}"),
    (" has no member named ", rf"^{_QUOTED_OWNER}.* has no member named {_QUOTED}"),
    ("no member named ", rf"^no member named {_QUOTED} in {_QUOTED_OWNER}"),
    ("undefined reference to ", rf"undefined reference to {_QUOTED}"),
    (" does not exist in the current context", rf"^The name {_QUOTED} does not exist"),  # C#
    ("type or namespace name ", rf"^The type or namespace name {_QUOTED} could not be found"),
    (" does not contain a definition for ", rf"^{_QUOTED_OWNER} does not contain a definition for {_QUOTED}"),
    ("nresolved reference", rf"^(?:error: )?[Uu]nresolved reference:? {_Q}?{_NAME}"),  # Kotlin
    (" in scope", rf"^cannot find (?:type )?{_QUOTED} in scope"),  # Swift
    (" has no member ", rf"type {_QUOTED_OWNER} has no member {_QUOTED}"),
    ("undefined function ", rf"^undefined function {_NAME}/\d"),  # Elixir
    ("undefined variable ", rf"^undefined variable {_QUOTED}"),
    (" is undefined", r"^(?:function )?(?P<name>[A-Z]\w*(?:\.\w+[!?]?)+)/\d+ is undefined"),
    ("uninitialized constant ", rf"^(?:NameError: )?uninitialized constant {_NAME}"),  # Ruby
    ("undefined local variable or method ", rf"undefined local variable or method {_QUOTED}"),
    ("undefined method ", rf"undefined method {_QUOTED} for (?:an instance of )?{_OWNER}"),
    ("Call to undefined ", r"Call to undefined \w+ (?P<name>[\w:\\]+)\("),  # PHP
)


def missing_name(message: str, below: Sequence[str] = ()) -> str:
    """The name that is not known, behind its owner's where the sentence tells one (`Cart.total`); "" of other
    findings. `below` are the lines after the sentence's own."""
    if message == "cannot find symbol":  # javac says which in a line of its own
        return _symbol(below)
    for mark, pattern in _FORMS:
        if mark not in message:
            continue
        found = compiled(pattern).search(message)
        if found is None:
            continue
        named = found.groupdict()
        owner = (named.get("of") or "").rstrip(".:")
        return "" if owner in _NO_OWNER else _joined(owner, named["name"])
    return ""


def _symbol(below: Sequence[str]) -> str:
    for line in below[:_BELOW]:
        found = compiled(r"\bsymbol:\s+\w+ ([A-Za-z_$][\w$]*)").search(line)
        if found is not None:
            return found[1]
    return ""


def _joined(owner: str, name: str) -> str:
    whole = f"{owner}.{name}" if owner and not name.startswith(owner) else name
    return whole.rstrip(".:") if len(whole) <= _NAME_CHARS else name.rstrip(".:")[:_NAME_CHARS]


def name_in(key: str) -> str:
    """The name that a finding's key says is not known, "" where it says something else."""
    return key.partition(f":{MARK}")[2]


def import_key(name: str, path: str) -> str:
    """The key under which it is known whence the files of a language import a name, by a file's ending; "" where no
    import brings it: a member of something, or nobody says in which file."""
    ending = path.replace("\\", "/").rpartition("/")[2].rpartition(".")[2]
    return f"import {ending[:_LANGUAGE_CHARS]} {name}" if ending != path and name.isidentifier() else ""


_LANGUAGE_CHARS = 2  # `ts` and `tsx`, `py` and `pyi`, `ex` and `exs` import each other's names
