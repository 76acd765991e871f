"""Finds the memory of a failure among many, and judges whether it is sure enough to be handed to an agent.

Ranked by jK: the share of rarity that two texts have in common, `common / (I(asked) + I(known) - common)`, with
`I` the sum of `idf(t) = ln((N + 1) / (df + .5))` over features (`failures.features`), which is ln(1 + (N - df + .5) /
(df + .5)). Judged apart from that, since what is nearest need not be near: by how alike the masked texts are
(`ranking.compare`) and by how many different causes would fit as well. An equal signature makes two texts alike, and
no more: where two pieces of advice stand under it they are told apart by jK or by their evidence, else nothing is sure.

The form of the text decides how much is asked for (thresholds: `Bars`); they were chosen on half of the sets of
`benchmarks/recall.py` and are replaced by those that this home's own memories give (`lessons.calibration`).
Lean: hook processes import this.
"""

from __future__ import annotations

from math import log

from ratchet.failures.excerpt import error_lines
from ratchet.failures.expressions import compiled
from ratchet.failures.features import MASKED, features_in, features_of, telling_of
from ratchet.failures.signature import template_of
from ratchet.lessons.ranking import Text, compare, evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ratchet.records import Row

CALIBRATED = "recall"
"""The row of table `meta` that holds the thresholds."""
SOUGHT = 24  # features by which candidates are searched: the rarest, and more while few memories have these
MET = 768  # rows that have one of them, in all, from which no more are taken: one long memory has dozens for itself
STEPS = 3_000  # rows that have one of them, in all: what a search may cost
SEARCHES = 4  # of one text, each by the next rarest features, while few rows are found
CANDIDATES = 32  # ranked, out of those that a search found
COMPARED = 8  # of these, the nearest, that are compared in full: what a search costs most
FITS = 0.84  # how alike a text must be to count as a cause that fits
_AS_WELL = 0.95  # a share of the best: alike as this, another cause fits as well
_ALL = 0.98
_WORTH = 0.5  # of the most that any shares with the text, for a comparison in full
_AS_MUCH = 0.8  # of what the best shares with the text: a cause that explains less of it fits less well
_TRACES_APART = 1.5  # times as near as any other cause: a traceback's; of those unknown one of fifty is, at a jK of .3
_APART = 0.05  # of jK between two lessons under one signature: less tells them not apart
_PROVEN_BETTER = 0.2  # difference of `ranking.evidence` that decides between two remedies for one text
_KEYS_SHARE = 0.3  # of a rank that common findings may add to jK: a linter's rule, a compiler's message
_GRAMS_SHARE = 0.3  # ... and common trigrams of the masked texts
POSSIBLE = 0.1  # jK below which a memory is not worth a look
_NAMES = 8
_LINES, _TELLING = 4, 6  # error lines of a traceback; features of one that says more than the name of an exception
_QUOTED = compiled(r"(['\"`])([\w.@\-]{1,60})\1")
_TRACE = compiled(
    r"""(?m)Traceback \(most recent call last|^E {3,}\S|^\s*File "[^"\n]+", line \d|^\tat \S|^ {2,8}at \S+ ?\("""
    r"|panicked at|^goroutine \d|^\S+\.py:\d+: "
)


class Bars:
    """Thresholds in [0, 1]: how alike (`line`, `output`) and how near by jK (`trace`, `whole`) a memory must be."""

    __slots__ = ("line", "output", "trace", "whole")

    def __init__(self, line: float = 0.98, output: float = 0.90, trace: float = 0.60, whole: float = 0.92) -> None:
        self.line = line
        self.output = output
        self.trace = trace
        self.whole = whole

    @classmethod
    def of(cls, kept: Mapping[str, object]) -> Bars:
        """Those that are kept, for the rest those that come with Ratchet."""
        bars = cls()
        for name in cls.__slots__:
            value = kept.get(name)
            if isinstance(value, float):
                setattr(bars, name, value)
        return bars


