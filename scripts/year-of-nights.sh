#!/bin/sh
# A year of nights: appends NIGHTS batches of PEOPLE newcomers to a release, and prints for each night its seconds, its
# peak memory and the size of the ledger. At the end, all nights are checked together.
#
#   scripts/year-of-nights.sh [NIGHTS] [PEOPLE] [FOLDER]      default: 365 10000 year-of-nights
#
# SKYVEIL names the command; default: target/release/skyveil.
set -eu
nights=${1:-365}
people=${2:-10000}
folder=${3:-year-of-nights}
skyveil=${SKYVEIL:-$PWD/target/release/skyveil}
datasets=$PWD/datasets
mkdir "$folder"
cd "$folder"
cp "$datasets/census-tract.csv" "$datasets/census-marital.csv" .
{ cat "$datasets/census.toml"; printf '\n[nights]\nperson = "person_id"\nbatch = %s\n' "$people"; } > policy.toml

# Newcomers with names of their own: every night is another census, and its ids go on where the last night ended.
table() {
    "$skyveil" generate census --rows "$people" --seed "$1" --out drawn.csv > /dev/null
    awk -F, -v OFS=, -v before=$((($1 - 1) * people)) 'NR > 1 { $1 += before } { print }' drawn.csv > table.csv
}

table 1
"$skyveil" anonymize table.csv --policy policy.toml --out release --memory 64MiB --quiet > /dev/null
echo "night,seconds,peak_memory_bytes,ledger_bytes"
night=2
while [ "$night" -le "$nights" ]; do
    table "$night"
    "$skyveil" anonymize table.csv --policy policy.toml --append release --memory 64MiB --quiet --json > night.json
    seconds=$(sed 's/.*"seconds":\([0-9.]*\).*/\1/' night.json)
    memory=$(sed 's/.*"peak_memory_bytes":\([0-9]*\).*/\1/' night.json)
    echo "$night,$seconds,$memory,$(wc -c < release.ledger | tr -d ' ')"
    night=$((night + 1))
done
"$skyveil" check release --memory 64MiB | head -1
