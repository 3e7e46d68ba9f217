"""What in an image was left by the machine that made it."""

import os
import re
import socket
import subprocess
import urllib.parse

# Places that belong to the machine on which something runs. Folders may be there, and empty files.
PLACES = re.compile(
    r"etc/(hostname|hosts|resolv\.conf|mailname|machine-id|mtab|\.pwd\.lock|pip\.conf)$"
    r"|etc/(passwd|group|shadow|gshadow|subuid|subgid)-$"
    r"|etc/apt/(auth\.conf(\.d/.*)?|sources\.list\.d/.*|preferences\.d/.*)$"
    r"|(dev|proc|sys|run|tmp|boot|mnt|media|var/tmp|var/log|var/cache/(?!debconf/)[^/]+|var/lib/apt/lists)/.*"
    r"|usr/local/share/ca-certificates/.*"
    r"|(root|home/[^/]+)/\.(cache|config|ssh|gnupg|netrc|pip|docker|bash_history|python_history)(/.*)?$")
SOURCES = re.compile(r"etc/apt/sources\.list$")
DEBIAN = {"deb.debian.org", "security.debian.org"}
CERTIFICATE = re.compile(r"etc/ssl/(certs|private)/.")


def _hosts(text):
    return {urllib.parse.urlsplit(found).hostname for found in re.findall(r"[a-z+]+://[^\s\"';]+", text)} - {None}


def words_of_this_machine(*folders):
    """Texts that only this machine has: its full name, its proxies, and folders in which something was made."""
    # A short one such as /src stands in many files that do not speak of this machine.
    words = {str(folder) for folder in folders if len(str(folder)) >= 10}
    for name, value in os.environ.items():
        if name.lower().endswith("_proxy") and name.lower() != "no_proxy":
            words |= _hosts(value if "://" in value else "http://" + value)
    if configured := subprocess.run(["apt-config", "dump"], text=True, stdout=subprocess.PIPE).stdout:
        words |= _hosts("\n".join(line for line in configured.splitlines() if "proxy" in line.lower()))
    name = socket.getfqdn()
    if "." in name and not name.startswith("localhost"):
        words.add(name)
    return sorted(words - {"localhost", "127.0.0.1"})


def _faults_of(name, entry, data, words):
    if PLACES.match(name) and not entry.isdir() and (data or not entry.isreg()):
        yield f"{name}: belongs to the machine that made the image"
    if CERTIFICATE.match(name) and not (entry.issym() or entry.isdir() or name == "etc/ssl/certs/ca-certificates.crt"):
        yield f"{name}: a certificate or key of no package"
    if CERTIFICATE.match(name) and entry.issym() and "/" in entry.linkname and \
            not entry.linkname.startswith("/usr/share/ca-certificates/"):
        yield f"{name}: a certificate or key of no package"
    if data is None:
        return
    if SOURCES.match(name) and (others := _hosts(data.decode()) - DEBIAN):
        yield f"{name}: names a source of packages that is not Debian's own: {', '.join(sorted(others))}"
    if name.startswith("etc/apt/") and re.search(rb"(?i)\bproxy\b", data):
        yield f"{name}: names a proxy"
    for word in words:
        if word.encode() in data:
            yield f"{name}: has '{word}' of the machine that made the image"


def traces(entries, words):
    """A line for each trace in [(TarInfo, bytes or None)]."""
    found, certificates, trusted = [], 0, 0
    for entry, data in entries:
        name = entry.name.removeprefix("./")
        found += _faults_of(name, entry, data, words)
        found += [f"{name}: a link to '{word}' of the machine that made the image" for word in words if word in entry.linkname]
        certificates += name.startswith("usr/share/ca-certificates/") and entry.isreg()
        if name == "etc/ssl/certs/ca-certificates.crt":
            trusted = data.count(b"-----BEGIN CERTIFICATE-----")
    if trusted > certificates:
        found.append(f"etc/ssl/certs/ca-certificates.crt: has {trusted} certificates, the package has {certificates}")
    return found