class Sought:
    """A text that is asked about, redacted, made ready: `whole` as it is, `said` what tells of the failure. `form` is
    "line", "output", "trace", or "passage" of a longer text."""

    __slots__ = ("features", "form", "said", "template", "text", "whole")

    def __init__(self, said: str, form: str = "") -> None:
        self.whole = said
        self.said = telling_of(said)
        self.template = template_of(self.said)
        self.features = features_of(self.said)
        self.text = Text(self.template)
        self.form = form or form_of(self.said)

    def lines(self) -> list[str]:
        """The masked lines by which a traceback says its error, of those that say more than the name of one: a memory
        that is just this line is about it."""
        if self.form != "trace":
            return []
        lines = [line.strip() for line in self.said.rstrip().split("\n")]
        told = [line[1:].strip() for line in lines if line.startswith("E ")] + lines[-1:]
        masked = [template_of(line) for line in told[-_LINES:]]
        return [line for line in masked if len(features_in(line)) >= _TELLING]


class Hit:
    """A memory that was looked at: `near` is jK, `alike` the similarity of the masked texts, both in [0, 1];
    `common` is the rarity of what they share, `holds` says that it is all of the text, `said` that it is a
    line of it, word for word, `found` that both show the same finding; `rank` orders it among others."""

    __slots__ = ("alike", "common", "found", "holds", "near", "rank", "row", "said", "same")

    def __init__(self, row: Row, near: float, common: float, same: bool) -> None:
        self.row = row
        self.common = common
        self.holds = False
        self.said = False
        self.found = False
        self.rank = near
        self.near = near
        self.alike = float(same)
        self.same = same

    @property
    def listed(self) -> bool:
        """Tell whether a person who asks should see it."""
        return self.near >= POSSIBLE or self.same or self.found


class Judged:
    """Judgement of what was found: `sure` may be handed to an agent, `possibly` is for who asks, nearest first.
    `silent` tells why nothing is sure: "" (something is), "unlike", "ambiguous"."""

    __slots__ = ("possibly", "silent", "sure")

    def __init__(self, sure: list[Hit], possibly: list[Hit], silent: str) -> None:
        self.sure = sure
        self.possibly = possibly
        self.silent = silent

    @property
    def merit(self) -> tuple[bool, bool, float]:
        """Orders judgements of several passages of one text: what is sure first, then what shows a finding that is
        remembered, which no output around it does by chance, then what is near and much."""
        best = (self.sure or self.possibly)[:1]
        return (
            bool(self.sure),
            any(hit.found for hit in best),
            max([hit.rank * hit.common for hit in best], default=0.0),
        )


def foremost(told: Sequence[Judged]) -> Judged:
    """The judgement of a text out of those of its passages: the best one's, and the nearest memories of each passage in
    turn, for what was meant may be any of them."""
    ordered = sorted(told, key=lambda each: each.merit, reverse=True)
    best = ordered[0]
    listed = [[hit for hit in each.possibly if hit.listed] for each in ordered]
    turns = [hits[at] for at in range(max(map(len, listed))) for hits in listed if at < len(hits)]
    seen: dict[str, Hit] = {}
    for hit in turns:
        seen.setdefault(str(hit.row["id"]), hit)
    return Judged(best.sure, list(seen.values()), best.silent)


def quoted_names(text: str) -> list[str]:
    """The single words that an error text quotes (a module, a key, a branch), which its signature leaves out; kept as
    `names` with a lesson, they tell apart what shares a signature."""
    quoted = _QUOTED.findall(error_lines(text))
    return list(dict.fromkeys([name for _, name in quoted if not name.isdigit()]))[:_NAMES]


def form_of(said: str) -> str:
    if _TRACE.search(said):
        return "trace"
    return "output" if "\n" in said.strip() else "line"


def rarity(counts: Mapping[str, int], term: str) -> float:
    """Weigh how much a feature tells; `counts` as `Store.spread` gives them."""
    return log((counts.get("", 0) + 1) / (counts.get(term, 0) + 0.5))


def sought(features: Iterable[str], counts: Mapping[str, int]) -> dict[str, float]:
    """The features to search by with their weights: the rarest that any memory has, as many as may be looked at."""
    chosen: dict[str, float] = {}
    left, met = STEPS, 0
    for term in sorted([each for each in features if each in counts], key=lambda each: (counts[each], each)):
        left -= counts[term]
        if chosen and (left < 0 or (len(chosen) >= SOUGHT and met >= MET)):
            break
        chosen[term] = rarity(counts, term)
        met += counts[term]
    return chosen


