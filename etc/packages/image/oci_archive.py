"""Writes and reads an image as one tar file: an OCI layout that has Docker's manifest.json too, so that podman, skopeo, containerd
and every version of docker load it."""

import contextlib
import gzip
import hashlib
import io
import json
import pathlib
import tarfile

TYPES = "application/vnd.oci.image"


def encoded(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def blob_name(digest):
    return "blobs/" + digest.replace(":", "/", 1)


def _descriptor(kind, data, **more):
    return {"mediaType": f"{TYPES}.{kind}", "digest": "sha256:" + hashlib.sha256(data).hexdigest(), "size": len(data), **more}


def write_archive(file, layers, config, name, version, epoch):
    """layers: of layer.py, the lowest first. config: the image's, to which the layers are added. name: what `docker load` calls it."""
    config = {**config, "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]}}
    small = {"config": encoded(config)}
    config_entry = _descriptor("config.v1+json", small["config"])
    small["manifest"] = encoded({
        "schemaVersion": 2, "mediaType": f"{TYPES}.manifest.v1+json", "config": config_entry,
        "layers": [{"mediaType": f"{TYPES}.layer.v1.tar+gzip", "digest": layer.digest, "size": layer.size} for layer in layers],
        "annotations": config["config"]["Labels"]})
    index = {"schemaVersion": 2, "mediaType": f"{TYPES}.index.v1+json", "manifests": [_descriptor(
        "manifest.v1+json", small["manifest"], platform={"architecture": config["architecture"], "os": config["os"]},
        annotations={"org.opencontainers.image.ref.name": version, "io.containerd.image.name": f"docker.io/library/{name}:{version}"})]}
    docker = [{"Config": blob_name(config_entry["digest"]), "RepoTags": [f"{name}:{version}"],
               "Layers": [blob_name(layer.digest) for layer in layers]}]
    content = {"oci-layout": encoded({"imageLayoutVersion": "1.0.0"}), "index.json": encoded(index), "manifest.json": encoded(docker)}
    for data in small.values():
        content[blob_name("sha256:" + hashlib.sha256(data).hexdigest())] = data
    for layer in layers:
        content[blob_name(layer.digest)] = layer.path
    with tarfile.open(file, "w", format=tarfile.USTAR_FORMAT) as tar:
        for folder in ("blobs", "blobs/sha256"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, epoch
            tar.addfile(entry)
        for path, data in sorted(content.items()):
            entry = tarfile.TarInfo(path)
            entry.mtime = epoch
            entry.size = data.stat().st_size if isinstance(data, pathlib.Path) else len(data)
            with data.open("rb") if isinstance(data, pathlib.Path) else io.BytesIO(data) as source:
                tar.addfile(entry, source)
    return index["manifests"][0]["digest"]


class Archive:
    """An image that was written, to look into. Whatever it is asked for is checked against its digest and size."""

    def __init__(self, file):
        self._file = pathlib.Path(file)
        with tarfile.open(self._file) as tar:
            self.names = tar.getnames()
        self.index, self.docker = json.loads(self.read("index.json")), json.loads(self.read("manifest.json"))
        self.manifest = json.loads(self._blob(self.index["manifests"][0]))
        self.config = json.loads(self._blob(self.manifest["config"]))

    def read(self, name):
        with tarfile.open(self._file) as tar:
            return tar.extractfile(name).read()

    def _blob(self, descriptor):
        data = self.read(blob_name(descriptor["digest"]))
        if (len(data), "sha256:" + hashlib.sha256(data).hexdigest()) != (descriptor["size"], descriptor["digest"]):
            raise ValueError(f"a blob is not what its descriptor says: {descriptor['digest']}")
        return data

    def check_layers(self):
        for descriptor, diff_id in zip(self.manifest["layers"], self.config["rootfs"]["diff_ids"], strict=True):
            plain = gzip.decompress(self._blob(descriptor))
            if "sha256:" + hashlib.sha256(plain).hexdigest() != diff_id:
                raise ValueError(f"layer {descriptor['digest']} is not what the configuration says")

    @contextlib.contextmanager
    def layer(self, number):
        """The tar file of a layer, to read from front to back."""
        with tarfile.open(self._file) as outer, \
                outer.extractfile(blob_name(self.manifest["layers"][number]["digest"])) as blob, \
                gzip.open(blob) as plain, tarfile.open(fileobj=plain, mode="r|") as tar:
            yield tar

    def entries(self):
        """(TarInfo, bytes or None) of all layers, the lowest first."""
        for number in range(len(self.manifest["layers"])):
            with self.layer(number) as tar:
                for entry in tar:
                    yield entry, tar.extractfile(entry).read() if entry.isreg() else None
