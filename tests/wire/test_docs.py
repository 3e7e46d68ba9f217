"""What the documents promise about the tree and the commands."""

import re
import subprocess

from support.server import BUILD, ROOT


def test_manifest_reference_is_generated_from_the_option_tables():
    run = subprocess.run([ROOT / "etc/dev/docs", "--check", BUILD.name], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_links_between_documents_lead_somewhere():
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:\s]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} names {target}"


def test_every_plugin_folder_is_in_the_reference():
    reference = (ROOT / "docs/manifest.md").read_text()
    for folder in (ROOT / "plugins").glob("*/*"):
        if (folder / "plugin.cc").exists():
            assert f"## {folder.parent.name}/{folder.name} " in reference


def test_the_guide_shows_the_template_as_it_is():
    guide = (ROOT / "docs/plugin-guide.md").read_text()
    for file in ("CMakeLists.txt", "plugin.cc"):
        text = (ROOT / "sdk/template" / file).read_text()
        shown = "\n".join("    " + line if line else "" for line in text.rstrip("\n").splitlines())
        assert shown in guide, f"docs/plugin-guide.md does not show sdk/template/{file} as it is"


def test_the_backend_page_shows_the_backend_to_copy_as_it_is():
    page = (ROOT / "docs/guide-backend.md").read_text()
    for file in ("CMakeLists.txt", "plugin.cc"):
        text = (ROOT / "sdk/template/softmax" / file).read_text()
        assert f"```\n{text}```" in page.replace("```cpp\n", "```\n").replace("```cmake\n", "```\n"), file
