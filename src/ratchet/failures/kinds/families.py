"""Kinds by what a failure is about and what befell it, a few words apart: "the key you sent has expired" is about a
credential that is no longer good, whoever words it. Asked where neither phrase nor structure has decided. Lean: hooks
import it.

Words count without their endings, so that one entry covers expire, expires, expired and expiring.
"""

from __future__ import annotations

from functools import lru_cache

from ratchet.failures.kinds.phrases import MEMO, listed, vocabulary

REACH = 5  # words from one to the other; farther apart they belong to different clauses (tuned on the message set)
_ENDINGS = ("ing", "ed", "es", "s", "e")

# Several words that act as one. Longer ones first.
_AS_ONE = (
    ("non empty", "nonempty"),
    ("did not", "didnt"),
    ("does not", "doesnt"),
    ("could not", "couldnt"),
    ("can not", "cannot"),
    ("can t", "cannot"),
    ("couldn t", "couldnt"),
    ("didn t", "didnt"),
    ("doesn t", "doesnt"),
    ("isn t", "is not"),
    ("wasn t", "is not"),
    ("doesnt exist", "absent"),
    ("couldnt be found", "absent"),
    ("cannot be found", "absent"),
    ("no longer exists", "absent"),
    ("no such", "absent"),
    ("not found", "absent"),
    ("cannot find", "absent"),
    ("couldnt find", "absent"),
    ("unable to find", "absent"),
    ("failed to find", "absent"),
    ("unable to locate", "absent"),
    ("not exist", "absent"),
    ("not available", "unavailable"),
    ("not recognized", "unknown"),
    ("not registered", "unknown"),
    ("not installed", "uninstalled"),
    ("not allowed", "forbidden"),
    ("not permitted", "forbidden"),
    ("not authorized", "forbidden"),
    ("not valid", "invalid"),
    ("not supported", "unsupported"),
    ("no longer", "nolonger"),
    ("too many", "toomany"),
    ("too long", "toolong"),
    ("too large", "toolong"),
    ("too big", "toolong"),
    ("too fast", "toofast"),
    ("too quickly", "toofast"),
    ("too often", "toofast"),
    ("out of", "outof"),
    ("used up", "outof"),
    ("ran out", "outof"),
    ("not enough", "insufficient"),
    ("api key", "apikey"),
    ("access key", "apikey"),
    ("secret key", "apikey"),
    ("license key", "apikey"),
    ("tool call", "toolcall"),
    ("could not parse", "unparsed"),
    ("couldnt be parsed", "unparsed"),
    ("cannot be parsed", "unparsed"),
    ("couldnt parse", "unparsed"),
    ("cannot parse", "unparsed"),
    ("failed to parse", "unparsed"),
    ("unable to parse", "unparsed"),
    ("not parse", "unparsed"),
    ("is not json", "unparsed"),
    ("is not in", "absent"),
    ("timed out", "timedout"),
    ("at capacity", "atcapacity"),
    ("log in", "login"),
    ("sign in", "login"),
    ("signed in", "login"),
    ("logged in", "login"),
)

