"""Reads a page as its reader would: from the top, running the commands that build, and looking before every other command whether
what it uses is there by then.

Understood are the lines of code blocks and what stands between backquotes:

    etc/dev/build release WHAT...         builds it
    etc/examples/NAME/PROGRAM             a script of this tree: its lines are read in its place
    cmake --install ... --component X     needs what the component is made of; -DCMAKE_PREFIX_PATH= needs that sdk was installed
    atoll, atollctl...                    need the program, with whatever folder before it
    atoll --manifest FILE --set ...       needs that the server takes it, where FILE is one of this tree
    atoll serve DIR, atoll demo           need the program behind the word
    tritonserver --FLAG...                needs the same of what the flags become
    use = "ROLE/NAME"                     needs the plugin, where it is one of this tree
    lib/atoll/NAME.so                     needs the library; batchstrategy.so: those that run batching strategies

A link to a section that is called "Install..." stands for the commands of that section.
"""

import dataclasses
import re
import shlex

PROGRAMS = ("atoll", "atoll-config", "atoll-lint", "atoll-replay", "atoll-serve", "atollctl", "tritonserver")
WORDS = {"serve": "bin/atoll-serve", "demo": "bin/atoll-serve"}
COMPONENTS = {"sdk": ("bin/atoll-lint", "lib/atoll/testing/libcuda.so.1", "lib/atoll/testing/libnvidia-ml.so.1"),
              "server": ("bin/atoll",), "proto": ("lib/atoll/libatoll_proto.so",),
              "onnxruntime": ("lib/atoll/engines/onnxruntime/libonnxruntime.so.1",)}
STRATEGIES = ("lib/atoll/libatoll_batch_strategies.so", "lib/atoll/libtritonserver.so")
NO_COMMANDS = ("c", "cmake", "cpp", "json", "python", "text")  # what blocks of these languages hold


@dataclasses.dataclass
class Line:
    number: int
    text: str
    is_prose: bool = False


def joined(lines):
    """Lines that end with a backslash go on in the next one; the number is that of the first."""
    done = []
    for line in lines:
        if done and done[-1].text.endswith("\\"):
            done[-1] = Line(done[-1].number, f"{done[-1].text[:-1]} {line.text.strip()}")
        else:
            done.append(dataclasses.replace(line))
    return done


def lines_of(text):
    """Lines of code blocks, and the prose between them, in their order."""
    fence, lines = None, []
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.match(r"\s*```(\w*)", line):
            fence = None if fence is not None else found.group(1)
        elif fence is not None:
            if fence not in NO_COMMANDS:
                lines.append(Line(number, line.strip()))
        elif line.startswith("    "):
            lines.append(Line(number, line.strip()))
        else:
            lines.append(Line(number, line, is_prose=True))
    return joined(lines)


def section_of(text, anchor):
    """The lines of the section with that anchor, its heading left out; their numbers are those of the page."""
    inside, kept = False, []
    for line in text.splitlines():
        if line.startswith("#"):
            inside = re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") == anchor
        kept.append(line if inside else "")
    return "\n".join(kept)


def commands_of(line):
    """The simple commands of a line of shell, each a list of words."""
    try:
        words = shlex.split(line.replace("$#", "$n"), comments=True)
    except ValueError:  # a text goes on in the next line
        words = line.split()
    command = []
    for word in [*words, ";"]:
        ends = word in ("&&", "||", "|", ";", "&", "then", "do", "{", "}") or word.endswith(";")
        if not ends or word not in (";", "&&", "||", "|", "&", "then", "do", "{", "}"):
            command.append(word.rstrip(";"))
        if ends:
            while command and re.match(r"(\w+=|\$$|!$|setsid$|exec$|sudo$|step$)", command[0]):
                command.pop(0)
            if command:
                yield command
            command = []


