"""A password is one beside its name, in any language."""

from __future__ import annotations

import pytest

from ratchet.failures.redaction.text import redact

NAMES = (
    "\ube44\ubc00\ubc88\ud638", "\uc554\ud638", "\u039a\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2", "m\u1eadt kh\u1ea9u",
    "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19",
    "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631", "\u05e1\u05d9\u05e1\u05de\u05d4",
    "\u092a\u093e\u0938\u0935\u0930\u094d\u0921", "jelsz\u00f3", "slapta\u017eodis", "\u53e3\u4ee4",
    "mot_de_passe", "mot de passe", "passord", "Kennwort", "wachtwoord", "senha", "contrasena",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sign", [": ", "=", " = ", "\uff1a"])
def test_a_password_is_one_in_any_language(name: str, sign: str) -> None:
    assert "W1nter2026" not in redact(f"x\n{name}{sign}W1nter2026x\ny")
    assert redact(f"{name} winter") == f"{name} winter"
