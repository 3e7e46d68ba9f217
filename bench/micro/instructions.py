#!/usr/bin/env python3
"""How many instructions a request takes from parsing to responding, in this process and without the transport, and what
HTTP/2 by nghttp2 adds (http2: from the bytes that came to the bytes that go, without the model), counted by callgrind and
held against the budget in instructions.json. A rise over 5 % fails and shows which functions it is in.

    etc/dev/build release request_instructions && bench/micro/instructions.py [--update] [--build build/release]

--update writes what was counted as the new budget: for changes that are worth what they cost, or that save.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUDGET = pathlib.Path(__file__).with_name("instructions.json")
PATHS = ("grpc", "http", "json", "http2")
REQUESTS = 1000
RISE_MOST = 0.05
# Functions that cost less than this a request are summed up as OTHERS.
FUNCTION_LEAST = 20
OTHERS = "others"
# Functions of a library without symbols are together under this name: their addresses change with each version.
UNNAMED = "functions without a name"
SHOWN = 15


def read_functions(text):
    """callgrind_annotate's list: instructions by function. One function may be in several lines, one a source file that
    was inlined into it."""
    functions = collections.Counter()
    for line in text.splitlines():
        found = re.match(r"\s*([\d,]+) \([\s\d.]+%\)\s+[^:]*:(?!:)(.*?)(?: \[[^\]]*\])?$", line)
        if found:
            name = UNNAMED if re.fullmatch(r"0x[0-9a-f]+", found.group(2)) else found.group(2)
            functions[name] += int(found.group(1).replace(",", ""))
    return functions


def each_request(functions, requests):
    """Budget of one path: the total and the functions that matter, a request."""
    counted = {name: round(count / requests) for name, count in functions.items()}
    kept = {name: count for name, count in counted.items() if count >= FUNCTION_LEAST}
    total = round(sum(functions.values()) / requests)
    return {"total": total, "functions": dict(sorted(kept.items())) | {OTHERS: total - sum(kept.values())}}


def difference(budget, counted):
    """Lines that say what changed most, the largest rise first."""
    names = budget["functions"].keys() | counted["functions"].keys()
    changes = {name: counted["functions"].get(name, 0) - budget["functions"].get(name, 0) for name in names}
    ordered = sorted((change, name) for name, change in changes.items() if change)
    return [f"  {change:+6d}  {name}" for change, name in reversed(ordered)][:SHOWN]


def is_over(budget, counted):
    return counted["total"] > budget["total"] * (1 + RISE_MOST)


def count(program, path):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "callgrind.out"
        subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={output}", program,
                        path, str(REQUESTS)], check=True, capture_output=True, text=True)
        listed = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", output], check=True,
                                capture_output=True, text=True)
    return each_request(read_functions(listed.stdout), REQUESTS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    options = parser.parse_args()
    counted = {path: count(options.build / "bench" / "request_instructions", path) for path in PATHS}
    if options.update:
        BUDGET.write_text(json.dumps(counted, indent=1) + "\n")
    budgets = json.loads(BUDGET.read_text())
    over = []
    for path in PATHS:
        change = counted[path]["total"] / budgets[path]["total"] - 1
        print(f"{path}: {counted[path]['total']:,} instructions a request, budget {budgets[path]['total']:,} "
              f"({change:+.1%}; at most +{RISE_MOST:.0%})")
        if is_over(budgets[path], counted[path]):
            over.append(path)
            print("\n".join(difference(budgets[path], counted[path])))
    if over:
        sys.exit(f"over budget: {', '.join(over)}. Save what is above, or keep it with --update and say why.")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {error}\n{error.stderr}")
    except FileNotFoundError as error:
        sys.exit(f"error: {error}; etc/dev/install-packages test, then etc/dev/build release request_instructions")
