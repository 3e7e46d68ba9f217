"""Makes the arrivals of the reference cases: the same bytes on every machine, which their SHA-256 in expected.json shows.

    build/venv/bin/python bench/goodput/reference/make_arrivals.py FOLDER [CASE...]

Two files for each case, `CASE.csv`, and `CASE.other.csv` with another seed, which is a past from which to plan: a line `t_ms,model` and then one for each request, milliseconds with three decimals and the
model's number, in the order in which they are to be processed. Files that are there already with the right content are kept. Each
model's gaps are Gamma distributed with shape 1/CV² (a CV of 1 is a Poisson process) and independent; every (seed, model, period) has
a generator of its own.
"""

import dataclasses
import hashlib
import json
import pathlib
import sys

import numpy

HERE = pathlib.Path(__file__).resolve().parent
OTHER_SEED = 1000  # is added


@dataclasses.dataclass
class Traffic:
    """What one case sends."""

    seed: int
    cv: float
    periods: list  # (begin in s, end in s, requests/s of each model)


def shares(models, exponent):
    """A power law over ranks; they add up to 1."""
    weights = (numpy.arange(models) + 1.0) ** -exponent
    return weights / weights.sum()


def two_models(split, cv):
    return Traffic(1, cv, [(0, 4000, [3.0 * share for share in split])])


def sixteen_models(load, cv):
    """Of 0.1 s each on 8 devices."""
    return Traffic(2, cv, [(0, 600, list(shares(16, 0.5) * load * 8 / 0.1))])


def mixed_models(exponent, shifts):
    """24 models of 0.03, 0.1 and 0.3 s on 8 devices; with shifts, each 120 s every model's rate becomes that of the rank 6 further on."""
    by_rank = shares(24, exponent)

    def rates(shift):
        mine = [by_rank[(model + shift) % 24] for model in range(24)]
        work = sum(share * (0.03, 0.1, 0.3)[model % 3] for model, share in enumerate(mine))
        scale = 0.8 * 8 / work  # the same offered work in every period
        return [share * scale for share in mine]

    if not shifts:
        return Traffic(3, 4, [(0, 600, rates(0))])
    return Traffic(3, 4, [(120 * period, 120 * (period + 1), rates(6 * period)) for period in range(5)])


def all_traffic():
    traffic = {f"A_{name}_cv{cv}": two_models(split, cv) for name, split in (("1to1", (0.5, 0.5)), ("2to8", (0.2, 0.8))) for cv in (1, 3)}
    traffic |= {f"B_load{load}_cv{cv}": sixteen_models(load, cv) for load in (0.6, 0.8, 0.95) for cv in (1, 4, 8)}
    return traffic | {"C_static": mixed_models(0.5, False), "C_shift": mixed_models(0.5, True), "C_shift_steep": mixed_models(1.0, True)}


def renewals(random, rate, cv, begin, end):
    """Times of one model in one period, in seconds."""
    gaps = numpy.empty(0)
    while gaps.sum() <= end - begin:
        gaps = numpy.append(gaps, random.gamma(1 / cv**2, cv**2 / rate, size=4096))
    times = begin + numpy.cumsum(gaps)
    return times[times < end]


def csv_of(traffic):
    """The file's content. Equal times stand in the order of models."""
    rows = []
    for period, (begin, end, rates) in enumerate(traffic.periods):
        for model, rate in enumerate(rates):
            times = renewals(numpy.random.default_rng([traffic.seed, model, period]), rate, traffic.cv, begin, end)
            rows += [(int(time), model) for time in numpy.rint(times * 1e6)]
    rows.sort()
    return "".join(["t_ms,model\n", *(f"{us // 1000}.{us % 1000:03d},{model}\n" for us, model in rows)]).encode()


def write_arrivals(folder, names=()):
    """Raises ValueError for a case that does not exist, or if numpy here draws other numbers."""
    cases = json.loads((HERE / "expected.json").read_text())["cases"]
    folder.mkdir(parents=True, exist_ok=True)
    traffic = all_traffic()
    for name in names or traffic:
        if name not in traffic:
            raise ValueError(f"{name} is none of the cases: {', '.join(traffic)}")
        other = dataclasses.replace(traffic[name], seed=traffic[name].seed + OTHER_SEED)
        write_file(folder / f"{name}.csv", traffic[name], cases[name]["sha256"])
        write_file(folder / f"{name}.other.csv", other, cases[name]["sha256_other"])


def write_file(file, traffic, digest):
    if file.exists() and hashlib.sha256(file.read_bytes()).hexdigest() == digest:
        return
    content = csv_of(traffic)
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{file.name} would have other arrivals than those that were counted: numpy {numpy.__version__} draws other numbers")
    file.write_bytes(content)


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    try:
        write_arrivals(pathlib.Path(sys.argv[1]), sys.argv[2:])
    except (OSError, ValueError) as error:
        sys.exit(str(error))
