"""One SVG a group: throughput, p99 and CPU over the requests in flight."""

from . import stats, table

# Figure, label, whether the servers lie so far apart that only a logarithm shows them all.
PANELS = (("throughput", "requests/s", False), ("p99", "p99, µs", True), ("cpu", "CPU, µs a request", True))
COLORS = {"atoll": "#0b6e4f", "atoll_nghttp2": "#3fa796", "atoll_grpc": "#9cc5a1", "triton": "#76b900", "mlserver": "#c1440e",
          "echo": "#6c757d", "floor": "#222222", "floor_copied": "#8d99ae", "nghttpd": "#6a4c93", "python": "#306998"}


def write(folder, groups, peers, complete):
    """The file's name by group; none for a group without figures."""
    import matplotlib
    matplotlib.use("svg")
    # The same figures make the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "atoll", "svg.fonttype": "none", "font.size": 9})
    written = {}
    for group, cases in groups.items():
        if any(complete(case, peer) for case in cases for peer in peers):
            written[group] = group.replace("/", "-") + ".svg"
            _draw(folder / written[group], table.TITLES[group], cases, peers, complete)
    return written


def _draw(path, title, cases, peers, complete):
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(PANELS), figsize=(11, 3.4), layout="constrained")
    for axis, (name, label, logarithmic) in zip(axes, PANELS):
        for peer in peers:
            _line(axis, name, peer, [(case.concurrency, complete(case, peer)) for case in cases])
        axis.set_xscale("log", base=2)
        axis.set_xticks([case.concurrency for case in cases], [str(case.concurrency) for case in cases])
        if logarithmic:
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter("{x:g}")
        else:
            axis.set_ylim(bottom=0)
        axis.set_xlabel("requests in flight")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
    figure.suptitle(title)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _line(axis, name, peer, points):
    """The median of each case; the bar is from the smallest to the largest."""
    spreads = [(x, stats.spread(getattr(sample, name) for sample in samples)) for x, samples in points if samples]
    spreads = [(x, spread) for x, spread in spreads if spread is not None]
    if spreads:
        below = [spread.median - spread.low for _, spread in spreads]
        above = [spread.high - spread.median for _, spread in spreads]
        axis.errorbar([x for x, _ in spreads], [spread.median for _, spread in spreads], yerr=[below, above], marker="o",
                      markersize=4, capsize=3, label=peer, color=COLORS[peer])
