"""What is in the wheels: all that it needs and the licenses of it, nothing of the folder that it was built in, and equal bytes from two
folders."""

import base64
import email
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from packed import make_packages
from support.server import BUILD, ROOT

VERSION = re.search(r"^project\(Atoll VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)


@pytest.fixture(scope="session", params=["atoll_server", "atoll_server_sdk"])
def name(request):
    return request.param


@pytest.fixture(scope="session")
def file(packed, name):
    return next(packed.glob(f"{name}-*.whl"))


@pytest.fixture(scope="session")
def unpacked(file, name, tmp_path_factory):
    folder = tmp_path_factory.mktemp(name)
    subprocess.run([sys.executable, "-m", "zipfile", "-e", file, folder], check=True)
    return folder


@pytest.fixture(scope="session")
def information(unpacked):
    return next(unpacked.glob("*.dist-info"))


def binaries(folder):
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.open("rb").read(4) == b"\x7fELF"]


def test_name_size_and_metadata(file, name, information):
    assert re.fullmatch(rf"{name}-{re.escape(VERSION)}(\+dirty)?-py3-none-manylinux_2_36_x86_64\.whl", file.name)
    assert file.stat().st_size < 40_000_000
    metadata = email.message_from_string((information / "METADATA").read_text())
    assert metadata["Name"] == name.replace("_", "-") and metadata["Version"] == file.name.split("-")[1]
    assert metadata["Requires-Python"] == ">=3.10" and metadata.get_payload().startswith("# ")
    assert "Operating System :: POSIX :: Linux" in metadata.get_all("Classifier")
    assert {path for path in metadata.get_all("License-File")} == {
        str(path.relative_to(information / "licenses")) for path in (information / "licenses").rglob("*") if path.is_file()}
    assert "Tag: py3-none-manylinux_2_36_x86_64\n" in (information / "WHEEL").read_text()
    requires = metadata.get_all("Requires-Dist") or []
    assert [re.match(r"[\w-]+", one).group() for one in requires] == (["onnxruntime"] if name == "atoll_server" else [])


def test_the_record_is_that_of_every_file(file, information):
    with zipfile.ZipFile(file) as wheel:
        listed = dict(line.split(",")[:2] for line in (information / "RECORD").read_text().splitlines())
        assert set(listed) == set(wheel.namelist()) and len(wheel.namelist()) == len(listed)
        for one in wheel.infolist():
            digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(one)).digest()).rstrip(b"=").decode()
            assert listed[one.filename] == ("" if one.filename.endswith("/RECORD") else f"sha256={digest}")
            is_program = "/bin/" in one.filename
            assert bool(one.external_attr >> 16 & 0o111) == is_program or one.filename.endswith(".so") or ".so." in one.filename


def test_it_has_every_plugin_but_those_that_are_left_out(unpacked):
    if not (unpacked / "atoll_server").exists():
        assert (unpacked / "atoll_server_sdk/bin/atoll-lint").exists() and (unpacked / "atoll_server_sdk/lib/cmake/Atoll").exists()
        return
    there = {f"{path.parent.name}/{path.stem}" for path in (unpacked / "atoll_server/lib/atoll/plugins").glob("*/*.so")}
    every = {f"{path.parent.parent.name}/{path.parent.name}" for path in (ROOT / "plugins").glob("*/*/plugin.cc")}
    assert there == every - {"frontends/grpc", "backends/llamacpp", "backends/pytorch"}
    assert not list(unpacked.rglob("libonnxruntime*")) and not list(unpacked.rglob("*torch*.so*"))
    assert len(list(unpacked.rglob("libprotobuf.so*"))) == 1


def test_the_platform_tag_holds(file):
    """auditwheel looks at the symbols' versions and at what is needed from the system."""
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", file], capture_output=True, text=True, timeout=300)
    assert shown.returncode == 0, shown.stderr
    tag = re.search(r'following\s+platform\s+tag:\s+"manylinux_2_(\d+)_x86_64"', shown.stdout)
    assert tag and int(tag.group(1)) <= 36, shown.stdout


def test_what_is_needed_comes_along_and_is_found(unpacked):
    """Each library that is not the C or C++ runtime's is in the wheel, where the file that needs it looks, and under its own name."""
    platform = r"(ld-linux-x86-64|libc|libdl|libgcc_s|libm|libpthread|libresolv|librt|libstdc\+\+)\.so\.\d"
    looked_at = 0
    for path in binaries(unpacked):
        dynamic = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True).stdout
        folders = [part.replace("$ORIGIN", str(path.parent)) for found in re.findall(r"R(?:UN)?PATH\).*\[(.*)\]", dynamic)
                   for part in found.split(":")]
        assert all(part.startswith("/") and str(unpacked) in part for part in folders), (path, folders)
        for needed in re.findall(r"NEEDED\).*\[(.*)\]", dynamic):
            if re.fullmatch(platform, needed):
                continue
            # What a plugin does not find by its own path it finds by the kernel's.
            folders_of_program = [*folders, str(unpacked / "atoll_server/lib/atoll"), str(unpacked / "atoll_server/lib/private")]
            assert any(os.path.exists(os.path.join(folder, needed)) for folder in folders_of_program), (path, needed)
            looked_at += 1
        if "/private/" in str(path):
            assert f"SONAME)             Library soname: [{path.name}]" in dynamic or f"[{path.name}]" in dynamic
    assert looked_at > 1