class Walk:
    """One reader's way through a page. `tree` has build(), has(), is_plugin(), read(), refusal() and flags_refusal()."""

    def __init__(self, tree):
        self.tree = tree
        self.installed = set()
        self.problems = []
        self.scripts = []  # that are being followed: one whose words name itself is not followed twice

    def page(self, path):
        self.text(path, self.tree.read(path))
        return self.problems

    def text(self, path, text):
        for line in lines_of(text):
            if not line.is_prose:
                self.code(path, line.number, line.text)
                continue
            for span in re.findall(r"`([^`]+)`|\]\(([^)\s]+#install[\w-]*)\)", line.text):
                if span[1]:
                    self.follow(path, span[1])
                else:
                    self.span(path, line.number, span[0])

    def follow(self, path, link):
        file, anchor = link.split("#")
        target = f"{path.rpartition('/')[0]}/{file}".lstrip("/") if file else path
        self.text(target, section_of(self.tree.read(target), anchor))

    def span(self, path, number, text):
        if " " in text or text.startswith("etc/examples/"):
            self.code(path, number, text)
        else:
            self.libraries(path, number, text)

    def script(self, path):
        """A script of the tree. Variables that are set to plain words are put in; of others the default."""
        if path in self.scripts:
            return
        self.scripts.append(path)
        values = {"root": "."}  # by that name scripts know the tree
        for line in joined([Line(number, text) for number, text in enumerate(self.tree.read(path).splitlines(), 1)]):
            text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", line.text)
            text = re.sub(r"\$\{?(\w+)\}?", lambda name: values.get(name.group(1), name.group(0)), text)
            if found := re.fullmatch(r"(\w+)=([\w./-]+)", text.strip()):
                values[found.group(1)] = found.group(2)
            self.code(path, line.number, text.strip())
        self.scripts.pop()

    def code(self, path, number, text):
        for use in re.findall(r"""\buse\s*=\s*['"]+(\w+/\w+)""", text):
            if self.tree.is_plugin(use):
                self.need(path, number, f"lib/atoll/plugins/{use}.so", f"plugin {use}")
        self.libraries(path, number, text)
        for words in commands_of(text.removeprefix("$ ")):
            self.command(path, number, words)

    def libraries(self, path, number, text):
        for name in re.findall(r"(?<![\w/])(?:build/release/)?(lib/atoll/[\w./-]+\.so[\w.]*)", text):
            self.need(path, number, name)

    def command(self, path, number, words):
        program = words[0].rpartition("/")[2]
        if words[0].removeprefix("./") == "etc/dev/build":
            problem = self.tree.build(words[1:])
            if problem:
                self.problem(path, number, problem)
        elif words[0].startswith("etc/examples/") and self.tree.is_script(words[0]):
            self.script(words[0])
        elif program == "cmake":
            self.cmake(path, number, words)
        elif program == "cp" and "build/batchstrategy.so" in words:
            for name in STRATEGIES:
                self.need(path, number, name)
        elif program in PROGRAMS and self.need(path, number, f"bin/{program}"):
            if program == "tritonserver":
                self.refused(path, number, self.tree.flags_refusal(words[1:]))
            elif program == "atoll" and "--manifest" in words[:-1]:
                self.manifest(path, number, words)
            elif program == "atoll" and len(words) > 1 and words[1] in WORDS:
                self.need(path, number, WORDS[words[1]])

    def manifest(self, path, number, words):
        file = words[words.index("--manifest") + 1]
        settings = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "--set"]
        self.refused(path, number, self.tree.refusal(file, settings))

    def cmake(self, path, number, words):
        if "--install" in words and "--component" in words:
            component = words[words.index("--component") + 1]
            self.installed.add(component)
            for name in COMPONENTS[component]:
                self.need(path, number, name)
        if any(word.startswith("-DCMAKE_PREFIX_PATH=") for word in words) and "sdk" not in self.installed:
            self.problem(path, number, "the SDK is not installed")

    def need(self, path, number, name, shown=None):
        is_there = self.tree.has(name)
        if not is_there:
            self.problem(path, number, f"{shown or name} is not built")
        return is_there

    def refused(self, path, number, said):
        if said:
            self.problem(path, number, f"the server says: {said}")

    def problem(self, path, number, text):
        self.problems.append(f"{path}:{number}: {text}")
