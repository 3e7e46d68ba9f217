"""Manual pages, in the macros of man(7)."""
import pathlib
import re
import time

TEXTS = pathlib.Path(__file__).parent / "texts"


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + text if text.startswith(".") else text


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def head(name, section, version, epoch):
    date = time.strftime("%Y-%m-%d", time.gmtime(epoch))
    return [f'.TH {escaped(name).upper()} {section} "{date}" "Atoll {version}" "Atoll"']


def written_by_hand(page, part):
    """The part of a page that no program says of itself, or None."""
    file = TEXTS / f"{page}.{part}"
    return file.read_text().rstrip("\n").split("\n") if file.exists() else []


def label(option):
    if not option.flags:
        return italic(option.value) + (" ..." if option.is_repeated else "")
    joined = ", ".join(bold(flag) for flag in option.flags)
    return f"{joined} {italic(option.value)}" if option.value else joined


def entry(tag, text):
    return [".TP", tag, escaped(text) or "\\&"]


def options_of(program):
    lines = []
    for option in program.positionals:
        lines += entry(label(option), option.text)
    for title, options in program.groups:
        if len(program.groups) > 1:
            lines.append(f".SS {escaped(title)}")
        for option in options:
            lines += entry(label(option), option.text)
    return lines


def usage_line(usage):
    """Words of the reader's choice are in italics, others are bold."""
    parts = []
    for word in usage.split():
        is_literal = re.fullmatch(r"[a-z-]+", word) or word.startswith("--")
        parts.append(bold(word) if is_literal else italic(word))
    return " ".join(parts)


def commands_of(program):
    lines = []
    for command, (names, text) in zip(program.commands, program.command_names):
        if command.commands:
            lines += commands_of(command)
            continue
        lines += [".SS " + escaped(" ".join((*command.words[1:-1], ", ".join(names)))), escaped(text) + ".", ".PP"]
        lines += [usage_line(usage) for usage in command.usage] + options_of(command)
    return lines


def program_page(program, name, version, epoch):
    """The page NAME.1 of a program."""
    page = f"{name}.1"
    summary = program.summary[0].split(": ")[0].rstrip(".")
    lines = head(name, 1, version, epoch)
    lines += [".SH NAME", f"{escaped(name)} \\- {escaped(summary[0].lower() + summary[1:])}", ".SH SYNOPSIS"]
    for usage in program.usage:
        lines += [usage_line(usage), ".br"]
    lines[-1:] = []
    lines += [".SH DESCRIPTION", *(escaped(line) for line in program.summary), *written_by_hand(page, "description")]
    if program.options or program.positionals:
        lines += [".SH OPTIONS", *options_of(program)]
    if program.commands:
        lines += [".SH COMMANDS", *commands_of(program)]
    if program.footer:
        lines += [".SH NOTES", *(escaped(line) for line in program.footer)]
    lines += written_by_hand(page, "end")
    return "\n".join(lines) + "\n"


def one_of(key):
    return f"one of {key.range.strip('|').replace('|', ', ')}" if "|" in key.range else key.range


def manifest_page(tables, version, epoch):
    """The page atoll.toml.5, with every option of the plugins that are there."""
    lines = head("atoll.toml", 5, version, epoch)
    lines += [".SH NAME", "atoll.toml \\- manifest of an Atoll server", *written_by_hand("atoll.toml.5", "description")]
    for title, wanted in (("SECTIONS", lambda table: table.title.startswith("[")), ("PLUGINS", lambda table: "/" in table.title)):
        lines.append(f".SH {title}")
        for table in filter(wanted, tables):
            lines.append(f".SS {escaped(table.title)}")
            for note in table.notes:
                lines += [escaped(note.removeprefix("- ")), ".br"]
            if table.notes:
                lines.pop()
            for key in table.keys:
                kind = ", ".join(part for part in (key.type, f"default {key.default}" if key.default not in ("", "required") else
                                                   key.default, one_of(key)) if part)
                lines += [".TP", f"{bold(key.name)} ({escaped(kind)})", escaped(key.text)]
    lines += written_by_hand("atoll.toml.5", "end")
    return "\n".join(lines) + "\n"
