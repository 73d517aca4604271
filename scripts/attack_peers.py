"""Groups of several tools for one table, and whom the attacks of skyveil affect; see attack-peers.sh."""

import json
import os
import subprocess
import sys

TABLE, SENSITIVE = "datasets/census.csv", "diagnosis"
QUASI = ["age", "sex", "region", "education", "marital"]


def anonypy_groups(frame, k):
    """The number of the group of every row."""
    from anonypy.mondrian import Mondrian

    frame = frame.copy()
    for column in frame.columns:
        if frame[column].dtype == object or column == SENSITIVE:
            frame[column] = frame[column].astype("category")
    groups = [0] * len(frame)
    for number, partition in enumerate(Mondrian(frame, QUASI, SENSITIVE).partition(k), 1):
        for row in partition:
            groups[row] = number
    return groups


def anjana_groups(frame, k):
    """The same; whole columns are generalized, and nobody is left out."""
    from anjana.anonymity import k_anonymity

    hierarchies = {}
    for column in QUASI:
        levels = [list(frame[column])]
        if column == "age":
            levels += [[f"{age // width * width}+{width}" for age in frame[column]] for width in (5, 10, 20, 40)]
        levels.append(["*"] * len(frame))
        hierarchies[column] = dict(enumerate(levels))
    released = k_anonymity(frame.copy(), [], QUASI, k, 0, hierarchies)
    if list(released.index) != list(frame.index):
        raise SystemExit("anjana left people out")
    return released.groupby(QUASI, observed=True).ngroup() + 1


def attack(skyveil, arguments):
    done = subprocess.run([skyveil, "attack", *arguments, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def requirement(work, name, text):
    """A release of skyveil that satisfies this, attacked with a replay where one can be measured."""
    path = os.path.join(work, name + ".toml")
    quasi = ", ".join(f'"{column}"' for column in QUASI)
    with open(path, "w") as file:
        file.write('accept = ["unprotected values", "ends of ranges"]\n')
        file.write(f'[columns]\nsensitive = "{SENSITIVE}"\nquasi = [{quasi}]\nrest = "drop"\n\n{text}')
    return path


def main():
    import pandas

    skyveil, work, k = sys.argv[1], sys.argv[2], int(sys.argv[3])
    table = pandas.read_csv(TABLE, keep_default_na=False)[QUASI + [SENSITIVE]]
    found = []
    skyline = "\n[[privacy.skyline]]\nl = 1\nk = 0\nm = 0\nconfidence = 0.5\n"
    for name, text, more in [
        ("skyveil, k only", f"[privacy]\nk_anonymity = {k}\n", []),
        ("skyveil, k and (1,0,0) below 1/2", f"[privacy]\nminimum_group_size = {k}\n{skyline}", ["--replay"]),
    ]:
        release = os.path.join(work, f"release{len(found)}")
        policy = requirement(work, f"policy{len(found)}", text)
        made = [skyveil, "anonymize", TABLE, "--policy", policy, "--out", release]
        subprocess.run(made, check=True, capture_output=True)
        found.append((name, attack(skyveil, [release, "--original", TABLE, "--bandwidth", "0.3", *more])))
    for name, groups in [("anonypy", anonypy_groups), ("anjana", anjana_groups)]:
        path = os.path.join(work, name + ".csv")
        table.assign(own_group=groups(table, k)).to_csv(path, index=False)
        asked = ["--group", "own_group", "--quasi", ",".join(QUASI), "--sensitive", SENSITIVE, "--bandwidth", "0.3"]
        found.append((name, attack(skyveil, [path, *asked])))
    lines = {}
    for name, report in found:
        for line in report["attacks"]:
            people = line["people"]
            shown = "not run" if people is None else f"{people:,}" + (" (estimate)" if line["sureness"] == "estimated" else "")
            lines.setdefault((line["attack"], line["needs"].split(": ")[-1] if people is not None else ""), {})[name] = shown
    names = [name for name, _ in found]
    print(f"| attack | affected | {' | '.join(names)} |\n|{'---|' * (len(names) + 2)}")
    groups = " | ".join(format(report["groups"], ",") for _, report in found)
    print(f"| | groups | {groups} |")
    for (what, who), shown in lines.items():
        if any(cell != "not run" for cell in shown.values()):
            print(f"| {what} | {who} | {' | '.join(shown.get(name, 'not run') for name in names)} |")


if __name__ == "__main__":
    main()
