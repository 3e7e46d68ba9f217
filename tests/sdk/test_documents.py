"""What the documents of the SDK name exists."""

import re

from support.server import ROOT

HEADERS = ROOT / "sdk" / "include" / "atoll"
TESTING = ROOT / "sdk" / "testing"


def test_every_interface_is_in_the_table_of_the_headers():
    ids = {match for header in HEADERS.rglob("*.h")
           for match in re.findall(r'kInterfaceId = "(atoll\.\w+/\d+)"', header.read_text())}
    rows = re.findall(r"^\| `(atoll\.\w+/\d+)` \| `(\w+/\w+\.h)` \|", (HEADERS / "README.md").read_text(), re.MULTILINE)
    assert len(ids) > 10 and {row[0] for row in rows} == ids
    for interface, header in rows:
        assert f'"{interface}"' in (HEADERS / header).read_text(), f"{header} does not define {interface}"


def test_every_header_that_is_named_exists():
    for page in (HEADERS / "README.md", TESTING / "README.md", ROOT / "docs" / "plugin-guide.md"):
        folders = [HEADERS, HEADERS.parent, TESTING / "include" / "atoll" / "testing", TESTING / "include",
                   TESTING / "include" / "atoll" / "testing" / "conformance", ROOT / "sdk" / "proto"]
        for name in re.findall(r"`((?:\w+/)*\w+\.h)`", page.read_text()):
            if name.endswith(".pb.h"):
                name = name.replace(".pb.h", ".proto")
            assert any((folder / name).exists() for folder in folders), f"{page.name} names {name}"


def test_every_header_is_in_the_table_of_the_headers():
    text = (HEADERS / "README.md").read_text()
    names = [header.relative_to(HEADERS).as_posix() for header in HEADERS.rglob("*.h")]
    assert len(names) > 70 and [name for name in names if f"`{name}`" not in text] == []


def test_the_names_in_examples_are_those_of_the_headers():
    """A function or type of an example is one of the headers', of the language, or of the example itself."""
    known = set(re.findall(r"\w+", " ".join(header.read_text() for folder in (HEADERS, TESTING / "include")
                                             for header in folder.rglob("*.h"))))
    text = (TESTING / "README.md").read_text()
    code = re.sub(r'"[^"]*"|//.*|/\*.*?\*/', "", "\n".join(re.findall(r"^    .*", text, re.MULTILINE)))
    own = set(re.findall(r"\b(?:struct|class) (\w+)|\b(\w+)\(\) \{", code))
    own = {name for names in own for name in names} | {"Mine"}
    others = {"INSTANTIATE_TEST_SUITE_P", "mutable_dynamic_batching", "SerializeAsString", "set_max_batch_size",
              "set_max_queue_delay_microseconds"}
    used = set(re.findall(r"\b([A-Za-z]\w+)\s*(?:\(|<|::)", code)) - others
    assert len(used) > 30 and used - known - own == set()