# (kind, what it is about, what befell it), the narrowest first.
FAMILIES: tuple[tuple[str, str, str], ...] = (
    (
        "user_denied",
        "user human operator person reviewer approver owner",
        "reject rejection decline refuse refusal disapprove veto dismiss",
    ),
    (
        "cascade",
        "previous earlier prior sibling preceding parent predecessor",
        "skip skipped skipping fail failure error errored",
    ),
    (
        "cascade",
        "dependency upstream prerequisite dependent",
        "skip skipped skipping",
    ),
    (
        "iteration_limit",
        "step turn iteration round recursion hop cycle",
        "limit exceed reach maximum max toomany",
    ),
    (
        "loop_detected",
        "loop looping repeat repetition same identical",
        "detect stuck again forever",
    ),
    (
        "loop_detected",
        "progress",
        "no without identical same repeat",
    ),
    (
        "budget_exceeded",
        "budget",
        "exceed exhaust reach over spent outof limit",
    ),
    (
        "quota_exhausted",
        "quota credit balance fund allowance plan billing daily weekly monthly subscription prepaid trial tier",
        "exceed exhaust outof insufficient reach deplete expire zero negative low empty cap hit",
    ),
    (
        "rate_limit",
        "tpm rpm tpd rpd concurrency",
        "limit exceed reach",
    ),
    (
        "rate_limit",
        "request call query queries connection client message rate tpm rpm tpd rpd",
        "toomany toofast minute second throttle simultaneous concurrent slower",
    ),
    (
        "auth",
        "apikey credential password signature login oauth jwt cookie account auth",
        """invalid incorrect wrong expire revoke missing reject require absent bad mismatch unset suspend nolonger
        refresh deny denied fail failure again malform disable""",
    ),
    (
        "auth",
        "token secret bearer",
        "expire revoke reject nolonger refresh suspend malform bad invalid",
    ),
    (
        "context_lost",
        "context history session conversation memory thread transcript",
        "lost reset clear gone wipe discard forgot drop nolonger evict",
    ),
    (
        "context_overflow",
        """prompt input context conversation history token document transcript output window result response payload
        body""",
        "toolong exceed longer larger overflow truncate truncated cap reach",
    ),
    (
        "content_filter",
        "content prompt response output answer text image completion",
        "flag flagged filter moderate violate unsafe inappropriate harmful disallow prohibit",
    ),
    (
        "refusal",
        "model assistant",
        "refuse decline unwilling chose",
    ),
    (
        "model_not_found",
        "model deployment",
        "absent unknown unavailable unsupported deprecate retire remove decommission nolonger",
    ),
    (
        "tool_not_found",
        "tool toolcall function command skill plugin subcommand",
        "absent unknown unavailable unregister nonexistent unrecognized",
    ),
    (
        "dependency_missing",
        """module package library dependency dependencies crate gem driver binary executable toolchain interpreter
        compiler runtime extension browser""",
        "absent uninstall missing install require unavailable unresolved unsatisfied",
    ),
    (
        "permission",
        "role viewer",
        "cannot lack insufficient",
    ),
    (
        "permission",
        "access permission privilege right operation action write admin administrator",
        "denied deny forbidden insufficient lack restrict block prohibit disallow without disable reject",
    ),
    (
        "timeout",
        "second minute ms millisecond deadline respond finish complete sec hour",
        "exceed timedout didnt wait elapse expire gave never within",
    ),
    (
        "overloaded",
        "service server model backend engine cluster endpoint api capacity upstream provider replica traffic",
        """busy overload overwhelm saturate unavailable atcapacity maintenance down exhaust temporarily later warm
        load heavy""",
    ),
    (
        "network",
        "connection connect socket stream tunnel network dns handshake websocket transport proxy internet wifi",
        """lost close reset drop refuse broken fail failure error interrupt terminate unreachable down abort cut
        unable cannot couldnt blip glitch unstable flaky eof""",
    ),
    (
        "server_error",
        "internal server backend gateway upstream",
        "error failure fault fail crash exception unexpected invalid",
    ),
    (
        "malformed_output",
        "output response answer reply completion toolcall model llm generation",
        "unparsed malformed unparseable schema decode parse parsing garbled lack grammar regex",
    ),
    (
        "malformed_output",
        "json array object",
        "expect expected got received unexpected unparsed",
    ),
    (
        "empty_response",
        "output response answer reply completion content choice candidate verdict",
        "no empty blank zero without",
    ),
    (
        "invalid_request",
        "role block request streaming toolconfig toolresult tooluse thinking temperature",
        "must expect require should valid invalid malform unsupported doesnt support unknown missing cannot",
    ),
    (
        "tool_arguments",
        "argument parameter param option flag field arg input pattern replacement anchor snippet edit regex",
        """missing require invalid unknown unexpected must wrong illegal unrecognized bad expect mandatory identical
        absent ambiguous unsupported range""",
    ),
    (
        "tool_arguments",
        "change replacement edit",
        "no identical nothing same unchanged",
    ),
    (
        "test_failure",
        "test spec suite",
        "fail failure broken",
    ),
    (
        "assertion",
        "invariant assertion precondition postcondition consistency sanity",
        "fail violate violation broken false",
    ),
    (
        "wrong_output",
        "answer output result score rubric judge grader",
        "wrong incorrect inaccurate mismatch below unfaithful hallucinate disagree differ deviate",
    ),
    (
        "wrong_output",
        "judge grader rubric evaluator",
        "fail invent",
    ),
    (
        "code_error",
        """type identifier symbol variable attribute index pointer reference operand expression statement function
        method""",
        "mismatch incompatible unknown undefined undeclared expect null nil outof unresolved",
    ),
    (
        "resource_missing",
        """file path directory folder key id url page repository repo branch commit table column record document
        object bucket endpoint route resource entry item issue row image container secret namespace index ref
        database collection queue topic project channel asset ticket user schema view volume""",
        "absent missing gone delete remove unknown nonexistent nolonger unresolved",
    ),
    (
        "command_failed",
        "command script process hook build job pipeline workflow install installation compilation",
        "fail exit failure abort nonzero",
    ),
    (
        "tool_error",
        "tool toolcall plugin",
        "fail error crash raise broke failure exception",
    ),
)

