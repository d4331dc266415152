#!/usr/bin/env python3
"""Writes the goals of a benchmark's results into the table of a document: goals.py RESULTS.json README.md

The table is the one that begins with HEAD; its rows are replaced.
"""

import json
import pathlib
import sys

HEAD = "| goal | asked | measured | reached |\n|---|---|---|---|\n"


def row(goal):
    measured = goal.get("measured")
    if measured is None:
        figure = "not measured"
    else:
        # The unit is what follows the bound: "≤ 5 s" is of seconds. That of a ratio is in its name.
        unit = goal["asked"].split(" ", 2)[2]
        if unit == "s":
            measured /= 1e9  # As all times in the results it is in nanoseconds.
        figure = f"{measured:.3g}" if measured < 1000 else f"{measured:.0f}"
        if not unit.startswith("×"):
            figure += f" {unit}"
    return f"| {goal['goal']} | {goal['asked']} | {figure} | {'yes' if goal['isReached'] else 'no'} |\n"


def main(results, document):
    goals = json.loads(pathlib.Path(results).read_text())["goals"]
    path = pathlib.Path(document)
    before, head, rest = path.read_text().partition(HEAD)
    if not head:
        sys.exit(f"{document} has no table of goals.")
    path.write_text(before + head + "".join(map(row, goals)) + rest[rest.index("\n\n") + 1 :])


if __name__ == "__main__":
    main(*sys.argv[1:])