def test_relocated_data_stays_read_only(unpacked):
    """Tools that change files may lose the segment that the loader protects."""
    assert [str(path) for path in binaries(unpacked)
            if "GNU_RELRO" not in subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout] == []


def test_every_library_that_comes_along_has_its_license(unpacked, information):
    private = [path.name for path in binaries(unpacked) if path.parent.name == "private"]
    packages = dict(line.split() for line in (information / "licenses/PACKAGES").read_text().splitlines())
    owners = {}
    for line in subprocess.run(["dpkg-query", "-S", "*.so*"], capture_output=True, text=True).stdout.splitlines():
        owner, path = line.split(": ", 1)
        owners.setdefault(os.path.basename(path), set()).update(name.split(":")[0] for name in owner.split(", "))
    assert len(private) > 1
    for library in private:
        names = owners[library] & set(packages)
        assert names, f"{library} is of {owners[library]}"
        assert all((information / "licenses" / f"{name}.txt").stat().st_size > 100 for name in names)
    for text in (information / "licenses").glob("*.txt"):
        for common in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text.read_text(errors="replace")):
            assert (information / "licenses/common" / common).stat().st_size > 1000, f"{text.name} names {common}"
    assert (information / "licenses/LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert "MIT" in (information / "licenses/onnxruntime-headers.txt").read_text()


def headers_read():
    """Headers outside the tree that the compiler has read for what a wheel has."""
    listed = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    headers, is_shipped = set(), False
    for line in listed.splitlines():
        if line and not line.startswith(" "):
            output = line.split(":")[0]
            is_shipped = not re.search(r"_test\.dir/|_test_proto|precompiled_test|_bench|^tests/|^bench/|/testing/|fixtures|double|"
                                       r"_fuzz\.dir|interop|frontends/grpc/|backend_pytorch|plugin_backends_pytorch|llamacpp|atoll_proto_grpc|/atoll-replay/", output)
        elif is_shipped and line.strip().startswith("/usr/") and "/c++/" not in line and "/gcc/" not in line:
            headers.add(line.strip())
    return headers


def test_every_package_that_is_compiled_in_has_its_license(information):
    """Headers of the C library, the kernel and Python describe what they call and put nothing into a program."""
    licensed = {path.stem for path in (information / "licenses").glob("*.txt")}
    headers = headers_read()
    assert len(headers) > 300
    one_of_each_folder = {os.path.dirname(os.path.realpath(header)): os.path.realpath(header) for header in sorted(headers)}
    owners = subprocess.run(["dpkg-query", "-S", *one_of_each_folder.values()], capture_output=True, text=True).stdout
    packages = {line.split(":")[0] for line in owners.splitlines()}
    interfaces = {"libc6-dev", "linux-libc-dev"} | {name for name in packages if re.match(r"libpython3", name)}
    assert len(packages) > 10 and packages - interfaces - licensed == set()


def test_what_plugins_keep_of_others_has_its_license(information):
    names = {text.parent.name for text in (ROOT / "plugins").glob("*/*/third_party/*/LICENSE")}
    assert names >= {"uplot"}
    assert {name for name in names if not (information / f"licenses/{name}.txt").exists()} == set()


def test_nothing_names_the_folder_that_it_was_built_in(unpacked):
    folders = {str(ROOT), str(BUILD), str(BUILD.resolve()), "/tmp/tmp"}
    for path in unpacked.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert [folder for folder in folders if folder.encode() in data] == [], path


@pytest.fixture(scope="session")
def packed_elsewhere(tmp_path_factory):
    """The same packed by a copy of this checkout in another folder, by somebody with another umask, time zone and language."""
    copy = tmp_path_factory.mktemp("elsewhere") / "a copy"
    run = lambda *command: subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout  # noqa: E731
    run("git", "clone", "-q", ROOT, copy)
    run("git", "-C", copy, "checkout", "-q", "--detach", run("git", "rev-parse", "HEAD").strip())
    for name in run("git", "ls-files", "-m", "-o", "--exclude-standard").splitlines():
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    (copy / "build").mkdir()
    (copy / "build/deps").symlink_to(ROOT / "build/deps")
    temporary = tmp_path_factory.mktemp("temporary")
    old = os.umask(0o077)
    try:
        return make_packages("wheel", tmp_path_factory.mktemp("elsewhere"), copy, TMPDIR=str(temporary), TZ="Pacific/Auckland",
                             LC_ALL="C.UTF-8")
    finally:
        os.umask(old)


def test_two_folders_give_equal_bytes(file, packed_elsewhere):
    other = packed_elsewhere / file.name
    with zipfile.ZipFile(file) as one, zipfile.ZipFile(other) as two:
        assert one.namelist() == two.namelist()
        assert [name for name in one.namelist() if one.read(name) != two.read(name)] == []
    assert file.read_bytes() == other.read_bytes()
