"""What a check printed is kept without secrets, wherever its middle is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratchet.healing.judges.verdicts import OUTPUT_CHARS, text_of
from ratchet.sandbox.command import Ran

SECRET = "ghp_" + "a1B2" * 9
SHARES = (OUTPUT_CHARS * 3 // 4, OUTPUT_CHARS // 4)


def ran(output: str) -> Ran:
    return Ran(
        exit_code=1,
        signal=None,
        killed="",
        truncated=False,
        stdout=output.encode(),
        stderr=b"",
        wall_s=0.1,
        cpu_s=0.1,
        max_memory_mb=1.0,
        isolation="none",
    )


def test_what_a_check_says_is_kept_without_colours() -> None:
    assert text_of(ran("\x1b[1m\x1b[31mE   No module named 'x'\x1b[0m\n\x1b]0;title\x07ok")) == (
        "E   No module named 'x'\nok"
    )


@pytest.mark.slow
@given(st.integers(-120, 120), st.sampled_from(("head", "tail")), st.integers(0, 3))
def test_a_secret_across_the_cut_is_not_kept_in_part(off: int, end: str, more: int) -> None:
    filler = "ok 12\n" * (OUTPUT_CHARS // 5)
    at = SHARES[0] + off if end == "head" else len(filler) - SHARES[1] + off
    output = f"{filler[:at]}\nTOKEN={SECRET}\n{filler[at:]}" + "x\n" * more
    kept = text_of(ran(output))
    assert len(kept) <= OUTPUT_CHARS + 200
    assert not any(SECRET[start : start + 8] in kept for start in range(4, len(SECRET) - 8))
