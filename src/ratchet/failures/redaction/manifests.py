"""Hides the data of Kubernetes secrets: YAML in blocks and in braces, JSON, JSON inside of JSON, listings with numbers.

What a document is says its `kind`, which may stand behind its data; so long texts are read whole, before any cut.

Lean: a hook process imports this, and only for a text that may hold such a document.
"""

from __future__ import annotations

from itertools import pairwise

from ratchet.failures.expressions import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

_QUOTE = r"\\{0,7}[\"']"
_IS_SECRET = rf"kind(?:{_QUOTE})?\s{{0,4}}:\s{{0,4}}(?:{_QUOTE})?Secret\b"
_BEGIN = r"(?:(?<![^\r\n])|(?<=\\n))"
_DOCUMENT = rf"{_BEGIN}---(?=[ \t]{{0,8}}(?:$|#|[\r\n]|\\{{1,7}}[nr]))"
_NAME = rf"(?:data|stringData)(?:{_QUOTE})?[ \t]{{0,8}}:"
_TAG = r"(?:[!&][\w!./-]{0,60}[ \t]{0,8})?"  # a type or an anchor
_BRACE = rf"(?:(?<!\w)|(?<=\\[nt])){_NAME}\s*+{_TAG}\{{"
_SEARCHED = r"(?:[A-Za-z]:(?=[\\/]))?(?:[^\s:]{1,200}[:-])?\d{1,6}[:-]"  # in front of a line that grep -n found
_LISTED = r"[ \t]{0,8}\d{1,6}(?:→|\t|\\{1,7}t)"  # in front of a line of a file that was read
_BLOCK = (
    rf"(?:{_BEGIN}|(?<=[\"'])[+-]?)(?:{_LISTED}|({_SEARCHED}))?([ \t]*+(?:-[ \t]++)?)(?:{_QUOTE})?{_NAME}"
    rf"[ \t]*+{_TAG}(?:#[^\r\n\\]{{0,400}})?"
)
_BLOCK_END = r"\r?\n|(?<!\\)(?:\\{1,7}r)?(\\{1,7})n"
_ITEM = (
    r"[\w.\"'/\\-]{1,260}[ \t]{0,8}:(?:[ \t]+|$)(?:[!&][\w!./-]{0,60}[ \t]+)?"
    r"(?:[|>][-+0-9]{0,2}[ \t]*(?:#.*)?$)?"
)
_PIECE = (
    r"(?P<space>(?:\s|\\{1,7}[nrt])++)|(?P<marked>\[redacted:[\w-]{1,20}\])|(?P<sign>[{}\[\],:])"
    r"|(?P<quote>\\{0,15}[\"'])|(?P<bare>[^\s,:{}\[\]\"'\\]+)"
)
_BARE = r"[^,{}\[\]\r\n\\]*"


def holds_manifest(text: str) -> bool:
    """Tell whether a secret of Kubernetes stands in a text."""
    return "Secret" in text and compiled(_IS_SECRET).search(text) is not None


def hide_manifests(text: str) -> str:
    """The text without the data of Kubernetes secrets. Linear in the length of the text."""
    if not holds_manifest(text):
        return text
    starts = [0, *(found.start() for found in compiled(_DOCUMENT).finditer(text)), len(text)]
    documents = (text[start:end] for start, end in pairwise(starts))
    return "".join(_without_data(each) if holds_manifest(each) else each for each in documents)


def _without_data(text: str) -> str:
    for opening, values in ((_BRACE, _in_braces), (_BLOCK, _in_block)):
        out: list[str] = []
        done = reached = 0
        for data in compiled(opening).finditer(text):
            if data.start() < reached:  # read already: to read it again for each name within would be quadratic
                continue
            for start, end in values(text, data):
                reached = end
                if end > start:
                    out += (text[done:start], "[redacted:secret]")
                    done = end
        text = "".join((*out, text[done:])) if out else text
    return text


def _in_braces(text: str, data: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The places of values between braces, at any depth: quoted ones without their quotes; and, last, where the braces
    end. What has no end goes on to the end of the text."""
    inside = ["{"]
    is_name = True
    at = data.end()
    while inside and at < len(text):
        token = compiled(_PIECE).match(text, at)
        start, at = at, token.end() if token else at + 1
        if token is None or token["space"] or token["marked"]:
            continue
        if sign := token["sign"]:
            if sign in "{[":
                inside.append(sign)
            elif sign in "}]":
                inside.pop()
            is_name = sign != ":" and inside[-1:] == ["{"]
            continue
        if token["quote"]:
            start = at
            end, at = _closing(text, at, token["quote"])
        elif is_name:
            continue
        else:
            rest = compiled(_BARE).match(text, at)
            end = at = rest.end() if rest else at
        if not is_name and end > start and not text.startswith("[redacted:", start):
            yield start, end
    yield at, at


def _closing(text: str, at: int, quote: str) -> tuple[int, int]:
    """The end of what a quote opened, and that of its closing quote. Each level of JSON in JSON doubles the
    backslashes, and adds one to a quote's."""
    depth = len(quote) - 1
    for found in compiled(rf"(?<!\\)(\\*+){quote[-1]}").finditer(text, at):
        more = len(found[1]) - depth
        if more >= 0 and more % (2 * (depth + 1)) == 0:
            return found.end() - len(quote), found.end()
    return len(text), len(text)


def _in_block(text: str, data: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The places of values in the lines that are indented by more than `data:` is: behind a name, and on lines of
    their own, as of a block or a folded value. Empty lines (in a diff, a sign alone) and remarks may stand between."""
    first = compiled(_BLOCK_END).match(text, data.end())
    if first is None:
        return
    front = _SEARCHED if data[1] else _LISTED
    escape = len(first[1] or "")  # how often the text is escaped: inside of values line ends are so once more
    line_end = rf"\r?\n|(?<!\\)(?:\\{{{escape}}}r)?\\{{{escape}}}n" if escape else r"\r?\n"
    margin, depth, at = len(data[2]), 0, first.end()
    while at < len(text):
        ending = compiled(line_end).search(text, at)
        end, after = ending.span() if ending else (len(text), len(text))
        line = compiled(rf"(?:{front})?([ \t]*+)").match(text, at, end)
        start = line.end() if line else at
        indent, said = len(line[1]) if line else 0, text[start:end].rstrip()
        at = after
        if said in ("", "+", "-", "--") or (said.startswith("#") and (not depth or indent <= depth)):
            continue
        if indent <= margin:
            return
        depth = depth or indent
        item = compiled(_ITEM).match(said) if indent <= depth else None
        value = item.end() if item else 0
        if said[value:].strip("\"'") and not said.lstrip("\"'").startswith("[redacted:", value):
            yield start + value, start + len(said)
