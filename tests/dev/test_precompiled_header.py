"""A precompiled header from ccache is that of the headers as they are."""

import os
import subprocess
import time

import pytest
from support.server import ROOT

MAKE = ROOT / "etc/cmake/new-precompiled-header"


def make(folder, comment, with_comments=True):
    """As CMake does, with ccache as etc/dev/build sets it up. \\returns how often ccache has given what it had"""
    cache = {"CCACHE_DIR": str(folder / "cache"), "CCACHE_SLOPPINESS": "pch_defines,time_macros", "CCACHE_NOHASHDIR": "1",
             "CCACHE_BASEDIR": str(folder)}
    (folder / "a.h").write_text(f"#pragma once\n// {comment}\nstruct A {{}};\n")
    for name, text in (("all.hxx", '#include "a.h"\n'), ("all.hxx.cxx", ""), ("user.cc", '#include "a.h"\nA a;\n')):
        (folder / name).write_text(text)
    old = time.time() - 60  # ccache looks twice at files that have just changed
    for name in ("a.h", "all.hxx", "all.hxx.cxx"):
        os.utime(folder / name, (old, old))
    environment = {**os.environ, **cache}
    (folder / "all.hxx.gch").unlink(missing_ok=True)
    command = ["ccache", "g++", "-x", "c++-header", "-include", folder / "all.hxx", "-o", "all.hxx.gch", "-c", "all.hxx.cxx"]
    subprocess.run([MAKE, *command] if with_comments else command, cwd=folder, env=environment, check=True)
    counters = subprocess.run(["ccache", "--print-stats"], env=environment, check=True, capture_output=True, text=True).stdout
    counters = dict(line.split("\t") for line in counters.splitlines())
    return int(counters["direct_cache_hit"]) + int(counters["preprocessed_cache_hit"])


def use(folder):
    subprocess.run(["g++", "-Winvalid-pch", "-Werror", "-include", "all.hxx", "-fsyntax-only", "user.cc"], cwd=folder, check=True)


@pytest.mark.parametrize("comment, hits", [("as before", 1), ("a longer comment", 0)])
def test_a_change_of_comments_makes_a_new_one(tmp_path, comment, hits):
    make(tmp_path, "as before")
    assert make(tmp_path, comment) == hits
    use(tmp_path)


def test_a_cache_that_was_filled_without_comments_gives_no_old_one(tmp_path):
    make(tmp_path, "as before", with_comments=False)
    make(tmp_path, "a longer comment", with_comments=False)
    with pytest.raises(subprocess.CalledProcessError):
        use(tmp_path)  # what ccache does by itself
    make(tmp_path, "a longer comment")
    use(tmp_path)
