"""Writes what was measured: JSON, a Markdown page and plots."""

import dataclasses
import datetime
import json

from . import budgets, overview, plots, table


class Report:
    """`runner` has run."""

    def __init__(self, options, runner, machine, versions):
        self._options = options
        self._runner = runner
        self._machine = machine
        self._versions = versions
        self._date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        self._groups = {}
        for case in options.cases:
            self._groups.setdefault(case.group, []).append(case)

    def write(self):
        """Returns the page's path."""
        self._options.output.mkdir(parents=True, exist_ok=True)
        self._write_json()
        overview.draw(self._options.output / "overview.svg", overview.Results(self._options.output))
        shown = plots.write(self._options.output, self._groups, self._options.peers, self._runner.complete)
        page = self._options.output / "results.md"
        page.write_text(self._page(shown))
        return page

    def _write_json(self):
        options = self._options
        document = {
            "date": self._date, "machine": self._machine, "versions": self._versions,
            "repetitions": self._options.repetitions, "seconds": self._options.seconds, "quick": self._options.quick,
            "samples": [{"case": case.name, "peer": peer, "repetition": i, **dataclasses.asdict(sample)}
                        for (case, peer), samples in self._runner.samples.items() for i, sample in enumerate(samples)],
            "faults": [{"case": case.name, "peer": peer, "fault": text}
                       for (case, peer), text in self._runner.faults.items()],
            "idle": {"connections": options.idle_connections, "bytes_each": self._runner.idle},
            "shapes": [{"group": group, "peer": peer, "server": label}
                       for (group, peer), label in self._runner.chosen.items()]}
        (self._options.output / "results.json").write_text(json.dumps(document, indent=1) + "\n")

    def _page(self, shown):
        options, runner = self._options, self._runner
        parts = ["# Atoll beside its peers", "Written by `bench/serve/run`; `bench/README.md` says what each figure means."]
        if options.quick:
            parts.append("**This was a quick check that everything works. Its figures mean nothing.**")
        parts.append(f"{self._date}, {options.repetitions} repetitions of {options.seconds:g} s: the median, with the "
                     "smallest and the largest in brackets.")
        facts = {**self._machine, **self._versions}
        parts.append(table.rows(["", ""], [[name, text] for name, text in facts.items()]))
        ours = [peer for peer in table.OURS if peer in options.peers]
        if ours:
            parts += ["## Budgets", table.verdicts(budgets.judge(options.cases, runner.complete, ours))]
        for peer in ours:
            parts += [f"## Ratios of {peer}", table.ratios(options.cases, options.peers, runner.complete, peer)]
        if options.idle_connections:
            parts += [f"## {options.idle_connections:,} idle connections", table.idle(runner.idle, options.peers)]
        for group, group_cases in self._groups.items():
            parts += [f"## {table.TITLES[group]}", table.figures(group_cases, options.peers, runner.complete)]
            if group in shown:
                parts.append(f"![{table.TITLES[group]}]({shown[group]})")
        if runner.faults:
            lines = [[case.name, peer, text.replace("|", "\\|")] for (case, peer), text in runner.faults.items()]
            parts += ["## No figures", table.rows(["case", "server", "why"], lines)]
        return "\n\n".join(parts) + "\n"
