"""The image for containers, made of a small root file system instead of Debian's packages: what is written around the layers, what
of the machine is left out, the list of what is inside, and equal bytes twice. etc/packages/image/check runs a whole image."""

import hashlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
from support.server import BUILD, ROOT

FOLDER = ROOT / "etc/packages/image"
sys.path.insert(0, str(FOLDER))
import base  # noqa: E402
from copyright_file import expression, read_copyright  # noqa: E402
from layer import Layer  # noqa: E402
from oci_archive import Archive  # noqa: E402
from traces import traces, words_of_this_machine  # noqa: E402

_loader = importlib.machinery.SourceFileLoader("build_image", str(FOLDER / "build"))
build = importlib.util.module_from_spec(importlib.util.spec_from_loader("build_image", _loader))
sys.dont_write_bytecode, _before = True, sys.dont_write_bytecode
_loader.exec_module(build)
sys.dont_write_bytecode = _before

EPOCH = 1790000000
EXPRESSION = r"\(*[A-Za-z0-9.-]+\)*( (AND|OR) \(*[A-Za-z0-9.-]+\)*)*"
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: one

Files: *
Copyright: somebody
License: GPL-2+ or Artistic

Files: b/*
Copyright: somebody
License: house-rules
 Do as you like.
 .
 Or not.

License: GPL-2+
 See /usr/share/common-licenses/GPL-2.
"""


def package_status(name, version, more=""):
    return (f"Package: {name}\nStatus: install ok installed\nMaintainer: Some One <one@debian.org>\nArchitecture: amd64\n"
            f"Version: {version}\n{more}Description: text\n\n")


def root_entries():
    """(name, bytes, or the target of a link behind '->', or None for a folder, or 'device') as mmdebstrap writes them."""
    folders = ["dev", "etc", "etc/apt", "run", "run/lock", "tmp", "usr", "usr/bin", "usr/share", "usr/share/doc", "usr/share/doc/one",
               "usr/share/man", "usr/share/locale", "usr/share/locale/de", "var", "var/lib", "var/lib/dpkg", "var/lib/apt",
               "var/lib/apt/lists", "var/log"]
    files = {
        "etc/passwd": b"root:x:0:0:root:/root:/bin/bash\n", "etc/group": b"root:x:0:\n", "etc/shadow": b"root:*:19000:0:99999:7:::\n",
        "etc/gshadow": b"root:*::\n", "etc/passwd-": b"old", "etc/hostname": b"builder\n", "etc/resolv.conf": b"nameserver 10.0.0.1\n",
        "etc/hosts": b"10.0.0.1 builder\n", "etc/apt/sources.list": b"deb http://mirror.example/debian bookworm main\n",
        "usr/bin/tool": b"\x7fELF", "usr/bin/tool-link": "->./usr/bin/tool", "usr/share/doc/one/copyright": COPYRIGHT.encode(),
        "usr/share/doc/one/changelog.gz": b"x", "usr/share/doc/two": "->one", "usr/share/man/man.1": b"x", "tmp/left": b"x",
        "usr/share/locale/de/text": b"x", "var/log/dpkg.log": b"x", "var/lib/apt/lists/mirror.example_InRelease": b"x",
        "dev/null": "device", "var/lib/dpkg/status-old": b"x",
        "var/lib/dpkg/status": (package_status("one", "1:2.3-4+b1", "Homepage: https://one.example\n") +
                                package_status("two", "5")).encode()}
    return sorted([(name, None) for name in folders] + list(files.items()))


def write_root(file):
    with tarfile.open(file, "w") as tar:
        for name, data in [("", None), *root_entries()]:
            entry = tarfile.TarInfo("./" + name)
            entry.mtime, entry.uname, entry.mode = EPOCH + 1000, "somebody", 0o644
            if data is None:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            elif data == "device":
                entry.type, entry.devmajor, entry.devminor = tarfile.CHRTYPE, 1, 3
            elif isinstance(data, str):
                hard = data.startswith("->./")
                entry.type, entry.linkname = (tarfile.LNKTYPE if hard else tarfile.SYMTYPE), data[2:]
            else:
                entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data) if isinstance(data, bytes) else None)


def make_image(folder, scratch):
    folder.mkdir()
    server, engines = scratch / "server", scratch / "engines"
    for name, text in (("bin/atoll", "program"), ("share/doc/atoll/licenses/PACKAGES", "libx-dev 1.0-1\n")):
        (server / name).parent.mkdir(parents=True, exist_ok=True)
        (server / name).write_text(text)
    (server / "bin/atoll").chmod(0o750)
    (server / "bin/atoll-demo").symlink_to("atoll")
    (engines / "lib/atoll/engines/onnxruntime").mkdir(parents=True)
    (engines / "lib/atoll/engines/onnxruntime/libonnxruntime.so.1").write_bytes(b"\0" * 1000)
    write_root(scratch / "root.tar")
    layers, sbom = build.write_layers(scratch, scratch / "root.tar", server, engines, "1.2.3+dirty", EPOCH)
    return build.write_image(folder, layers, sbom, "1.2.3+dirty", EPOCH, words_of_this_machine(scratch))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return make_image(tmp_path_factory.mktemp("image") / "out", tmp_path_factory.mktemp("scratch"))


@pytest.fixture(scope="module")
def archive(file):
    return Archive(file)


@pytest.fixture(scope="module")
def entries(archive):
    """{name: (TarInfo, bytes or None)}; where layers have the same folder, the upper one's."""
    return {entry.name: (entry, data) for entry, data in archive.entries()}


def test_equal_content_gives_equal_bytes(file, tmp_path):
    other = make_image(tmp_path / "out", tmp_path)
    assert hashlib.sha256(other.read_bytes()).digest() == hashlib.sha256(file.read_bytes()).digest()
    names = sorted(path.name for path in other.parent.iterdir())
    assert names == ["atoll-1.2.3+dirty-linux-amd64.oci.tar", "atoll-1.2.3+dirty-linux-amd64.spdx.json"]


def test_every_digest_holds_and_docker_finds_the_same_layers(archive):
    archive.check_layers()
    manifest = archive.manifest
    assert json.loads(archive.read("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
    assert [layer["mediaType"] for layer in manifest["layers"]] == ["application/vnd.oci.image.layer.v1.tar+gzip"] * 3
    assert archive.docker == [{"Config": "blobs/sha256/" + manifest["config"]["digest"][7:], "RepoTags": ["atoll:1.2.3-dirty"],
                               "Layers": ["blobs/sha256/" + layer["digest"][7:] for layer in manifest["layers"]]}]
    descriptor = archive.index["manifests"][0]
    assert descriptor["annotations"] == {"org.opencontainers.image.ref.name": "1.2.3-dirty",
                                         "io.containerd.image.name": "docker.io/library/atoll:1.2.3-dirty"}
    used = {"oci-layout", "index.json", "manifest.json", "blobs", "blobs/sha256", "blobs/sha256/" + descriptor["digest"][7:],
            archive.docker[0]["Config"], *archive.docker[0]["Layers"]}
    assert set(archive.names) == used


def test_a_blob_that_was_changed_is_found(file, tmp_path):
    data = bytearray(file.read_bytes())
    with tarfile.open(file) as tar:
        blob = tar.getmember(Archive(file).docker[0]["Layers"][0])
    data[blob.offset_data + blob.size - 1] ^= 1
    (tmp_path / "changed").write_bytes(data)
    with pytest.raises(ValueError, match="a blob is not what its descriptor says"):
        Archive(tmp_path / "changed").check_layers()


def test_it_starts_what_tritons_charts_expect(archive):
    config = archive.config["config"]
    assert config["User"] == "1000:1000" and config["StopSignal"] == "SIGTERM" and config["Volumes"] == {"/models": {}}
    assert sorted(config["ExposedPorts"]) == ["8000/tcp", "8001/tcp", "8002/tcp"]
    assert config["Cmd"] == ["tritonserver", "--model-repository=/models"] and "Entrypoint" not in config
    environment = dict(one.split("=", 1) for one in config["Env"])
    assert environment["PATH"].split(":")[0] == "/opt/tritonserver/bin" and environment["ATOLL_LISTEN_ADDRESS"] == "0.0.0.0"
    assert (archive.config["os"], archive.config["architecture"]) == ("linux", "amd64")
    revision = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    labels = {name.removeprefix("org.opencontainers.image."): text for name, text in config["Labels"].items()}
    assert labels["version"] == "1.2.3+dirty" and labels["revision"] == revision and labels["licenses"] == "Apache-2.0"
    assert labels["created"] == archive.config["created"] == "2026-09-21T14:13:20Z"
    assert archive.manifest["annotations"] == config["Labels"]
    assert len(archive.config["history"]) == len(archive.config["rootfs"]["diff_ids"])


def test_the_layers_have_the_server_a_user_and_no_more_of_debian_than_needed(entries):
    assert not {"etc/hostname", "etc/resolv.conf", "etc/hosts", "etc/passwd-", "usr/share/man/man.1", "usr/share/locale/de/text",
                "tmp/left", "usr/share/doc/one/changelog.gz", "var/log/dpkg.log", "var/lib/apt/lists/mirror.example_InRelease",
                "var/lib/dpkg/status-old", "dev/null"} & set(entries)
    assert {"tmp", "dev", "run", "var/log", "usr/share/doc/one/copyright", "usr/share/doc/two"} <= set(entries)
    assert entries["etc/passwd"][1].endswith(b"\ntriton-server:x:1000:1000::/home/triton-server:/bin/bash\n")
    assert entries["etc/apt/sources.list"][1].decode() == base.OWN_SOURCES
    for name in ("models", "home/triton-server"):
        assert (entries[name][0].uid, entries[name][0].gid, entries[name][0].isdir()) == (1000, 1000, True)
    assert entries["opt/tritonserver/bin/atoll"][0].mode == 0o755
    assert entries["opt/tritonserver/bin/atoll-demo"][0].linkname == "atoll"
    serve, script = entries["opt/tritonserver/bin/serve"]
    assert serve.mode == 0o755 and script.startswith(b"#!/bin/sh\n")
    assert entries["usr/bin/tool-link"][0].linkname == "usr/bin/tool" and entries["usr/bin/tool-link"][0].islnk()
    assert all((entry.uname, entry.gname) == ("", "") and entry.mtime <= EPOCH for entry, _ in entries.values())
    assert {entry.uid for name, (entry, _) in entries.items() if name.startswith("opt/")} == {0}


def test_layers_of_debian_and_engine_stay_the_same_from_commit_to_commit(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "EPOCH", EPOCH + 1)
    layers = [layer["digest"] for layer in archive.manifest["layers"]]
    others = [layer["digest"] for layer in Archive(make_image(tmp_path / "out", tmp_path)).manifest["layers"]]
    assert others[:2] == layers[:2] and others[2] != layers[2]


def one_file(name, data=b"text", link=None):
    entry = tarfile.TarInfo(name)
    if link is not None:
        entry.type, entry.linkname, data = tarfile.SYMTYPE, link, None
    return [(entry, data)]


@pytest.mark.parametrize("trace, line", [
    (one_file("etc/resolv.conf"), "etc/resolv.conf: belongs to the machine that made the image"),
    (one_file("etc/hosts"), "etc/hosts: belongs to the machine that made the image"),
    (one_file("./etc/hostname"), "etc/hostname: belongs to the machine that made the image"),
    (one_file("etc/resolv.conf", link="/run/resolv.conf"), "etc/resolv.conf: belongs to the machine that made the image"),
    (one_file("var/cache/apt/pkgcache.bin"), "var/cache/apt/pkgcache.bin: belongs to the machine that made the image"),
    (one_file("var/lib/apt/lists/x_Packages"), "var/lib/apt/lists/x_Packages: belongs to the machine that made the image"),
    (one_file("root/.cache/pip/x"), "root/.cache/pip/x: belongs to the machine that made the image"),
    (one_file("etc/pip.conf"), "etc/pip.conf: belongs to the machine that made the image"),
    (one_file("etc/apt/sources.list.d/x"), "etc/apt/sources.list.d/x: belongs to the machine that made the image"),
    (one_file("usr/local/share/ca-certificates/x"), "usr/local/share/ca-certificates/x: belongs to the machine that made the image"),
    (one_file("etc/ssl/certs/x.pem"), "etc/ssl/certs/x.pem: a certificate or key of no package"),
    (one_file("etc/ssl/certs/x.pem", link="/srv/x.pem"), "etc/ssl/certs/x.pem: a certificate or key of no package"),
    (one_file("etc/ssl/certs/ca-certificates.crt", b"-----BEGIN CERTIFICATE-----"),
     "etc/ssl/certs/ca-certificates.crt: has 1 certificates, the package has 0"),
    (one_file("etc/apt/sources.list", b"deb http://deb.debian.org/debian x main\ndeb [a=b] https://mirror.example/debian x main\n"),
     "etc/apt/sources.list: names a source of packages that is not Debian's own: mirror.example"),
    (one_file("etc/apt/apt.conf.d/99x", b'Acquire::http::Proxy "http://10.0.0.1";'), "etc/apt/apt.conf.d/99x: names a proxy"),
    (one_file("opt/x", b"\0in /srv/builds/one\0"), "opt/x: has '/srv/builds/one' of the machine that made the image"),
    (one_file("opt/x", link="/srv/builds/one/y"), "opt/x: a link to '/srv/builds/one' of the machine that made the image"),
])
def test_a_trace_of_the_machine_is_found(entries, trace, line):
    assert traces(entries.values(), ["/srv/builds/one"]) == []
    assert traces(trace, ["/srv/builds/one"]) == [line]


def test_what_a_fresh_debian_has_is_no_trace():
    certificate = "usr/share/ca-certificates/mozilla/a.crt"
    fresh = [*one_file("etc/resolv.conf", b""), *one_file("var/cache/debconf/config.dat"), *one_file(certificate),
             *one_file("etc/apt/sources.list", base.OWN_SOURCES.encode()), *one_file("etc/ssl/certs/a.pem", link="/" + certificate),
             *one_file("etc/ssl/certs/1234abcd.0", link="a.pem"),
             *one_file("etc/ssl/certs/ca-certificates.crt", b"-----BEGIN CERTIFICATE-----")]
    assert traces(fresh, []) == []


def test_proxies_and_folders_are_what_is_searched_for(monkeypatch):
    monkeypatch.setenv("https_proxy", "http://user:word@proxy.example:3128/")
    monkeypatch.setenv("HTTP_PROXY", "other.example:80")
    words = words_of_this_machine("/srv/builds/one", "/src")
    assert {"proxy.example", "other.example", "/srv/builds/one"} <= set(words) and "/src" not in words


def test_an_image_with_a_trace_or_too_large_is_not_written(tmp_path, monkeypatch):
    with Layer(tmp_path / "layer", EPOCH) as layer:
        layer.add_file("opt/x", b"made in /srv/builds/one")
    with pytest.raises(ValueError, match="opt/x: has '/srv/builds/one'"):
        build.write_image(tmp_path, [layer], b"", "1", EPOCH, ["/srv/builds/one"])
    monkeypatch.setattr(build, "SIZE_MAX", 1000)
    with pytest.raises(ValueError, match=r"the image has 0\.0 MB, the limit is 0 MB"):
        build.write_image(tmp_path, [layer], b"", "1", EPOCH, [])
    assert [path.name for path in tmp_path.iterdir()] == ["layer"]


def test_the_bill_of_materials_names_everything_and_its_licence(file, entries):
    text = file.with_name("atoll-1.2.3+dirty-linux-amd64.spdx.json").read_bytes()
    assert entries["usr/share/sbom/atoll.spdx.json"][1] == text
    sbom = json.loads(text)
    assert (sbom["spdxVersion"], sbom["dataLicense"], sbom["creationInfo"]["created"]) == ("SPDX-2.3", "CC0-1.0", "2026-09-21T14:13:20Z")
    packages = {one["SPDXID"]: one for one in sbom["packages"]}
    assert len(packages) == len(sbom["packages"]) == 6
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in packages)
    one = packages["SPDXRef-Debian-one"]
    assert (one["versionInfo"], one["homepage"]) == ("1:2.3-4+b1", "https://one.example")
    assert one["supplier"] == "Organization: Some One (one@debian.org)"
    assert one["licenseDeclared"] == "(GPL-2.0-or-later OR Artistic-1.0-Perl) AND LicenseRef-one-house-rules"
    assert one["externalRefs"][0]["referenceLocator"] == "pkg:deb/debian/one@1%3A2.3-4%2Bb1?arch=amd64&distro=debian-12"
    # The documents of this one are a link to those of the other.
    assert packages["SPDXRef-Debian-two"]["licenseDeclared"] == one["licenseDeclared"].replace("-one-", "-two-")
    assert packages["SPDXRef-Program-atoll"]["licenseDeclared"] == "Apache-2.0"
    assert packages["SPDXRef-Program-onnxruntime"]["licenseDeclared"] == "MIT"
    extracted = {one["licenseId"]: one["extractedText"] for one in sbom["hasExtractedLicensingInfos"]}
    assert extracted["LicenseRef-one-house-rules"] == "Do as you like.\n\nOr not."
    relations = {(one["spdxElementId"], one["relationshipType"], one["relatedSpdxElement"]) for one in sbom["relationships"]}
    assert relations == {
        ("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Image-atoll"),
        ("SPDXRef-Compiled-libx-dev", "BUILD_DEPENDENCY_OF", "SPDXRef-Program-atoll"),
        *(("SPDXRef-Image-atoll", "CONTAINS", f"SPDXRef-{name}")
          for name in ("Program-atoll", "Program-onnxruntime", "Debian-one", "Debian-two"))}


@pytest.mark.parametrize("text, expected", [
    ("GPL-2", "GPL-2.0-only"), ("LGPL-2.1+", "LGPL-2.1-or-later"), ("GFDL-1.3+", "GFDL-1.3-or-later"), ("Expat", "MIT"),
    ("GPL-2.0+ and BSD-3-clause", "GPL-2.0-or-later AND BSD-3-Clause"), ("Expat OR Apache-2.0", "MIT OR Apache-2.0"),
    ("GPL-1+ or\n Artistic, and Expat", "(GPL-1.0-or-later OR Artistic-1.0-Perl) AND MIT"), ("GPL", "LicenseRef-x-GPL"),
    ("GPL-3+ with Bison exception", "LicenseRef-x-GPL-3-or-later-with-Bison-exception"), ("LGPL-7", "LicenseRef-x-LGPL-7"),
    ("ISC and/or LGPL-2.1+", "ISC OR LGPL-2.1-or-later"),
])
def test_licences_as_spdx_writes_them(text, expected):
    assert expression("x", text, {}) == expected


def test_copyright_files_of_this_machine_give_valid_expressions():
    read = 0
    for file in pathlib.Path("/usr/share/doc").glob("*/copyright"):
        package = file.parent.name
        found = read_copyright(package, file.read_text(errors="replace"))
        if found is None:
            continue
        read += 1
        assert re.fullmatch(EXPRESSION, found[0]), (package, found[0])
        assert found[0].count("(") == found[0].count(")")
        assert set(re.findall(r"LicenseRef-[A-Za-z0-9.-]+", found[0])) == set(found[1]) and all(found[1].values()), package
    assert read > 50


