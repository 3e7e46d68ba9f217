"""The results as Markdown."""

from . import budgets, caveats, stats

TITLES = {"identity/grpc": "Identity, FP32 [16], gRPC ModelInfer", "identity/stream": "Identity, FP32 [16], gRPC ModelStreamInfer",
          "identity/grpc_on_8": "Identity, FP32 [16], gRPC ModelInfer on 8 connections",
          "identity/grpc_on_4": "Identity, FP32 [16], gRPC ModelInfer on 4 connections",
          "identity/one_stream": "Identity, FP32 [16], one gRPC ModelStreamInfer",
          "identity/http": "Identity, FP32 [16], HTTP, binary tensors", "identity/json": "Identity, FP32 [16], HTTP, JSON",
          "identity_1mb/grpc": "Identity, 1 MB in and out, gRPC ModelInfer",
          "identity_1mb/http": "Identity, 1 MB in and out, HTTP, binary tensors",
          "identity_1mb/shm": "Identity, 1 MB in and out, system shared memory",
          "identity_chain/grpc": "An ensemble of three steps, each Identity, FP32 [16], gRPC ModelInfer",
          "identity_missed/grpc": "Identity with a response cache that never has the answer, gRPC ModelInfer",
          "identity_1ms/grpc": "Identity that takes a millisecond, one instance, gRPC ModelInfer",
          "identity_1ms_cached/grpc": "The same with a response cache that has the answer",
          "python_identity/grpc": "Identity in Python, FP32 [16], gRPC ModelInfer",
          "python_identity/http": "Identity in Python, FP32 [16], HTTP, binary tensors",
          "python_identity_1mb/grpc": "Identity in Python, 1 MB in and out, gRPC ModelInfer",
          "python_identity_1mb/http": "Identity in Python, 1 MB in and out, HTTP, binary tensors",
          "python_busy/grpc": "Python that computes, eight instances, gRPC ModelInfer",
          "digits/grpc": "Digits (ONNX), one image a request, gRPC",
          "digits_dynamic/grpc": "Digits (ONNX), one image a request, dynamic batching, gRPC"}
FIGURES = {"throughput": "throughput", "cpu": "CPU a request", "p99": "p99"}
OURS = ("atoll", "atoll_nghttp2", "atoll_grpc")


def number(value):
    """Three digits at least, thousands apart."""
    for limit, digits in ((10, 2), (100, 1)):
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def with_spread(spread):
    if spread is None:
        return "–"
    if spread.low == spread.high:
        return number(spread.median)
    return f"{number(spread.median)} ({number(spread.low)}–{number(spread.high)})"


def rows(header, lines):
    """A Markdown table."""
    table = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" for _ in header) + " |"]
    return "\n".join(table + ["| " + " | ".join(line) + " |" for line in lines])


def figures(group_cases, peers, complete):
    """The table of one group."""
    header = ["in flight", "server", "requests/s", "p50 µs", "p99 µs", "p99.9 µs", "CPU µs/request", "user", "system",
              "peak MB", "server core", "client core", "load by", "notes"]
    lines = []
    for case in group_cases:
        for peer in peers:
            samples = complete(case, peer)
            if not samples:
                continue

            def of(figure, scale=1, samples=samples):
                values = [getattr(sample, figure) for sample in samples]
                return stats.spread(None if value is None else value * scale for value in values)
            each = f" on each of {case.connections}" if case.connections != 1 else ""
            lines.append([f"{case.concurrency}{each}", samples[0].server, with_spread(of("throughput")), with_spread(of("p50")),
                          with_spread(of("p99")), with_spread(of("p999")), with_spread(of("cpu")),
                          number(of("cpu_user").median), number(of("cpu_system").median),
                          number(of("peak_bytes", 1e-6).median), f"{of('server_share').median:.0%}",
                          f"{of('client_share').median:.0%}", samples[0].generator, ", ".join(caveats.of(samples))])
    return rows(header, lines) if lines else "No figures."


def ratios(cases, peers, complete, ours="atoll"):
    """One server's figures through each peer's."""
    others = [peer for peer in peers if peer != ours]
    header = ["case"] + [f"{text} / {peer}'s" for peer in others for text in FIGURES.values()]
    lines = []
    for case in cases:
        spreads = [budgets.ratio_of(figure, complete(case, ours), complete(case, peer))
                   for peer in others for figure in FIGURES]
        if any(spread is not None for spread in spreads):
            lines.append([case.name] + [with_spread(spread) for spread in spreads])
    return rows(header, lines) if lines else "Nothing to compare."


def idle(bytes_each, peers):
    """What an idle connection takes. `bytes_each`: the figures of the repetitions by peer"""
    lines = []
    for peer in peers:
        spread = stats.spread(value / 1024 for value in bytes_each.get(peer, []))
        if spread is None:
            continue
        most = budgets.IDLE_KIB.get(peer)
        said = ["–", ""] if most is None else [f"≤ {most}", "met" if spread.median <= most else "MISSED"]
        lines.append([peer, with_spread(spread), *said])
    return rows(["server", "KiB a connection", "budget", ""], lines) if lines else "No figures."


def verdicts(judged):
    lines = []
    for verdict in judged:
        said = "not measured" if verdict.ratio is None else "met" if verdict.met else "MISSED"
        if verdict.caveats:
            said += f" ({', '.join(verdict.caveats)})"
        server = "" if verdict.budget.ours == "atoll" else f"{verdict.budget.ours}'s "
        lines.append([verdict.case.name, f"{server}{FIGURES[verdict.budget.figure]} / {verdict.budget.compared_with}'s",
                      verdict.budget.text, with_spread(verdict.ratio), said])
    return rows(["case", "figure", "budget", "measured", ""], lines) if lines else "None of these cases has one."
