"""A tree that has built certain targets and nothing else: what the build under test has of them, as links, beside the sources."""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

from support.server import BUILD, ROOT

WAIT_S = 60
PRESETS = [preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]]


@functools.cache
def outputs(target):
    """Programs and libraries that the target makes, as paths below the build folder; None: there is no such target."""
    done = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", target], capture_output=True, text=True, timeout=WAIT_S)
    if done.returncode != 0:
        return None
    return frozenset(re.findall(r" -o ((?:bin|lib)/\S+)", done.stdout))


def link(source, place):
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        place.symlink_to(source.resolve())
        return
    try:
        os.link(source, place)  # a program finds its plugins from where it is itself
    except OSError:
        shutil.copy2(source, place)


class BuiltTree:
    """What page_walker wants to know of a tree, answered by the real programs."""

    def __init__(self, folder, *targets):
        self.folder = folder
        self.build_folder = folder / "build" / "release"
        folder.mkdir(exist_ok=True)
        for name in ("bench", "docs", "etc", "plugins", "sdk"):
            (folder / name).symlink_to(ROOT / name)
        # The Python environment that the quickstart makes.
        (folder / "build").mkdir(exist_ok=True)
        (folder / "build" / "venv").symlink_to(sys.prefix)
        # What configuring leaves there.
        plugins = BUILD / "lib" / "atoll" / "plugins"
        for file in [*plugins.rglob("*.missing"), BUILD / "etc" / "atoll" / "atoll.toml",
                     *(BUILD / "lib" / "atoll" / "engines").rglob("*.so.1"),
                     *(path for path in (BUILD / "lib" / "atoll" / "python").iterdir() if path.is_symlink())]:
            link(file, self.build_folder / file.relative_to(BUILD))
        for target in targets:
            assert self.make(target) is None, target

    def make(self, target):
        names = outputs(target)
        if names is None:
            return f"there is no target {target}"
        for name in names:
            source, place = BUILD / name, self.build_folder / name
            assert source.exists(), f"the build under test has not built {name}, of target {target}"
            if not place.exists():
                link(source, place)
                for other in source.parent.glob(f"{source.name}*"):  # libcuda.so.1 and libcuda.so, say
                    if other.is_symlink() and not (place.parent / other.name).is_symlink():
                        (place.parent / other.name).symlink_to(place.name)
        return None

    def build(self, words):
        """As etc/dev/build does; but that everything is to be built says nothing of what a page needs, and counts for nothing."""
        if words and words[0] in PRESETS:
            preset, *words = words
            if preset != "release":
                return None
        targets = []
        words = [word for word in words if word != word.upper()]  # ROLE/NAME and FILE stand for names
        while words:
            word, *words = words
            if word == "--manifest" and words:
                instances = tomllib.loads(self.read(words.pop(0))).get("plugin", {})
                used = [options.get("use", name) for name, options in instances.items() if options.get("enabled", True)]
                targets += ["atoll", *(use.replace("/", "-") for use in used if self.is_plugin(use))]
            elif "/" in word and not self.is_plugin(word):
                return f"there is no plugin {word}"
            elif not word.startswith("-"):
                targets += ["atoll", word.replace("/", "-")] if "/" in word else [word]
        return next(filter(None, map(self.make, (target for target in targets if target != "atoll_server"))), None)

    def has(self, name):
        return (self.build_folder / name).exists()

    def is_plugin(self, use):
        return (ROOT / "plugins" / use / "plugin.cc").exists()

    def is_script(self, path):
        return (ROOT / path).is_file() and os.access(ROOT / path, os.X_OK)

    def read(self, path):
        return (ROOT / path).read_text()

    def refusal(self, manifest, settings):
        """What the server says against the manifest with these settings, if it is one of the tree."""
        file = pathlib.PurePath(manifest)
        if file.is_absolute() and file.name in ("atoll.toml", "pools.toml"):
            file = pathlib.PurePath("etc", file.name)  # what is installed is a copy
        if not (ROOT / file).is_file():
            return ""
        # A script's variable before a path is a folder that it has made. What another one holds is known when it runs; as it
        # stands it is no value of an option.
        settings = [re.sub(r"\$\w+(?=/)", str(self.folder), setting) for setting in settings]
        words = [word for setting in settings if "$" not in setting for word in ("--set", setting)]
        return self.said("bin/atoll", "--manifest", file, *words, "--check")

    def flags_refusal(self, flags):
        """What tritonserver, or the server with the keys that it makes of the flags, says against them."""
        launch = self.folder / "launch"
        if not launch.exists():
            link(self.build_folder / "bin" / "tritonserver", launch / "bin" / "tritonserver")
            for name in ("lib", "etc"):
                (launch / name).symlink_to(self.build_folder / name)
            (launch / "bin" / "atoll").write_text(f'#!/bin/sh\nexec "{self.build_folder}/bin/atoll" "$@" --check\n')
            (launch / "bin" / "atoll").chmod(0o755)
        if "--help" in flags or any("..." in flag or "<" in flag for flag in flags):
            return ""
        repository = f"--model-repository={self.folder}"
        others = [flag for flag in flags if not flag.startswith("--model-repository=")]
        return self.said(launch / "bin" / "tritonserver", repository, *others)

    def said(self, program, *words):
        done = subprocess.run([self.build_folder / program, *words], cwd=self.folder, capture_output=True, text=True,
                              errors="replace", timeout=WAIT_S, stdin=subprocess.DEVNULL)
        # Folders of models and files of keys are the reader's; what a page is asked for is what has to be built.
        lines = [line for line in done.stderr.splitlines() if not re.search(r"failed to stat file|expected a readable PEM file", line)]
        if done.returncode == 0 or done.stderr and not lines:
            return ""
        return " / ".join(lines) or f"exit code {done.returncode}"
