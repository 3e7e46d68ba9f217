import dataclasses
import fnmatch

import pytest

from comparison import budgets, cases
from fake_samples import FakeSample, completed

GRPC_8 = cases.Case("identity", cases.GRPC, 8)
ONE_MB_GRPC = cases.Case("identity_1mb", cases.GRPC, 4)
ONE_MB = cases.Case("identity_1mb", cases.SHM, 1)


def judge(case, **samples):
    return budgets.judge([case], completed({(case.name, peer): found for peer, found in samples.items()}))


def verdict(found, figure, peer):
    return next(v for v in found if v.budget.figure == figure and v.budget.peer == peer)


def test_every_budget_has_cases():
    names = [case.name for case in cases.known_cases()]
    for budget in budgets.BUDGETS:
        assert any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in budget.cases), budget


@pytest.mark.parametrize("throughput, met", [(2000, True), (1999, False)])
def test_at_least(throughput, met):
    found = judge(GRPC_8, atoll=[FakeSample(throughput=throughput)], triton=[FakeSample(throughput=1000)])
    assert verdict(found, "throughput", "triton").met is met
    assert verdict(found, "throughput", "triton").ratio.median == throughput / 1000


@pytest.mark.parametrize("cpu, met", [(5.0, True), (5.1, False)])
def test_at_most(cpu, met):
    found = judge(ONE_MB, atoll=[FakeSample(cpu=cpu)], triton=[FakeSample(cpu=10.0)])
    assert [v.met for v in found] == [met]


def test_the_median_decides():
    ours = [FakeSample(throughput=value) for value in (1000, 2100, 2200)]
    found = judge(GRPC_8, atoll=ours, triton=[FakeSample(throughput=1000)] * 3)
    assert verdict(found, "throughput", "triton").met


def test_each_server_has_its_own():
    samples = completed({(ONE_MB_GRPC.name, "atoll_nghttp2"): [FakeSample(cpu=4.0)], (ONE_MB_GRPC.name, "triton"): [FakeSample(cpu=10.0)]})
    assert [v.met for v in budgets.judge([ONE_MB_GRPC], samples, ["atoll_nghttp2"])] == [True]
    found = budgets.judge([ONE_MB_GRPC], samples, ["atoll", "atoll_nghttp2"])
    assert {v.budget.ours: v.met for v in found} == {"atoll": False, "atoll_nghttp2": True}


def test_nothing_to_compare_is_not_met():
    found = judge(GRPC_8, atoll=[FakeSample(foreign_share=0.5)])
    assert found and all(v.ratio is None and not v.met and not v.caveats for v in found)


def test_disturbed_figures_are_marked():
    quiet, disturbed = FakeSample(), dataclasses.replace(FakeSample(), foreign_share=0.5)
    assert verdict(judge(GRPC_8, atoll=[quiet], triton=[quiet]), "cpu", "triton").caveats == ()
    found = judge(GRPC_8, atoll=[quiet], triton=[disturbed])
    assert verdict(found, "cpu", "triton").caveats == ("triton disturbed 50%",)


def test_a_client_at_its_limit_is_marked_unless_the_server_is_too():
    client, both = FakeSample(client_share=1.0, server_share=0.6), FakeSample(client_share=1.0, server_share=1.0)
    found = judge(GRPC_8, atoll=[client], triton=[both])
    assert verdict(found, "throughput", "triton").caveats == ("atoll client-limited",)


@pytest.mark.parametrize("cpu, met", [(13.0, True), (13.1, False)])
def test_another_model_of_the_same_server_is_a_baseline(cpu, met):
    case = cases.Case(cases.ENSEMBLE, cases.GRPC, 8)
    samples = {(case.name, "atoll"): [FakeSample(cpu=cpu)], (GRPC_8.name, "atoll"): [FakeSample(cpu=10.0)],
               (GRPC_8.name, "triton"): [FakeSample(cpu=1.0)]}
    found = budgets.judge([case], completed(samples))
    assert [v.met for v in found] == [met]
    assert found[0].budget.compared_with == "identity"
