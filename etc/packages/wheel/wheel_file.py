"""Writes a wheel (PEP 427) whose bytes depend on nothing but what is in it."""

import base64
import hashlib
import stat
import time
import zipfile

SIZE_MAX = 40_000_000


def _entry(name, mode, epoch):
    entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
    entry.external_attr = (stat.S_IFREG | mode) << 16
    entry.create_system = 3  # Unix: installers take the mode for a file's own
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def files_below(folder):
    """[(path, its name in the wheel)]; a link is what it leads to, as wheels have no links."""
    return sorted(((path, str(path.relative_to(folder))) for path in folder.rglob("*") if path.is_file()), key=lambda one: one[1])


def write_wheel(file, content, information, epoch):
    """content: the folder that is unpacked into site-packages. information: {name: bytes} of the folder NAME-VERSION.dist-info,
    without RECORD."""
    folder = "-".join(file.name.split("-")[:2]) + ".dist-info"
    record = ""
    with zipfile.ZipFile(file, "w", compresslevel=9) as wheel:
        for path, name in files_below(content):
            data = path.read_bytes()
            wheel.writestr(_entry(name, 0o755 if path.stat().st_mode & 0o111 else 0o644, epoch), data, compresslevel=9)
            record += _record_line(name, data)
        for name, data in sorted(information.items()):
            wheel.writestr(_entry(f"{folder}/{name}", 0o644, epoch), data, compresslevel=9)
            record += _record_line(f"{folder}/{name}", data)
        record += f"{folder}/RECORD,,\n"
        wheel.writestr(_entry(f"{folder}/RECORD", 0o644, epoch), record, compresslevel=9)
    size = file.stat().st_size
    if size > SIZE_MAX:
        file.unlink()
        raise ValueError(f"{file.name} has {size / 1e6:.1f} MB, the limit is {SIZE_MAX / 1e6:.0f} MB")
