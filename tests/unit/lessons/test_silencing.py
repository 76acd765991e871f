"""An edit that ends a finding and leaves all that runs as it was silences it, whatever it is called."""

from __future__ import annotations

import pytest

from ratchet.lessons.mining.evidence import Seen, judged
from ratchet.lessons.mining.hunks import Hunk, features


@pytest.mark.parametrize(
    ("name", "old", "new", "mark"),
    [
        ("a.ts", "const x = foo(y);", "const x = foo(y as any);", "as any"),
        ("a.tsx", "const x = foo(y);", "const x = foo(y as unknown as Foo<Bar>);", "as unknown"),
        ("a.ts", "const x = y.z;", "const x = y!.z;", "!"),
        ("a.ts", "function f(x: string) {", "function f(x: any) {", "any"),
        ("a.ts", "load();", "void load();", "void"),
        ("a.py", "x = foo(y)", "x = foo(cast(Any, y))", "cast"),
        ("a.py", "def f(x: str) -> str:", "def f(x: str) -> Any:", "Any"),
        ("a.rs", "let n = read(p);", "let n = unsafe { read(p) };", "unsafe"),
        ("a.rs", "f();", "let _ = f();", "let _ ="),
        ("a.go", "\tf.Close()", "\t_ = f.Close()", "_ ="),
        ("a.java", "x();", "x(); // NOSONAR: a false alarm", "// NOSONAR: a"),
        ("a.py", "x = 1", "x = 1  # pylama:ignore=W0611", "# pylama:ignore=W0611"),
    ],
)
def test_what_changes_nothing_that_runs_is_told_as_silencing(name: str, old: str, new: str, mark: str) -> None:
    assert features(Hunk(name, 1, (old,), (new,)), "the finding") == {f"silence {mark}"}


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("a.ts", "const x = y.z;", "const x = y?.z;", "possibly undefined"),
        ("a.ts", "if (a != b) {", "if (a !== b) {", "expected ==="),
        ("a.ts", "function f(x: string) {", "function f(x: string | undefined) {", "not assignable"),
        ("a.ts", 'const a = ["x"];', 'const a = ["x"] as const;', "not assignable"),
        ("a.ts", "load();", "await load();", "floating promise"),
        ("a.ts", "foo(y as any);", "foo(y);", "unexpected any"),
        ("a.py", "def f(x):", "def f(x: str) -> None:", "missing a type annotation"),
        ("a.py", "x = []", "x: list[str] = []", "need type annotation"),
        ("a.py", "import a as b", "import a as c", "unused"),
        ("a.rs", "f();", "f()?;", "unused Result"),
        ("a.go", "\ta, b := f()", "\t_, b := f()", "declared and not used: a"),
        ("a.go", "\tFoo int", "\tFoo int // Foo counts.", "exported field Foo should have comment"),
    ],
)
def test_what_changes_the_code_or_says_what_was_asked_for_is_a_fix(name: str, old: str, new: str, said: str) -> None:
    assert not any(each.startswith("silence") for each in features(Hunk(name, 1, (old,), (new,)), said))


def test_a_claim_that_ended_a_finding_in_many_sessions_is_never_advice() -> None:
    seen = []
    for at in range(6):
        hunk = Hunk("cart.ts", 1, (f"send(order{at});",), (f"send(order{at} as any);",))
        forms = features(hunk, "Argument of type 'A' is not assignable to parameter of type 'B'.")
        seen.append(Seen(session=f"s{at}", at=at, fixed=True, forms=forms, removed=hunk.removed, added=hunk.added))
    found = judged("tsc:TS2345", seen)
    assert found is not None
    assert (found.state, found.reason) == ("quarantined", "switches a check off without a reason: `as any`")
