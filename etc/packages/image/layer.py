"""Writes a layer of an image: a compressed tar file whose bytes depend on nothing but what is in it."""

import copy
import gzip
import hashlib
import io
import pathlib
import tarfile

BLOCK = 1 << 20


class Hashing:
    """A file to write to that knows the digest and the size of what went through."""

    def __init__(self, file):
        self._file, self._hash, self.size = file, hashlib.sha256(), 0

    def write(self, data):
        self._hash.update(data)
        self.size += len(data)
        return self._file.write(data)

    def flush(self):
        self._file.flush()

    @property
    def digest(self):
        return "sha256:" + self._hash.hexdigest()


class Layer:
    """The file of a layer while it is written, entry by entry; as context, after which digests and size are known."""

    def __init__(self, path, epoch):
        self.path, self.names = pathlib.Path(path), set()
        self._epoch = epoch

    def __enter__(self):
        self._file = self.path.open("wb")
        self._compressed = Hashing(self._file)
        # Neither a name nor a time in the header.
        self._gzip = gzip.GzipFile("", "wb", 6, self._compressed, 0)
        self._plain = Hashing(self._gzip)
        self._tar = tarfile.open(mode="w|", fileobj=self._plain, format=tarfile.PAX_FORMAT, bufsize=BLOCK)
        return self

    def __exit__(self, kind, *_):
        self._tar.close()
        self._gzip.close()
        self._file.close()
        self.diff_id, self.digest, self.size = self._plain.digest, self._compressed.digest, self._compressed.size
        self.plain_size = self._plain.size

    def add(self, entry, data=None):
        """entry: a TarInfo; data: the bytes of a file, or a file to read them from. Only the number of its owner is kept, and no
        time that is later than the layer's."""
        entry = copy.copy(entry)
        entry.name = entry.name.strip("/")
        entry.uname = entry.gname = ""
        entry.mtime = min(int(entry.mtime), self._epoch)
        entry.pax_headers = {}
        if entry.islnk() and entry.linkname not in self.names:
            raise ValueError(f"{entry.name} is a hard link to {entry.linkname}, which the layer does not have")
        if entry.name in self.names:
            raise ValueError(f"the layer has {entry.name} already")
        self.names.add(entry.name)
        if isinstance(data, bytes):
            entry.size = len(data)
            data = io.BytesIO(data)
        self._tar.addfile(entry, data)

    def add_file(self, name, data, mode=0o644, owner=0):
        self._add_new(name, tarfile.REGTYPE, mode, owner, data)

    def add_folder(self, name, mode=0o755, owner=0):
        """Not if it is there already."""
        if name not in self.names:
            self._add_new(name, tarfile.DIRTYPE, mode, owner)

    def add_parents(self, name):
        for parent in reversed(pathlib.PurePosixPath(name).parents[:-1]):
            self.add_folder(str(parent))

    def add_tree(self, folder, prefix):
        """What is in the folder, below the prefix, as root's. Modes are either 0755 or 0644."""
        self.add_parents(f"{prefix}/x")
        for path in sorted(pathlib.Path(folder).rglob("*"), key=lambda one: one.relative_to(folder).parts):
            name = f"{prefix}/{path.relative_to(folder)}"
            if path.is_symlink():
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname, entry.mode, entry.mtime = tarfile.SYMTYPE, str(path.readlink()), 0o777, self._epoch
                self.add(entry)
            elif path.is_dir():
                self.add_folder(name)
            else:
                self.add_file(name, path.read_bytes(), 0o755 if path.stat().st_mode & 0o111 else 0o644)

    def _add_new(self, name, kind, mode, owner, data=None):
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.uid, entry.gid, entry.mtime = kind, mode, owner, owner, self._epoch
        self.add(entry, data)
