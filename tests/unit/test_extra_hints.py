"""A hint names the way in which this very copy was installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ratchet.registry import install_command


def said(tmp_path: Path, *, origin: object = None, installer: str = "pip", has_pip: bool = True) -> str:
    text = "" if origin is None else json.dumps(origin)
    return install_command(
        "serve", origin=text, installer=installer, prefix=tmp_path, python="/v/bin/python", has_pip=has_pip
    )


@pytest.mark.parametrize(
    ("origin", "what"),
    [
        (None, "'ratchet-ai[serve]'"),
        ({"url": "file:///gone/since", "dir_info": {}}, "'ratchet-ai[serve]'"),
        ({"url": "https://x.dev/r.whl", "archive_info": {}}, "'ratchet-ai[serve] @ https://x.dev/r.whl'"),
        (
            {"url": "https://x.dev/r.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}},
            "'ratchet-ai[serve] @ git+https://x.dev/r.git@c0ffee'",
        ),
    ],
)
def test_a_copy_of_no_place_here_is_named_by_its_name_or_address(tmp_path: Path, origin: object, what: str) -> None:
    assert said(tmp_path, origin=origin) == f"/v/bin/python -m pip install {what}"


@pytest.mark.parametrize(("is_editable", "option"), [(True, "-e "), (False, "")])
def test_a_copy_of_a_checkout_is_named_by_its_path(tmp_path: Path, is_editable: bool, option: str) -> None:
    checkout = tmp_path / "a checkout"
    checkout.mkdir()
    origin = {"url": checkout.as_uri(), "dir_info": {"editable": True} if is_editable else {}}
    what = f"{option}'{checkout}[serve]'"
    assert said(tmp_path, origin=origin) == f"/v/bin/python -m pip install {what}"
    assert said(tmp_path, origin=origin, installer="uv") == f"uv pip install --python /v/bin/python {what}"
    without = said(tmp_path, origin=origin, has_pip=False)
    assert without == f"python3 -m pip --python /v/bin/python install {what}"


def test_a_tool_is_installed_anew_with_the_extras_that_it_has(tmp_path: Path) -> None:
    wheel = tmp_path / "ratchet_ai-1-py3-none-any.whl"
    wheel.touch()
    origin = {"url": wheel.as_uri(), "archive_info": {}}
    receipt = tmp_path / "uv-receipt.toml"
    receipt.write_text('[tool]\nrequirements = [{ name = "ratchet-ai", extras = ["mcp"], path = "r.whl" }]\n')
    assert said(tmp_path, origin=origin) == f"uv tool install --force '{wheel}[mcp,serve]'"
    receipt.write_text("torn [")
    assert said(tmp_path, origin=origin) == f"uv tool install --force '{wheel}[serve]'"
    receipt.unlink()
    pipx = tmp_path / "pipx_metadata.json"
    pipx.write_text(json.dumps({"main_package": {"package_or_url": f"{wheel}[prices]"}}))
    assert said(tmp_path, origin=origin) == f"pipx install --force '{wheel}[prices,serve]'"
