"""The few figures of a results.json that the README shows: a table, and a plot beside it.

`python -m comparison.overview FOLDER README` draws FOLDER/overview.svg and puts the table into the README."""

import json
import pathlib
import re
import sys

from . import budgets, cases, stats, table
from .load import Sample

# Case, and what the README calls it.
ROWS = (("identity/grpc/1", "gRPC, 64 B tensor, 1 in flight"), ("identity/grpc/32", "gRPC, 64 B tensor, 32 in flight"),
        ("identity/http/32", "HTTP, binary, 64 B tensor, 32 in flight"),
        ("identity/json/32", "HTTP, JSON, 16 numbers, 32 in flight"), ("identity_1mb/grpc/4", "gRPC, 1 MB tensor, 4 in flight"),
        ("identity_1mb/http/4", "HTTP, 1 MB tensor, 4 in flight"), ("digits/grpc/32", "ONNX digits, gRPC, 32 in flight"))
FIGURES = (("throughput", "requests/s"), ("cpu", "CPU a request"), ("p99", "p99"))
BEGIN, END = "<!-- figures: bench/results -->\n", "\n<!-- end of figures -->"


class Results:
    """A results.json; `complete(case, peer)` gives the samples as the runner does."""

    def __init__(self, folder):
        document = json.loads((folder / "results.json").read_text())
        self.machine, self.versions, self.date = document["machine"], document["versions"], document["date"]
        self.repetitions, self.seconds = document["repetitions"], document["seconds"]
        self._samples = {}
        for entry in document["samples"]:
            fields = {name: entry[name] for name in Sample.__dataclass_fields__}
            self._samples.setdefault((entry["case"], entry["peer"]), []).append(Sample(**fields))

    def complete(self, case, peer):
        return self._samples.get((case.name, peer), [])


def shown(results):
    """Case, label and the spread of each figure's ratio, for the rows that were measured."""
    known = {case.name: case for case in cases.all_cases()}
    for name, label in ROWS:
        ours, theirs = (results.complete(known[name], peer) for peer in ("atoll", "triton"))
        if ours and theirs:
            yield label, ours, theirs, [budgets.ratio_of(figure, ours, theirs) for figure, _ in FIGURES]


def text(results):
    """The README's part."""
    lines = []
    for label, ours, theirs, ratios in shown(results):
        both = [table.number(stats.spread(sample.throughput for sample in samples).median) for samples in (ours, theirs)]
        lines.append([label, *both, *(table.with_spread(ratio) for ratio in ratios)])
    header = ["identity model unless named", "Atoll, requests/s", "Triton, requests/s",
              *(f"{label}, Atoll / Triton" for _, label in FIGURES)]
    facts = (f"{results.machine['CPU']}, {results.machine['memory']}, one core for the server and one for the client; Triton "
             f"{results.versions['triton']}; {results.repetitions} repetitions of {results.seconds:g} s in one run, {results.date}: "
             "medians, in brackets the smallest and the largest.")
    return table.rows(header, lines) + "\n\n" + facts


def draw(path, results):
    """Bars of the ratios, with their spread, of the rows that have all; no file if there is none."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "atoll", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot
    rows = [row for row in shown(results) if all(row[3])]
    if not rows:
        return
    figure, axes = pyplot.subplots(1, len(FIGURES), figsize=(9.5, 3), layout="constrained", sharey=True)
    places = range(len(rows), 0, -1)
    for index, (axis, (_, label)) in enumerate(zip(axes, FIGURES)):
        ratios = [row[3][index] for row in rows]
        errors = [[ratio.median - ratio.low for ratio in ratios], [ratio.high - ratio.median for ratio in ratios]]
        axis.barh(places, [ratio.median for ratio in ratios], xerr=errors, color="#0b6e4f", ecolor="#444444", capsize=2,
                  height=0.6)
        axis.axvline(1, color="#76b900", linewidth=2)
        axis.set_xlim(left=0)
        axis.set_title(label, fontsize=9)
        axis.set_xlabel(f"Triton = 1; {'more' if index == 0 else 'less'} is better")
        axis.grid(axis="x", alpha=0.3)
    axes[0].set_yticks(places, [row[0] for row in rows])
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def put_into(page, part):
    """The page with the part between the marks replaced."""
    pattern = re.escape(BEGIN) + ".*?" + re.escape(END)
    replaced, count = re.subn(pattern, lambda _: BEGIN + part + END, page, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the page has {count} places for figures; expected 1")
    return replaced


def main(folder, readme):
    results = Results(folder)
    draw(folder / "overview.svg", results)
    readme.write_text(put_into(readme.read_text(), text(results)))


if __name__ == "__main__":
    main(*(pathlib.Path(argument) for argument in sys.argv[1:]))
