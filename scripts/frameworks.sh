#!/usr/bin/env bash
# Brings the frameworks for tests/surfaces/test_frameworks.py and test_optimizers.py, each in an environment of its own below .frameworks, since
# they pin what the others must not have. `frameworks.sh newest` takes those that CI tests, `frameworks.sh AGE NAME` one;
# crewai alone is a gigabyte, and is taken by name only.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A newest=(
  [openai_agents]="openai-agents==0.24.0"
  [langchain]="langchain==1.5.2 langchain-openai langgraph==1.2.24"
  [pydantic_ai]="pydantic-ai-slim[openai]==2.68.0"
  [claude_agent_sdk]="claude-agent-sdk==0.2.189"
  [google_adk]="google-adk==2.13.0"
  [crewai]="crewai==1.15.30"
  [gepa]="gepa==0.1.4"
  [openevolve]="openevolve==0.4.1"
  [skillopt]="skillopt==0.2.0"
  [dspy]="dspy==3.4.1"
)
declare -A oldest=(
  [openai_agents]="openai-agents==0.11.0 openai==2.26.0"
  [langchain]="langchain==1.0.0 langchain-openai==1.0.0 langgraph==1.0.5 langgraph-prebuilt==1.0.5"
  [pydantic_ai]="pydantic-ai-slim[openai]==2.0.0"
  [google_adk]="google-adk==1.14.0"
  [gepa]="gepa==0.1.4"
)
age=${1:-newest}
declare -n versions=$age
names=${2:-"openai_agents langchain pydantic_ai claude_agent_sdk google_adk gepa openevolve skillopt dspy"}

# Built once: each environment would bring the means to build it, only to write the same two files.
wheel=$(mktemp -d)
trap 'rm -rf "$wheel"' EXIT
.venv/bin/python -c 'import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])' "$wheel"

install() {
  local place=.frameworks/$1-$age
  [ -x "$place/bin/python" ] || ${PYTHON:-python3} -m venv "$place"
  # shellcheck disable=SC2086  (a list of requirements)
  "$place/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile "$wheel"/*.whl ${versions[$1]}
}

started=()
for name in $names; do
  install "$name" & started+=($!)
  [ ${#started[@]} -lt 2 ] || { wait "${started[0]}"; started=("${started[@]:1}"); }  # two at a time
done
for each in "${started[@]}"; do wait "$each"; done
