import pytest

from comparison import budgets, cases, stats, table
from fake_samples import FakeSample, completed

GRPC_8 = cases.Case("identity", cases.GRPC, 8)
PEERS = ["atoll", "triton", "echo"]


def cells(text):
    """The rows of a Markdown table as dictionaries by column."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert set(lines[1]) == {"---"} and len({len(line) for line in lines}) == 1
    return [dict(zip(lines[0], line)) for line in lines[2:]]


def complete(**samples):
    return completed({(GRPC_8.name, peer): found for peer, found in samples.items()})


@pytest.mark.parametrize("value, text", [(0.456, "0.46"), (9.99, "9.99"), (12.34, "12.3"), (123.4, "123"),
                                         (98765.4, "98,765")])
def test_numbers(value, text):
    assert table.number(value) == text


def test_spreads():
    assert table.with_spread(None) == "–"
    assert table.with_spread(stats.Spread(2, 2, 2)) == "2.00"
    assert table.with_spread(stats.Spread(200, 100, 3000)) == "200 (100–3,000)"


def test_figures_have_a_row_for_each_measured_server():
    rows = cells(table.figures([GRPC_8], PEERS, complete(
        atoll=[FakeSample(throughput=value) for value in (900, 1000, 1100)],
        echo=[FakeSample(server="grpc_echo-raw", p999=None)])))
    assert [row["server"] for row in rows] == ["atoll", "grpc_echo-raw"]
    assert rows[0]["requests/s"] == "1,000 (900–1,100)"
    assert rows[0]["peak MB"] == "50.0"
    assert rows[0]["load by"] == "h2load"
    assert rows[1]["p99.9 µs"] == "–"


def test_caveats_are_notes():
    rows = cells(table.figures([GRPC_8], PEERS, complete(atoll=[FakeSample(foreign_share=0.2)])))
    assert rows[0]["notes"] == "disturbed 20%"


def test_ratios():
    rows = cells(table.ratios([GRPC_8], PEERS, complete(
        atoll=[FakeSample(throughput=3000, cpu=4.0)], triton=[FakeSample(cpu=8.0)])))
    assert rows == [{"case": "identity/grpc/8", "throughput / triton's": "3.00", "CPU a request / triton's": "0.50",
                     "p99 / triton's": "1.00", "throughput / echo's": "–", "CPU a request / echo's": "–",
                     "p99 / echo's": "–"}]


def test_ratios_of_nothing():
    assert table.ratios([GRPC_8], PEERS, complete()) == "Nothing to compare."
    assert table.ratios([GRPC_8], ["atoll"], complete(atoll=[FakeSample()])) == "Nothing to compare."


def test_verdicts():
    found = budgets.judge([GRPC_8], complete(atoll=[FakeSample(throughput=3000, p99=200)], triton=[FakeSample()]))
    said = {(row["figure"]): row[""] for row in cells(table.verdicts(found))}
    assert said == {"throughput / triton's": "met", "CPU a request / triton's": "MISSED", "p99 / triton's": "MISSED",
                    "throughput / echo's": "not measured"}


def test_every_group_has_a_title():
    assert {case.group for case in cases.known_cases()} == set(table.TITLES)


def test_connections_are_shown():
    case = cases.Case("identity", cases.GRPC, 16, connections=4)
    rows = cells(table.figures([case], ["atoll"], completed({(case.name, "atoll"): [FakeSample()]})))
    assert rows[0]["in flight"] == "16 on each of 4"


def test_idle_connections():
    rows = cells(table.idle({"atoll": [50 * 1024, 60 * 1024, 52 * 1024], "atoll_nghttp2": [33 * 1024]}, [*PEERS, "atoll_nghttp2"]))
    assert [(row["server"], row["KiB a connection"], row[""]) for row in rows] == [
        ("atoll", "52.0 (50.0–60.0)", ""), ("atoll_nghttp2", "33.0", "MISSED")]
    assert table.idle({}, PEERS) == "No figures."
