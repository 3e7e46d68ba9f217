"""Makes the image's lowest layer, a small Debian with what the server needs: mmdebstrap unpacks and configures the packages."""

import os
import re
import subprocess
import tarfile
import tempfile

SUITE = "bookworm"
# The layer's files have no later time than the day of Debian 12, so that the layer stays the same as long as its packages do.
EPOCH = 1686355200
HOOKS = "/usr/share/mmdebstrap/hooks/merged-usr"  # else a package that merges /usr brings all of Perl
# What models and those who add to the image need beside the libraries of the server.
PACKAGES = ["ca-certificates", "python3", "python3-numpy", "python3-pip"]
OWN_SOURCES = f"""deb http://deb.debian.org/debian {SUITE} main
deb http://deb.debian.org/debian {SUITE}-updates main
deb http://security.debian.org/debian-security {SUITE}-security main
"""
USER, USER_NUMBER = "triton-server", 1000

# Manuals and translations, what belongs to the machine that the packages were unpacked on, and what a running system has anew.
# Of documents the copyright files stay.
_LEFT_OUT = re.compile(
    r"usr/share/(man|info|locale|lintian|bug)/."
    r"|usr/share/doc/[^/]+/(?!copyright$)"
    r"|(dev|proc|sys|run|tmp|var/tmp|var/log|var/lib/apt/lists|var/cache/(apt|adduser|ldconfig|man))/."
    r"|var/(cache/debconf|lib/dpkg)/.*-old$"
    r"|etc/(hostname|hosts|resolv\.conf|machine-id|\.pwd\.lock|(passwd|group|shadow|gshadow|subuid|subgid)-)$")
_KEPT = re.compile(r"(run/lock|var/log/apt|var/lib/apt/lists/partial|var/cache/apt/archives(/partial)?)$")


def is_left_out(name, is_folder=False):
    return bool(_LEFT_OUT.match(name)) and not (is_folder and _KEPT.match(name))


def make_root(file, packages, sources):
    """Writes a tar file. sources: a file in the form of sources.list to take packages from; None: Debian's own servers."""
    options = ["--variant=apt", "--format=tar", f"--include={','.join(sorted({*PACKAGES, *packages}))}", f"--hook-dir={HOOKS}",
               "--architectures=amd64"]
    excluded = ["/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/doc/*"]
    options += [f"--dpkgopt=path-exclude={path}" for path in excluded] + ["--dpkgopt=path-include=/usr/share/doc/*/copyright"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryFile() as log:
        done = subprocess.run(["mmdebstrap", *options, SUITE, file, *([sources] if sources else [])], env=environment,
                              stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            log.seek(0)
            raise OSError("mmdebstrap failed:\n" + log.read()[-4000:].decode(errors="replace"))


_ADDED = {
    "etc/passwd": f"{USER}:x:{USER_NUMBER}:{USER_NUMBER}::/home/{USER}:/bin/bash\n",
    "etc/group": f"{USER}:x:{USER_NUMBER}:\n",
    "etc/shadow": f"{USER}:!:{EPOCH // 86400}:0:99999:7:::\n",
    "etc/gshadow": f"{USER}:!::\n",
}


class Base:
    """What else is to be known of the lowest layer."""

    def __init__(self):
        self.status, self.copyrights = "", {}
        self._document_links = {}

    def fill(self, layer, file):
        """The layer, from what make_root has written."""
        with tarfile.open(file) as tar:
            for entry in tar:
                entry.name = entry.name.removeprefix("./")
                if entry.name in ("", ".") or is_left_out(entry.name, entry.isdir()):
                    continue
                if entry.islnk():
                    entry.linkname = entry.linkname.removeprefix("./")
                data = tar.extractfile(entry).read() if entry.isreg() else None
                layer.add(entry, self._changed(entry, data))
        layer.add_folder(f"home/{USER}", 0o755, USER_NUMBER)
        layer.add_folder("models", 0o755, USER_NUMBER)
        for package, other in self._document_links.items():
            self.copyrights[package] = self.copyrights[other]

    def _changed(self, entry, data):
        if entry.name == "etc/apt/sources.list":
            return OWN_SOURCES.encode()
        if entry.name in _ADDED:
            return data + _ADDED[entry.name].encode()
        if entry.name == "var/lib/dpkg/status":
            self.status = data.decode()
        if document := re.match(r"usr/share/doc/([^/]+)(/copyright)?$", entry.name):
            if entry.issym():
                self._document_links[document[1]] = entry.linkname.removesuffix("/copyright").split("/")[-1]
            elif entry.isreg():
                self.copyrights[document[1]] = data.decode(errors="replace")
        return data
