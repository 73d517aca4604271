#!/usr/bin/env bash
# The attacks of `skyveil attack` on releases of the same table by skyveil and by tools that users would take instead
# (anonypy, anjana), all with the same k: prints a table of the people whom each attack affects.
# usage: scripts/attack-peers.sh [K]
#   K        people in a group at least (10)
# Needs python3 with venv.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet anonypy==0.2.1 anjana==1.2.3 pandas
"$work/venv/bin/python" scripts/attack_peers.py "$PWD/target/release/skyveil" "$work" "${1:-10}"
