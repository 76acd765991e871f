"""Forms of secrets that redaction hides, and harmless lines that it changes.

    python benchmarks/secret_forms.py [--histories DIR] [--loghub DIR] [--show]

`data/secret_forms.txt` has nine parts: forms written before the rules were made, after they were finished, once more
after what the second part showed was mended, by another hand from public rules of scanners and the documents of
providers, a few more after that, commands and settings by another hand again, what tools print, one after what that
showed was mended, and one beside the harmless texts of `data/harmless_forms.txt`. Each is drawn eight times from
fixed seeds, one that is only a secret in seven sentences; it is hidden where no twelve characters of the secret are
left. Hidden at first sight were 78.0 % of the second part (222 forms), 91.3 % of the third (160), 83.2 % of the
fourth (342), 78.7 % of the fifth (80, half of them passwords without a name), 96.0 % of the sixth (161), 87.5 % of
the seventh (80) and 95.0 % of the eighth (80): those figures, and not today's, say what to expect of a form that
nobody thought of. The rules of names and prefixes that stood before hid 54.8, 55.6 and 79.3 % of the first three
parts.

The baseline is the rule for names alone (`password=...`), in the same run. Harmless lines are this repository's own,
and, where given, those of histories of coding agents (JSON Lines) and of loghub's logs; a line that holds an e-mail
address is changed on purpose and counted apart. Harmless forms are drawn as often as secret ones; the share that is
changed is of all draws.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from figures import Figure, at_least, at_most, publish
from ratchet.failures.redaction import named
from ratchet.failures.redaction.text import redact
from secretvalues import HARMLESS, draw, framed, parts

DRAWS = 8
ROOT = Path(__file__).resolve().parents[1]
_MADE_UP = re.compile(
    r"secret_forms|harmless_forms|test_redaction|provider_forms"
)  # files that hold values made up for redaction


def hidden_share(forms: list[str], hide: Callable[[str], str], *, show: bool = False) -> float:
    """Share of drawn texts without a trace of their secret; each form weighs the same."""
    total = 0.0
    for form in forms:
        texts = [(frame, draw_number) for frame in framed(form) for draw_number in range(DRAWS)]
        hidden = 0
        for frame, draw_number in texts:
            drawn = draw(frame, random.Random(f"{frame} {draw_number}"))
            hidden += drawn.is_hidden(hide(drawn.text))
        total += hidden / len(texts)
        if show and hidden < len(texts):
            print(f"  {hidden}/{len(texts)} hidden: {form}")
    return total / len(forms)


def changed_share(forms: list[str], hide: Callable[[str], str], *, show: bool = False) -> float:
    """Share of drawn harmless texts that are changed; each form weighs the same."""
    total = 0.0
    for form in forms:
        texts = [draw(form, random.Random(f"{form} {draw_number}")).text for draw_number in range(DRAWS)]
        changed = sum(hide(text) != text for text in texts)
        total += changed / DRAWS
        if show and changed:
            print(f"  {changed}/{DRAWS} changed: {form}")
    return total / len(forms)


def names_alone(text: str) -> str:
    return named.hide_named(text, named.lowered(text))


def repository() -> Iterator[str]:
    """Lines of this repository's files."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if not _MADE_UP.search(name):
            yield from (ROOT / name).read_text(encoding="utf-8", errors="replace").splitlines()


def histories(folder: Path) -> Iterator[str]:
    """Lines of the texts in histories."""
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                yield from _texts(json.loads(line))
            except json.JSONDecodeError:
                continue


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from value.splitlines()
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def logs(folder: Path) -> Iterator[str]:
    """Lines of log files."""
    for path in sorted(folder.rglob("*.csv")):
        yield from path.read_text(encoding="utf-8", errors="replace").splitlines()


def harmless_figures(name: str, lines: Iterator[str], *, show: bool) -> list[Figure]:
    unique = {line.strip()[:2000] for line in lines}
    changed = addresses = alone = 0
    for line in sorted(unique):
        found = redact(line)
        alone += names_alone(line) != line
        if found == line:
            continue
        if re.sub(r"\[redacted:(?!email)", "", found) == found:
            addresses += 1
        else:
            changed += 1
            if show:
                print(f"  {found[:200]!r}")
    share = 100 * changed / len(unique)
    return [
        at_most(
            f"changed of {len(unique):,} lines of {name}",
            share,
            1,
            unit="%",
            baseline=f"names alone {100 * alone / len(unique):.3f} %; with an e-mail address besides: {addresses}",
        )
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=Path, default=None, help="a folder with histories of agents, JSON Lines")
    parser.add_argument("--loghub", type=Path, default=None, help="a folder with loghub's logs as CSV")
    parser.add_argument("--show", action="store_true", help="print what was missed and what was changed")
    given = parser.parse_args()
    figures = [
        at_least(
            f"hidden of {len(forms)} forms written {part}",
            hidden_share(forms, redact, show=given.show),
            0.9,
            baseline=f"names alone {hidden_share(forms, names_alone):.3f}",
        )
        for part, forms in parts().items()
    ]
    figures += [
        at_most(
            f"changed of {len(forms)} harmless forms: {part}",
            100 * changed_share(forms, redact, show=given.show),
            5,
            unit="%",
            baseline=f"names alone {100 * changed_share(forms, names_alone):.1f} %",
        )
        for part, forms in parts(HARMLESS).items()
    ]
    figures += harmless_figures("this repository", repository(), show=given.show)
    if given.histories is not None:
        figures += harmless_figures("histories", histories(given.histories), show=given.show)
    if given.loghub is not None:
        figures += harmless_figures("logs", logs(given.loghub), show=given.show)
    publish("secret_forms", figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
