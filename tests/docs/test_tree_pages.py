"""The pages that say where things are name what is there."""

import re

from support.server import ROOT

PLUGINS = {f"{path.parent.parent.name}/{path.parent.name}" for path in (ROOT / "plugins").glob("*/*/plugin.cc")}


def section(page, title):
    text = (ROOT / page).read_text()
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def paths(text):
    return re.findall(r"`((?:kernel|sdk|plugins|tests|bench|etc|docs)/[\w./-]*)`", text)


def test_every_place_that_the_page_of_questions_names_is_there():
    named = paths((ROOT / "docs/where-is-what.md").read_text())
    assert len(named) > 50 and [path for path in named if not (ROOT / path).exists()] == []


def test_what_the_page_of_questions_names_in_a_file_is_in_it():
    """`file` (`Class::function`): code moves while its old file stays."""
    named = re.findall(r"`([\w./-]+\.(?:cc|h))` \(`([\w:]+)`\)", (ROOT / "docs/where-is-what.md").read_text())
    assert len(named) > 4
    assert [(path, name) for path, name in named if not re.search(rf"\b{name}\b", (ROOT / path).read_text())] == []


def test_the_table_of_the_tree_has_every_folder():
    tree = section("docs/architecture.md", "The tree")
    named = paths("".join(line.split("|")[1] for line in tree.splitlines() if line.startswith("| `")))
    assert [path for path in named if not (ROOT / path).exists()] == []
    there = {f"{folder}/" for folder in ("kernel", "tests", "bench", "docs")}
    there |= {f"{path.relative_to(ROOT)}/" for top in ("sdk", "etc") for path in (ROOT / top).iterdir() if path.is_dir()}
    there -= {"sdk/include/"}
    assert there - set(named) == set()
    row = next(line for line in tree.splitlines() if line.startswith("| `kernel/`"))
    assert set(re.findall(r"`(\w+)`", row)) == {path.name for path in (ROOT / "kernel").iterdir() if path.is_dir()}


def test_the_readme_names_every_plugin_beyond_the_default_manifest():
    """Those of the default manifest are built by the quickstart; the others are named with what they serve."""
    readme = (ROOT / "README.md").read_text()
    default = set(re.findall(r'^use = "([^"]+)"', (ROOT / "etc/atoll.toml").read_text(), re.M))
    assert len(PLUGINS) > 30 and {name for name in PLUGINS - default if f"`{name}`" not in readme} == set()


def test_every_plugin_and_every_program_says_what_it_is():
    folders = [ROOT / "plugins" / name for name in PLUGINS]
    folders += [path for path in (ROOT / "etc/programs").iterdir() if path.is_dir()]
    assert [str(path) for path in folders if not (path / "README.md").exists()] == []


def test_the_drawing_of_the_architecture_has_every_plugin():
    words = set(re.findall(r"\w+", re.sub(r"<[^>]*>", " ", (ROOT / "docs/architecture.svg").read_text())))
    assert {name for name in PLUGINS if not set(name.split("/")[1:]) <= words} == set()


def test_the_table_of_interfaces_has_every_interface_and_who_provides_it():
    text = section("docs/architecture.md", "Plugins and interfaces")
    providers = dict(re.findall(r"^\| `(atoll\.\w+/\d+)`[^|]*\| ([^|]*) \|", text, re.M))
    ids = {}
    for header in [*(ROOT / "sdk/include/atoll").rglob("*.h"), *(ROOT / "sdk/triton/include").rglob("*.h")]:
        class_name = ""
        for line in header.read_text().splitlines():
            if found := re.match(r"(?:class|struct) (\w+)", line):
                class_name = found[1]
            elif found := re.match(r'\s*static constexpr .*kInterfaceId = "([^"]+)"', line):
                ids[class_name] = found[1]
    assert len(ids) > 30 and set(providers) == set(ids.values())
    for name in PLUGINS:
        for class_name in re.findall(r"\bprovide<(\w+)", (ROOT / "plugins" / name / "plugin.cc").read_text()):
            if class_name in ids and "any plugin" not in providers[ids[class_name]]:
                assert f"`{name}`" in providers[ids[class_name]], (name, ids[class_name])


def test_a_misspelt_backend_is_held_against_every_backend():
    """backends/triton serves backends of other names."""
    source = (ROOT / "plugins/models/catalog/loading/backend_choice.cc").read_text()
    listed = set(re.findall(r'"(\w+)"', source.split("kPlugins[] = {")[1].split("};")[0]))
    assert listed | {"triton"} == {name.split("/")[1] for name in PLUGINS if name.startswith("backends/")}