_Sides = tuple[frozenset[int], frozenset[int]]  # the families that a word is a subject of, those it is a fate of
_NEITHER: _Sides = (frozenset(), frozenset())
_MET = 4_096  # words whose sides are remembered: more than the vocabulary of errors, a bound for everything else
_index: dict[str, _Sides] = {}  # by stem
_one_for: list[tuple[str, str, str]] = []  # the first of several words, all of them, the one that they act as
_met: dict[str, _Sides] = {}  # by word
_telling: set[str] = set()  # words that matter to phrases, or act together as one
_numbered: list[str] = []  # parts of phrases with a number beside a word: only there such a number matters


def gist_of(words: str) -> str:
    """The words (see `phrases.words_of`) with a dash for each that is in no phrase and no family: ids, numbers and
    names differ between texts of one cause, and neither `met_by` nor `family_of` looks at them."""
    if not _telling:
        _build()
    if any(map(words.__contains__, _numbered)):
        return words
    return f" {' '.join(map(_gist.__getitem__, listed(words)))} "


class _Gist(dict[str, str]):
    """Words met, each as it stands in a gist. Bounded: it forgets everything when full."""

    def __missing__(self, word: str) -> str:
        if not word.isalpha():  # numbers and ids, which never end, are in no family
            return word if word in _telling else "-"
        if len(self) >= _MET:
            self.clear()
        kept = self[word] = word if word in _telling or _stem(word) in _index else "-"
        return kept


_gist = _Gist()


@lru_cache(maxsize=MEMO)
def family_of(words: str) -> str:
    """The kind of the first family of which `words` (see `phrases.words_of`) names the subject near its fate, or ""."""
    if not _index:
        _build()
    said = listed(words)
    held = set(said)
    for first, several, one in _one_for:
        if first in held and several in words:
            words = words.replace(f" {several} ", f" {one} ")
            held.update(one.split())
            said = words.split()
    subjects: dict[int, list[int]] = {}
    fates: dict[int, list[int]] = {}
    for at, word in enumerate(said):
        sides = _met.get(word)
        if sides is None:
            if not word.isalpha():  # numbers and ids, which never end, are in no family
                continue
            sides = _sides(word)
        if sides is _NEITHER:  # as most words
            continue
        for family in sides[0]:
            subjects.setdefault(family, []).append(at)
        for family in sides[1]:
            fates.setdefault(family, []).append(at)
    near = [
        family
        for family in subjects.keys() & fates.keys()
        if any(0 < abs(at - other) <= REACH for at in subjects[family] for other in fates[family])
    ]
    return FAMILIES[min(near)][0] if near else ""


def _sides(word: str) -> _Sides:
    if len(_met) >= _MET:
        _met.clear()
    return _met.setdefault(word, _index.get(_stem(word), _NEITHER))


def _build() -> None:
    _one_for[:] = [(several.partition(" ")[0], several, one) for several, one in _AS_ONE]
    index: dict[str, tuple[set[int], set[int]]] = {}
    for family, (_, subjects, fates) in enumerate(FAMILIES):
        for side, words in enumerate((subjects, fates)):
            for word in words.split():
                index.setdefault(_stem(word), (set(), set()))[side].add(family)
    telling, _numbered[:] = vocabulary()
    # Last, and at once: another thread that finds the index finds all of it.
    _index.update({stem: (frozenset(subjects), frozenset(fates)) for stem, (subjects, fates) in index.items()})
    _telling.update(telling.union(*(several.split() for several, _ in _AS_ONE)))


def _stem(word: str) -> str:
    """`word` without a usual ending, if at least three letters are left."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + 3 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word