def gathered(
    features: Iterable[str],
    counts: Mapping[str, int],
    near: Callable[[Mapping[str, float], int], Iterable[Row]],
    limits: Sequence[int],
) -> list[Row]:
    """Rows that share the rarest features of a text, as `near` finds those that may be told, within each of the
    `limits` until they are enough. Memories that may not be told are counted, too: where dozens are about one failure,
    the rarest features are theirs alone, and what may be told of it is found by the next."""
    found: dict[str, Row] = {}
    left = [*features]
    for _ in range(SEARCHES):
        chosen = sought(left, counts)
        for limit in limits if chosen else ():
            found |= {str(row["id"]): row for row in near(chosen, limit)}
            if len(found) >= CANDIDATES // 2:
                return [*found.values()]
        left = [each for each in left if each not in chosen and counts.get(each, STEPS) < STEPS]
        if max([counts[each] for each in chosen], default=0) <= len(found):
            break  # no memory that may not be told hides any
    return [*found.values()]


def judged(
    asked: Sought,
    rows: Sequence[Row],
    same: Collection[str],
    spread: Callable[[Sequence[str]], Mapping[str, int]],
    bars: Bars,
    names: Collection[str] = (),
) -> Judged:
    """Rank the rows of memories and judge the nearest. `same` are ids of those whose signature or pattern is that of
    the text; `names` what it quotes."""
    hits = _ranked(asked, rows, same, spread)
    hits.sort(key=lambda hit: _order(hit, names))
    if not hits:
        return Judged([], [], "unlike")
    top = hits[0]
    rivals = _rivals(asked.form, top, hits, names)
    if rivals:
        best = _proven(top, rivals, names)
        if best is None:
            return Judged([], hits, "ambiguous" if top.listed else "unlike")
        top = best
    if not sure(asked.form, top, bars):
        return Judged([], hits, "unlike")
    agreed = [each for each in hits if each is not top and _advice(each) == _advice(top) and each.alike >= FITS]
    others = [each for each in hits if each is not top and each not in agreed]
    return Judged([top, *agreed], others, "")


def sure(form: str, hit: Hit, bars: Bars) -> bool:
    """Tell whether a memory is near enough to a text of this form."""
    if hit.near >= bars.whole or hit.said:
        return True
    if form == "passage":
        return False  # among hundreds of lines some are always much like a memory
    if form == "line":
        return hit.alike >= bars.line
    if form == "trace":
        return hit.near >= bars.trace
    return hit.alike >= bars.output


def _ranked(
    asked: Sought, rows: Sequence[Row], same: Collection[str], spread: Callable[[Sequence[str]], Mapping[str, int]]
) -> list[Hit]:
    held = [(row, _features(row)) for row in rows]
    core_terms = features_in(asked.template)
    terms = set(asked.features).union(core_terms, *[features for _, features in held])
    counts = spread([*terms, ""])
    tells = {n: log((counts.get("", 0) + 1) / (n + 0.5)) for n in {0, *counts.values()}}  # `rarity`, once a count
    weights = {term: tells[counts.get(term, 0)] for term in terms}
    weights[MASKED] = 0.0  # a mark, and no word of the text
    whole_text = {term: weights[term] for term in asked.features}
    core = {term: weights[term] for term in core_terms}
    hits = []
    for row, features in held:
        own = core if MASKED in features else whole_text
        shared = [term for term in features if term in own]
        common = sum([own[term] for term in shared])
        whole = sum(own.values()) + sum([weights[term] for term in features]) - common
        equal = str(row["id"]) in same
        hit = Hit(row, common / whole if whole > 0 else float(equal), _words(own, shared), equal)
        hit.holds = 0.0 < _ALL * _words(own, own) <= hit.common and (not same or _quotes(row, asked.template))
        hits.append(hit)
    hits.sort(key=lambda hit: -hit.rank)
    own_keys = {term for term in asked.features if term[0] == "k"}
    lines = asked.lines() if hits else ()
    most = max([hit.common for hit in hits[:COMPARED]], default=0.0)
    for hit in hits[:COMPARED]:
        # One that explains much less of the text is neither the answer nor a rival of it.
        if hit.common < _WORTH * most and not hit.same:
            continue
        template = str(hit.row.get("when_text") or "")
        known = _text_of(template)
        hit.said = template in lines
        if hit.said:
            hit.alike = 1.0
        elif not hit.same:
            # A person's question may name the remedy as well as the error.
            advice = str(hit.row.get("text") or "") if asked.text.question else ""
            hit.alike = 1.0 if template == asked.template else compare(asked.text, known, advice)
        keys = {term for term in _features(hit.row) if term[0] == "k"}
        hit.found = not own_keys.isdisjoint(keys)
        hit.rank += _KEYS_SHARE * _overlap(own_keys, keys) + _GRAMS_SHARE * _overlap(asked.text.grams, known.grams)
    return hits


