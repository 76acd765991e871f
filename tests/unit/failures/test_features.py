"""A text is cut into features, and a long one is known by the stretch where its errors stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ratchet.failures.features import LONG, MASKED, MORE, STRETCH, features_in, features_of, telling_of
from ratchet.failures.tracebacks import names_of


def test_words_and_pairs_of_neighbours_are_features_and_fillers_alone_are_none() -> None:
    assert len(features_in("the branch is gone")) == 5  # two words, three pairs
    assert features_in("a b") == features_in("A B")
    assert set(features_in("not found")) > set(features_in("found"))


def test_what_varies_changes_no_feature() -> None:
    assert features_of("listen 127.0.0.1:3000: address in use") == features_of("listen 10.0.0.7:81: address in use")


def test_findings_of_an_output_are_features_of_their_own() -> None:
    found = features_of("a/b.go:3:1: error is not nil but it returns nil (nilerr)")
    assert [term for term in found if term.startswith("k")] == found[-1:]


def test_text_without_blanks_is_found_by_its_pairs_of_letters() -> None:
    whole, part = set(features_in("连接数据库失败：超时")), set(features_in("数据库连接失败"))
    assert len(whole & part) >= 4


def test_of_a_long_paste_the_failure_is_what_tells() -> None:
    failure = "error TS2339: Property 'email' does not exist on type 'Account'."
    noise = [f"[{n}/200] building package number {n} of the tree, all is well" for n in range(200)]
    pasted = "\n".join([*noise[:150], failure, *noise[150:]])
    told = telling_of(pasted)
    assert failure in told
    assert len(told) <= STRETCH + MORE + 1
    assert len(told.split("\n")) < 20


@given(st.text(max_size=200), st.integers(1, 60))
def test_any_text_is_cut_the_same_way_each_time(text: str, times: int) -> None:
    whole = text * times
    found = features_of(whole)
    assert found == features_of(whole)
    assert len(found) == len(set(found))
    assert all(term.isalnum() for term in found)
    assert len(telling_of(whole)) <= max(LONG, STRETCH + MORE + 1)
    assert MASKED not in found


def test_a_traceback_is_known_by_its_own_frames() -> None:
    runner = (
        '  File "/srv/lib/python3.11/site-packages/_pytest/python.py", line 187, in run\n    found = test(**given)\n'
    )
    own = '  File "/srv/app/tests/test_urls.py", line 60, in test_roundtrip\n    assert url == result\n'
    said = telling_of(f"Traceback (most recent call last):\n{runner * 3}{own}AssertionError: assert 'a' == 'b'")
    assert "site-packages" not in said
    assert "test(**given)" not in said
    assert "in test_roundtrip" in said
    assert said.endswith("AssertionError: assert 'a' == 'b'")
    only = f"Traceback (most recent call last):\n{runner}KeyError: 'x'"
    assert telling_of(only) == only


def test_a_tracebacks_files_functions_and_the_parts_of_its_names_are_features() -> None:
    said = "tests/test_cart.py:9: in test_total_{0}\n    total([{1}])\nshop/cart.py:4: in total\nE   KeyError: {1}"
    one, other = (set(features_of(said.format(*each))) for each in (("empty", 7), ("large", 9)))
    assert names_of(said.format("empty", 7)) == {
        "@test_cart.py", "@test_cart.py:test_total_empty", "@cart.py", "@cart.py:total",
        "%test", "%cart", "%total", "%empty", "%key", "%error",
    }  # fmt: skip
    assert len(one & other) > len(one) / 2
    native = 'Traceback (most recent call last):\n  File "/srv/cart.py", line 4, in total\nKeyError: 7'
    java = "java.lang.Error: x\n\tat shop.Cart.total(Cart.java:4)"
    node = "Error: x\n    at total (/srv/cart.js:4:2)"
    assert names_of(native) >= {"@cart.py", "@cart.py:total", "%key"}
    assert names_of(java) >= {"@Cart.java", "@Cart.java:total"}
    assert names_of(node) >= {"@cart.js", "@cart.js:total"}
    for plain in ("cart.py:4: error: Incompatible types in assignment", "cart.py:4:2: E501 line_too_long", "no_frame"):
        assert names_of(plain) == set()
