#!/usr/bin/env python3
"""What placing a lease costs, and how well the placements pack: placement_bench with several seeds.

    etc/dev/build release bench && build/venv/bin/python bench/placement/measure.py [--runs 7] [--output FOLDER]

Writes placement.md and placement.svg to --output. Exits with 1 if a median of p99 misses the budget. Plots need matplotlib
(bench/serve/requirements.txt).
"""

import argparse
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUDGET_US = 20
COLUMNS = ("instances", "leases", "p50", "p99", "most", "p50, then", "p99, then", "most, then")
PLACEMENTS = ("best_fit", "first_fit", "spread")


def read_tables(text):
    """Two tables of placement_bench, as {first column: other columns as numbers}."""
    tables = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and set(cells[0]) == {"-"}:
            tables.append({})
        elif cells and tables and cells[0] not in ("placement", "leases, quota of 100"):
            tables[-1][cells[0]] = [float(cell) for cell in cells[1:]]
    return tables


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def report(runs, cpu):
    decisions, packings = [run[0] for run in runs], [run[1] for run in runs]
    lines = [f"Placing leases: {len(runs)} runs with seeds of their own, on {cpu}, {platform.system()} {platform.release()}; "
             "medians, in brackets the smallest and the largest.", "",
             "## Microseconds of a decision with its book-keeping", "",
             "A pool is filled with 10,000 leases, of 1 to 18 of 100; then a third of them end, and each time one comes another one ends. "
             f"Budget: {BUDGET_US} µs (p99; the longest ones are those in which the machine did something else).", "",
             "| placement | " + " | ".join(COLUMNS) + " |", "| --- |" + " --- |" * len(COLUMNS)]
    for placement in PLACEMENTS:
        cells = [spread([run[placement][i] for run in decisions], 0 if i < 2 else 1) for i in range(len(COLUMNS))]
        lines.append(f"| {placement} | " + " | ".join(cells) + " |")
    lines += ["", "## Instances, through the fewest that could hold the leases", "",
              "Of twelve leases the fewest are found by search; of a thousand it is the sum of their quotas through 100, which may be fewer "
              "than are possible. Each figure is the mean of 50 sets of leases.", "", "![Packing](placement.svg)", "",
              "| leases | " + " | ".join(PLACEMENTS) + " |", "| --- | --- | --- | --- |"]
    for case in packings[0]:
        cells = [spread([run[case][i] for run in packings], 3) for i in range(len(PLACEMENTS))]
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def plot(runs, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "atoll", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot
    cases = list(runs[0][1])
    figure, axis = pyplot.subplots(figsize=(9, 3.4), layout="constrained")
    for i, placement in enumerate(PLACEMENTS):
        values = [[run[1][case][i] for run in runs] for case in cases]
        medians = [statistics.median(each) for each in values]
        errors = [[m - min(each) for m, each in zip(medians, values)], [max(each) - m for m, each in zip(medians, values)]]
        axis.bar([x + 0.27 * (i - 1) for x in range(len(cases))], [m - 1 for m in medians], 0.25, bottom=1, yerr=errors,
                 capsize=2, label=placement)
    axis.set_xticks(range(len(cases)), [case.replace(" (", "\n(") for case in cases])
    axis.set_ylabel("instances / the fewest")
    axis.grid(axis="y", alpha=0.3)
    axis.legend()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "bench" / "results" / "placement")
    options = parser.parse_args()
    program = ROOT / "build" / "release" / "bench" / "placement_bench"
    runs = [read_tables(subprocess.run([program, str(seed)], check=True, capture_output=True, text=True).stdout)
            for seed in range(1, options.runs + 1)]
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    options.output.mkdir(parents=True, exist_ok=True)
    text = report(runs, cpu)
    (options.output / "placement.md").write_text(text)
    plot(runs, options.output / "placement.svg")
    print(text, end="")
    worst = max(statistics.median(run[0][placement][i] for run in runs) for placement in PLACEMENTS for i in (3, 6))
    return 1 if worst > BUDGET_US else 0


if __name__ == "__main__":
    sys.exit(main())
