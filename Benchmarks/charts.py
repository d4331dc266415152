#!/usr/bin/env python3
"""Draws the charts of a benchmark's results: charts.py RESULTS.json DIRECTORY

Each function below that is named in CHARTS draws one file. All of them show medians, as bars on a logarithmic scale: a
bar that is half as long is not half the time, so each has its figure beside it.
"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

OWN, PEER, FLOOR = "#d9480f", "#748ca3", "#adb5bd"
SIZES = {100: "100 B", 4096: "4 KB", 102400: "100 KB"}
TRACES = ["web07", "web12", "orm-busy", "orm-night"]


class Results:
    """The results of a run, to be asked for by workload and parameters."""

    def __init__(self, file):
        report = json.loads(pathlib.Path(file).read_text())
        self.results = report["results"]
        machine = report["machine"]
        libraries = ", ".join(f"{name} {version}" for name, version in sorted(machine["libraries"].items()))
        self.footer = (
            f"{machine['processors']} × {machine['processor']}, {machine['system']}, Swift {machine['swift']}; "
            f"{libraries}. Medians{' of a quick run' if report['isQuick'] else ''}."
        )

    def select(self, workload, **parameters):
        return [
            result
            for result in self.results
            if result["workload"] == workload
            and all(result.get(name) == value for name, value in parameters.items())
        ]


def is_own(subject):
    return subject.startswith("LMDBCaching") or subject.startswith("@EFStorage")


def color(subject):
    if is_own(subject):
        return OWN
    return FLOOR if subject.startswith(("LMDB in C", "memcpy")) else PEER


def label(result):
    threads = result["threads"]
    return result["subject"].removeprefix("LMDBCaching.") + (f", {threads} threads" if threads > 1 else "")


def text_of(result):
    nanoseconds = median(result)
    for limit, unit, scale in ((1e3, "ns", 1), (1e6, "µs", 1e3), (1e9, "ms", 1e6)):
        if nanoseconds < limit:
            return f"{nanoseconds / scale:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def median(result):
    return result["nanosecondsPerOperation"]["median"]


def bars(axes, title, results, value=median, text=text_of, is_logarithmic=True):
    """One panel: a bar for each result, the first one on top."""
    values = [value(result) for result in results]
    places = range(len(results))
    axes.barh(places, values, color=[color(result["subject"]) for result in results], height=0.72)
    axes.set_yticks(places, [label(result) for result in results], fontsize=8)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=9, loc="left", fontweight="bold")
    if is_logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 3, max(values) * 6)
    else:
        axes.set_xlim(0, max(values) * 1.35)
    for place, number, result in zip(places, values, results):
        axes.annotate(
            text(result), (number, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=7.5
        )
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.xaxis.set_visible(False)
    axes.tick_params(axis="y", length=0)


def draw(file, heading, panels, footer, columns=2, **style):
    """A file of panels, each (title, results); those without results are left out."""
    panels = [panel for panel in panels if panel[1]]
    if not panels:
        return False
    columns = min(columns, len(panels))
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    heights = [max(len(results) for _, results in row) + 1.6 for row in rows]
    figure, grid = plt.subplots(
        len(rows), columns, figsize=(5.2 * columns, 0.21 * sum(heights) + 0.9), squeeze=False,
        gridspec_kw={"height_ratios": heights}, layout="constrained",
    )
    for axes in grid.flat:
        axes.set_visible(False)
    for row, line in enumerate(rows):
        for column, (title, results) in enumerate(line):
            grid[row][column].set_visible(True)
            bars(grid[row][column], title, results, **style)
    figure.suptitle(heading, fontsize=11, x=0.01, ha="left")
    figure.supxlabel(footer, fontsize=6.5, color="#555555", x=0.01, ha="left")
    figure.savefig(file, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return True


def memory(results, file):
    panels = [
        (f"{name}, {keys // 1000:,} k keys", results.select(name, keys=keys))
        for name in ("memory.get.random", "memory.get.missing", "memory.mixed")
        for keys in (10_000, 200_000)
    ]
    panels += [("memory.set.evicting, 200 k keys", results.select("memory.set.evicting", keys=200_000))]
    panels += [("memory.get.zipf, 1 M keys, 100 k of them held", results.select("memory.get.zipf"))]
    return draw(file, "In memory: time for an operation, as a thread sees it (logarithmic)", panels, results.footer)


def disk(results, file):
    names = [
        "disk.set", "disk.set.batch1000", "disk.replace", "disk.get.random", "disk.get.missing", "disk.remove",
        "disk.reopenFirstGet",
    ]
    panels = [(f"{name}, 100 B", results.select(name, valueSize=100)) for name in names]
    panels += [("disk.get.struct, read and decoded", results.select("disk.get.struct"))]
    return draw(file, "On the disk, values of 100 bytes: time for an operation (logarithmic)", panels, results.footer)


def sizes(results, file):
    panels = [
        (f"{name}, {text}", results.select(name, valueSize=size))
        for name in ("disk.set", "disk.get.random")
        for size, text in SIZES.items()
        if size > 100
    ]
    return draw(file, "On the disk, larger values: time for an operation (logarithmic)", panels, results.footer)


def throughput(results, file):
    """Megabytes a second over the size of a value, a line for each subject."""
    panels = [
        (title, results.select(name))
        for name, title in (("disk.set.bySize", "set"), ("disk.get.bySize", "read"))
        if results.select(name)
    ]
    if not panels:
        return False
    figure, grid = plt.subplots(1, len(panels), figsize=(5.2 * len(panels), 3.6), squeeze=False, layout="constrained")
    for axes, (title, found) in zip(grid[0], panels):
        subjects = list(dict.fromkeys(result["subject"] for result in found))
        for subject in subjects:
            points = sorted((r["valueSize"], r["valueSize"] * 1e3 / median(r)) for r in found if r["subject"] == subject)
            axes.plot(
                *zip(*points), marker="o", markersize=3, linewidth=2 if is_own(subject) else 1,
                label=subject.removeprefix("LMDBCaching."), color=OWN if is_own(subject) and "," not in subject else None,
            )
        axes.set(xscale="log", yscale="log", title=f"disk.{title}.bySize")
        axes.set_xlabel("bytes of a value", fontsize=8)
        axes.set_ylabel("megabytes a second", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.legend(fontsize=6.5, frameon=False)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.suptitle("Throughput over the size of a value", fontsize=11, x=0.01, ha="left")
    figure.supxlabel(results.footer, fontsize=6.5, color="#555555", x=0.01, ha="left")
    figure.savefig(file, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    return True


def archives(results, file):
    contents = [
        "Int", "String of 20 bytes", "Data of 4 KB", "struct of 5 fields", "1,000 structs", "object of 5 fields",
    ]
    panels = [
        (f"{name}, {content}", results.select(name, content=content))
        for content in contents
        for name in ("archive.encode", "archive.decode")
    ]
    return draw(file, "Archives: time to encode and to decode a value (logarithmic)", panels, results.footer)


def wrappers(results, file):
    panels = [
        (f"{name}, {content}", results.select(name, content=content))
        for name, content in (("wrapper.get", "Int"), ("wrapper.get", "String"), ("wrapper.set", "Int"))
    ]
    return draw(file, "Properties: time for an access (logarithmic)", panels, results.footer, columns=3)


def traces(results, file):
    panels = [
        (f"{name}, {part} of the objects", results.select(f"trace.{name}", content=part))
        for name in TRACES
        for part in ("1 %", "10 %")
    ]
    return draw(
        file, "Real traces: hits, and the time for a request", panels, results.footer, value=lambda result: result["hitRatio"] * 100,
        text=lambda result: f"{result['hitRatio'] * 100:.1f} %, {text_of(result)}", is_logarithmic=False,
    )


CHARTS = {
    "memory": memory, "disk": disk, "disk-sizes": sizes, "disk-throughput": throughput,
    "archives": archives, "properties": wrappers, "traces": traces,
}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    # The same results give the same files.
    plt.rcParams.update({"svg.hashsalt": "charts", "font.family": "DejaVu Sans", "savefig.facecolor": "white"})
    results = Results(sys.argv[1])
    directory = pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    for name, chart in CHARTS.items():
        file = directory / f"{name}.svg"
        if chart(results, file):
            print(f"Drawn: {file}")


if __name__ == "__main__":
    main()