def _quotes(row: Row, template: str) -> bool:
    """Tell whether a memory has a text as lines of its own, or behind a colon, as errors are wrapped. A line that goes
    on behind it says something else, which would have been said."""
    held = f"\n{row.get('when_text') or ''}\n"
    return f"\n{template}\n" in held or f": {template}\n" in held


def _words(weights: Mapping[str, float], terms: Iterable[str]) -> float:
    """The rarity of the words and pairs among some features: a finding is known by words that stand there already."""
    return sum([weights[term] for term in terms if term[0] != "k"])


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / (len(one | other) or 1)


def _text_of(template: str) -> Text:
    text = _texts.get(template)
    if text is None:
        if len(_texts) >= _REMEMBERED:
            _texts.clear()
        text = _texts[template] = Text(template)
    return text


_REMEMBERED = 2_048
_texts: dict[str, Text] = {}  # the same memories are met again and again by a process that lives on


def _order(hit: Hit, names: Collection[str]) -> tuple[float, bool, bool, float, str]:
    row = hit.row
    return -round(hit.rank, 4), not _named(hit, names), row.get("state") != "active", -_evidence(row), str(row["id"])


def _features(row: Row) -> list[str]:
    terms = row.get("terms")
    return terms.split() if isinstance(terms, str) else []


def _rivals(form: str, top: Hit, hits: Sequence[Hit], names: Collection[str]) -> list[Hit]:
    """Memories that fit as well and advise something else: other causes, or the same with another remedy.

    Masked, most tracebacks say the same (`assert <num> == <num>`): there a memory fits as well if it is nearly as near.
    """
    least = max(FITS, _AS_WELL * top.alike)
    own = _named(top, names)

    def fits(each: Hit) -> bool:
        if form == "trace":
            return each.holds or each.near * _TRACES_APART > top.near
        told_apart = top.same and each.same and top.near - each.near >= _APART
        return (each.alike >= least or each.holds) and each.common >= _AS_MUCH * top.common and not told_apart

    return [
        each
        for each in hits
        if fits(each)
        and _advice(each) != _advice(top)
        and (own, top.row.get("state") == "active") <= (_named(each, names), each.row.get("state") == "active")
    ]


def _named(hit: Hit, names: Collection[str]) -> bool:
    """Tell whether a memory is about a name that the text quotes."""
    known = hit.row.get("names")
    return isinstance(known, list) and any(name in names for name in known)


def _proven(top: Hit, rivals: Sequence[Hit], names: Collection[str]) -> Hit | None:
    """Of several remedies for one text the one that is proven better, if there is one; those for other names than the
    text quotes are no remedies for it."""
    if any(each.row.get("when_text") != top.row.get("when_text") for each in rivals):
        return None
    if names and top.row.get("names") and not _named(top, names):
        return None
    first, second, *_ = sorted([top, *rivals], key=lambda each: -_evidence(each.row))
    return first if _evidence(first.row) - _evidence(second.row) >= _PROVEN_BETTER else None


def _advice(hit: Hit) -> str:
    return " ".join(str(hit.row.get("text") or "").split())


def _evidence(row: Row) -> float:
    tried, worked = row.get("tried"), row.get("worked")
    return evidence(tried if isinstance(tried, int) else 0, worked if isinstance(worked, int) else 0)
