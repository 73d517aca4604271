#!/usr/bin/env bash
# Fetches the data, runs every experiment at full size, then the comparison with peers, and makes OUT/page/results.md.
# Unattended: an experiment that fails is logged and the next one runs. usage: scripts/reproduce-all.sh OUT [--quick]
set -euo pipefail
out=$(realpath -m "${1:?usage: scripts/reproduce-all.sh OUT [--quick]}")
quick=${2:-}
cd "$(dirname "$0")/.."
mkdir -p "$out"
cargo build --release --quiet
skyveil=$PWD/target/release/skyveil
[ -f datasets/fetched/adult.csv ] || scripts/fetch.sh adult
failed=
for experiment in $("$skyveil" reproduce list | cut -d' ' -f1); do
  echo "$(date +%H:%M:%S) $experiment"
  "$skyveil" reproduce "$experiment" $quick --out "$out" --temp "$out" > "$out/$experiment.log" 2>&1 || failed="$failed $experiment"
done
echo "$(date +%H:%M:%S) peers"
if [ "$quick" ]; then peers="1 50000"; else peers="10 1000000"; fi
scripts/compare-peers.sh "$out" $peers > "$out/peers.log" 2>&1 || failed="$failed peers"
"$skyveil" reproduce page --out "$out"
[ -z "$failed" ] || { echo "failed:$failed; see the logs in $out" >&2; exit 1; }
