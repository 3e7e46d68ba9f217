"""What the tests' own Slurm cluster says when it does not begin."""

import pytest
from support import slurm


def test_a_program_that_ends_says_why_at_once(monkeypatch):
    monkeypatch.setattr(slurm, "CGROUPS", "CgroupPlugin=nosuch\n")
    with pytest.raises(AssertionError, match=r"(?s)ended: slurmd -D -N n\d: exit code \d+.*--- slurmd.out\n.*cgroup plugin for nosuch"):
        with slurm.Cluster():
            pass
