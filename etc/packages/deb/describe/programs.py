"""What the programs say of themselves: their --help, and the option tables of `atoll --list`."""
import dataclasses
import re
import subprocess


@dataclasses.dataclass
class Option:
    """A flag, or a positional argument, whose `flags` are empty."""
    flags: list
    value: str  # "FILE"; empty: it takes none
    text: str
    is_repeated: bool = False


@dataclasses.dataclass
class Program:
    """A program, or one of its commands."""
    words: tuple  # ("atollctl", "lease", "create")
    usage: list
    summary: list  # lines
    positionals: list
    groups: list  # (title, options)
    commands: list  # Program
    command_names: list  # with their aliases, and the line about each
    footer: list

    @property
    def options(self):
        return [option for _, options in self.groups for option in options]


@dataclasses.dataclass
class Key:
    """A row of an option table."""
    name: str
    type: str
    default: str
    range: str
    text: str

    @property
    def choices(self):
        if self.type == "boolean":
            return ["true", "false"]
        return [choice for choice in self.range.split("|") if choice] if "|" in self.range else []


@dataclasses.dataclass
class Table:
    """A section of a manifest: "[log]", or a plugin's options: "frontends/http"."""
    title: str
    version: str
    notes: list
    keys: list


def run(program, *arguments):
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False, timeout=60)
    # Triton's program writes its help to standard error and ends with 1, and so does the one with its command line.
    text = done.stdout or (done.stderr if arguments == ("--help",) else "")
    if not text:
        raise SystemExit(f"{program} {' '.join(arguments)} ended with {done.returncode} and without an answer: {done.stderr[-500:]}")
    return text


_LABEL = re.compile(r"(?: (?P<value>[^\s=]\S*?))?(?:=(?P<default>\S+))?(?P<many> \.\.\.)?(?: REQUIRED)?"
                    r"(?: \(Env:.*?\))?(?: Needs: .*?)?(?: Excludes: .*?)?$")


def _option(label, text):
    flags = re.match(r"-\S+?(?:, ?-\S+?)*(?=[\s=]|$)", label)
    rest = label[flags.end():] if flags else " " + label
    if not flags:  # "PATH TEXT ... REQUIRED"
        rest = " " + re.sub(r" (TEXT|INT|UINT|FLOAT)\b", "", label)
    found = _LABEL.match(rest)
    if not found:
        raise SystemExit(f"not understood in a --help: {label!r}")
    value = found["value"] or ""
    # "KEY=VALUE" is a name of a value, "TEXT=3" a default.
    if found["default"] and not found["default"].isupper():
        text += f". Default: {found['default']}"
    elif found["default"]:
        value += f"={found['default']}"
    return Option(re.split(r", ?", flags.group()) if flags else [], value, text, bool(found["many"]))


def _entries(lines):
    """The entries of a section: (label, text). A text that has no room behind its label begins in the next line."""
    entries = []
    for line in lines:
        begun = re.match(r"  (\S.*?)(?:  +(\S.*))?$", line)
        if begun:
            entries.append((begun[1], begun[2] or ""))
        elif line.strip() and entries:
            label, text = entries[-1]
            entries[-1] = (label, f"{text} {line.strip()}".strip())
    return entries


def read_program(binary, *words):
    """Of a program, and of its commands one after the other."""
    name = binary.name
    lines = run(binary, *words, "--help").splitlines()
    summary, usage, footer, sections, section = [], [], [], {}, None
    for line in lines:
        if re.match(r"[Uu]sage: ", line):
            usage.append(line.split(": ", 1)[1])
        elif re.match(r"\S.*:$", line):
            section = sections.setdefault(line[:-1], [])
        elif re.match(r"\s+\S", line):
            if section is None:
                section = sections.setdefault("Options", [])
            section.append(line)
        elif line and not sections:
            summary.append(line)
        elif line:
            footer.append(line)
    positionals = [_option(label, text) for label, text in _entries(sections.pop("Positionals", []))]
    named = [(re.split(r", ", label), text) for label, text in _entries(sections.pop("Subcommands", []))]
    groups = [(title, [_option(*entry) for entry in _entries(body)]) for title, body in sections.items()]
    commands = [read_program(binary, *words, names[0]) for names, _ in named]
    return Program((name, *words), usage, summary, positionals, groups, commands, named, footer)


def read_tables(atoll):
    """The tables of `atoll --list`, of the plugins that lie beside the program."""
    tables = []
    for line in run(atoll, "--list", "--format", "markdown").splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)][1:-1]
        if line.startswith("## "):
            title, _, version = line[3:].partition(" ")
            tables.append(Table(title, version, [], []))
        elif len(cells) == 5 and cells[0] not in ("key", "---"):
            tables[-1].keys.append(Key(*cells))
        elif line.strip() and not line.startswith("|"):
            tables[-1].notes.append(line.strip())
    return tables
