#!/usr/bin/env bash
# Runs the tests of rsi-loop, self-improving-loop and reloop against `ratchet.compat`: their published source archives are
# unpacked into a temporary folder and their import lines changed there. Says what passes; fails when a test fails that
# scripts/peers-differ.txt does not name, or one passes that it names. `peers.sh NAME` runs one of them, and ends with
# pytest's report where VERBOSE is set.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$PWD/.venv/bin/python
differ=$PWD/scripts/peers-differ.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home PYTHONPATH=$work/site
export API_HOST=testserver  # the name by which reloop's tests call its API
unset RATCHET_HOME
mkdir "$HOME"

# run NAME DISTRIBUTION==VERSION MODULE-IN-THEIR-IMPORTS TEST...
run() (
  name=$1 wanted=$2 theirs=$3
  shift 3
  $python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: -d "$work/$name" "$wanted"
  cd "$work/$name"
  mkdir unpacked alone
  tar -xzf ./*.tar.gz -C unpacked --strip-components 1
  mv unpacked/tests alone  # beside their package it would be theirs that is imported
  cd alone
  # Import lines, and the strings by which a mock names a module.
  sed -i -E "s/^(\s*(from|import) )$theirs\b/\1ratchet.compat.$name/; s/(patch\(\")$theirs\./\1ratchet.compat.$name./" tests/*.py
  $python -m pytest -q -p no:cacheprovider -p no:schemathesis -rfE "${@/#/tests/}" > report.txt 2>&1 || true
  sed -nE 's/^(FAILED|ERROR) tests\/([^ ]+).*/\2/p' report.txt | sort > failed.txt
  sed -nE "s/^$name (\S+) .*/\1/p" "$differ" | sort > named.txt
  echo "$name: $(tail -1 report.txt)"
  if [ -n "${VERBOSE:-}" ]; then cat report.txt; fi
  grep -q '[0-9] passed' report.txt && diff named.txt failed.txt > surprises.txt && return
  sed -nE 's/^< /  passes, though scripts\/peers-differ.txt names it: /p; s/^> /  fails: /p' surprises.txt
  return 1
)

$python -m pip install --quiet --disable-pip-version-check --target "$work/site" pytest-asyncio typer
chosen=${1:-all} status=0
case $chosen in all | rsi_loop) run rsi_loop rsi-loop==0.1.0 rsi_loop . || status=1 ;; esac
case $chosen in all | self_improving_loop)
  run self_improving_loop self-improving-loop==0.1.3 self_improving_loop test_smoke.py test_rollback_integration.py || status=1 ;;
esac
case $chosen in all | reloop)
  # Those that need no service and test no mock of one: models, memory, retry engine, sync API, export and import, routes, SSE.
  run reloop reloop-ai==0.4.0 src test_models.py test_memory.py test_retry_engine.py test_sync_api.py \
    test_export_import.py test_api_routes.py test_sse.py || status=1 ;;
esac
exit $status
