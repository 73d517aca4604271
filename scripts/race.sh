#!/usr/bin/env bash
# Lets three runs publish to one target at once, again and again: exactly one may win, and what it published must be
# what it publishes alone. Prints the number of rounds and the exit codes seen.
# usage: scripts/race.sh [ROUNDS]     (default: 2000; SKYVEIL names the command, default target/release/skyveil)
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-2000}
skyveil=$(realpath "${SKYVEIL:-target/release/skyveil}")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

{ echo age,sex,illness; for i in $(seq 0 59); do echo "$((20 + i % 30)),$((i % 2)),i$((i * 7 % 6))"; done; } > t.csv
for k in 2 5 9; do
    printf '[columns]\nsensitive = "illness"\n[columns.quasi.age]\ndomain = [0, 120]\n[columns.quasi.sex]\n' > "$k.toml"
    printf '[privacy]\nk_anonymity = %s\nl_diversity = { c = 3, l = 2 }\n' "$k" >> "$k.toml"
    "$skyveil" anonymize t.csv --policy "$k.toml" --out "alone-$k" > /dev/null
done

declare -A seen
for round in $(seq "$rounds"); do
    declare -A runs=()
    for k in 2 5 9; do
        "$skyveil" anonymize t.csv --policy "$k.toml" --out out --temp . > /dev/null 2> "$k.err" &
        runs[$k]=$!
    done
    winner=
    for k in 2 5 9; do
        code=0
        wait "${runs[$k]}" || code=$?
        seen[$code]=$((${seen[$code]:-0} + 1))
        case $code in
            0) [ -z "$winner" ] || { echo "round $round: two runs won"; exit 1; }; winner=$k ;;
            2 | 75) ;;
            *) echo "round $round: exit code $code"; cat "$k.err"; exit 1 ;;
        esac
    done
    [ -n "$winner" ] || { echo "round $round: nobody won"; cat ./*.err; exit 1; }
    diff -r out "alone-$winner" || { echo "round $round: another release than that of $winner.toml"; exit 1; }
    if compgen -G ".out.*" > /dev/null; then echo "round $round: left behind"; ls -A; exit 1; fi
    rm -rf out out.*
done
echo "$rounds rounds of three runs"
for code in "${!seen[@]}"; do echo "  exit code $code: ${seen[$code]}"; done
