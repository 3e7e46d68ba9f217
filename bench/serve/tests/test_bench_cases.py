import pytest

from comparison import cases, options, peers, plots


def names(chosen):
    return [case.name for case in chosen]


def test_selection():
    every = cases.all_cases()
    assert names(cases.select(every, ["identity/grpc/8"])) == ["identity/grpc/8"]
    assert names(cases.select(every, ["identity_1mb/shm"])) == ["identity_1mb/shm/1", "identity_1mb/shm/4"]
    assert names(cases.select(every, ["digits*/grpc/64", "identity/json/1"])) == [
        "identity/json/1", "digits/grpc/64", "digits_dynamic/grpc/64"]
    assert cases.select(every, ["*"]) == every


def test_a_pattern_that_fits_nothing_is_refused():
    with pytest.raises(ValueError, match="no case fits 'identity/grpc/9'.*identity/stream"):
        cases.select(cases.all_cases(), ["identity/grpc/8", "identity/grpc/9"])


def test_connections_are_in_the_name():
    case = cases.Case("identity", cases.GRPC, 16, connections=4)
    assert (case.name, case.group, case.in_flight) == ("identity/grpc_on_4/16", "identity/grpc_on_4", 64)
    assert case in cases.select(cases.known_cases(), ["identity/grpc_on_*"])


def test_names_are_unique():
    every = names(cases.known_cases())
    assert len(every) == len(set(every))


def test_quick_covers_every_group():
    for every in (cases.all_cases(), cases.python_cases()):
        assert {case.group for case in cases.quick_cases(every)} == {case.group for case in every}


@pytest.mark.parametrize("words", [["--cases", "nothing"], ["--peers", "atoll,nobody"], ["--repetitions", "0"],
                                   ["--seconds", "-1"], ["--cases", ","], ["--server-core", "9999"]])
def test_bad_options_are_refused(words, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    with pytest.raises(SystemExit) as end:
        options.parse(words)
    assert end.value.code == 2


def test_options(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {2, 3, 5})
    given = options.parse(["--quick", "--peers", "echo,atoll"])
    assert (given.server_core, given.client_core) == (5, 3)
    assert given.peers == ["atoll", "echo"]
    assert given.repetitions == 1 and given.seconds == 0.5
    # Figures of a quick run do not end up where real ones are.
    assert options.ROOT / "bench" not in given.output.parents
    assert options.parse([]).output == options.ROOT / "bench" / "results"


def test_the_transports_table(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    given = options.parse(["--transport"])
    assert given.cases == cases.transport_cases()
    assert given.peers == ["triton", "atoll_nghttp2", "atoll_grpc", "nghttpd"]
    assert given.idle_connections == 10_000
    assert given.output == options.ROOT / "bench" / "results" / "transport"
    assert options.parse(["--transport", "--peers", "atoll", "--idle-connections", "5"]).idle_connections == 5
    assert options.parse([]).idle_connections == 0


def test_the_table_of_python_models(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    given = options.parse(["--python"])
    assert given.cases == cases.python_cases()
    assert given.peers == ["atoll", "triton", "python"]
    assert given.output == options.ROOT / "bench" / "results" / "python"
    assert {case.model for case in options.parse(["--python", "--quick"]).cases} == set(cases.PYTHON_MODELS)
    with pytest.raises(SystemExit):
        options.parse(["--python", "--transport"])


def test_one_core_is_not_enough(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    with pytest.raises(SystemExit):
        options.parse([])


def test_the_floor_serves_large_tensors_alone():
    for kind in (peers.Floor, peers.FloorCopied):
        peer = kind(options=None)
        assert [case.group for case in cases.quick_cases(cases.all_cases()) if peer.supports(case)] == [
            "identity_1mb/grpc", "identity_1mb/http"]


def test_every_server_has_a_colour():
    assert set(plots.COLORS) == set(peers.KINDS)