def test_text_that_is_no_machine_readable_copyright_says_nothing():
    assert read_copyright("x", "Copyright 2001 somebody\n\nLicense: GPL-2\n") is None
    assert read_copyright("x", "") is None


def test_the_manifest_listens_everywhere_and_serves_models(tmp_path):
    manifest = tmp_path / "atoll.toml"
    shutil.copyfile(ROOT / "etc/atoll.toml", manifest)
    build.listen_everywhere(manifest)
    text = manifest.read_text()
    assert re.findall(r'^address = "(.*)"', text, re.MULTILINE) == ["0.0.0.0:8001", "0.0.0.0:8000", "0.0.0.0:8002"]
    assert re.findall(r"^paths = (.*)", text, re.MULTILINE) == ['["/models"]']
    with pytest.raises(ValueError, match="found 0 addresses"):
        build.listen_everywhere(manifest)


def test_libraries_come_from_the_packages_that_have_them(tmp_path):
    (tmp_path / "bin").mkdir()
    shutil.copyfile(BUILD / "bin/atoll", tmp_path / "bin/atoll")
    found = build.library_packages(tmp_path)
    assert {"libc6", "libstdc++6"} <= found and not any(name.endswith("-dev") for name in found)


def test_sources_that_are_no_file_are_refused(tmp_path):
    done = subprocess.run([FOLDER / "build", tmp_path], capture_output=True, text=True, timeout=60,
                          env={"PATH": "/usr/bin:/bin", "ATOLL_PACKAGE_VERSION": "1", "ATOLL_IMAGE_SOURCES": "/no/such"})
    assert (done.returncode, done.stderr) == (1, "etc/packages/image/build: ATOLL_IMAGE_SOURCES: there is no file '/no/such'\n")
