"""The list of what is in an image, as an SPDX document (2.3, JSON)."""

import datetime
import hashlib
import re
import urllib.parse

from copyright_file import read_copyright
from oci_archive import encoded


def debian_packages(status):
    """[{field: value}] of dpkg's status file, by name."""
    packages = []
    for block in status.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): ?(.*)$", block, re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            packages.append(fields)
    return sorted(packages, key=lambda one: (one["Package"], one["Architecture"]))


def _identifier(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.]", "-", name.replace("+", "-plus"))


def _package(kind, name, version, declared, **more):
    return {"SPDXID": _identifier(kind, name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": declared, "copyrightText": "NOASSERTION", **more}


def _location(name, version, architecture):
    quoted = urllib.parse.quote(version, safe="")
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
             "referenceLocator": f"pkg:deb/debian/{name}@{quoted}?arch={architecture}&distro=debian-12"}]


class Sbom:
    """The document while it is made: first what it describes, then what that has."""

    def __init__(self, version, epoch):
        self._version, self._packages, self._relations, self._own = version, [], [], {}
        self._created = datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._image = self._add(_package("Image", "atoll", version, "NOASSERTION", primaryPackagePurpose="CONTAINER"))
        self._relate("SPDXRef-DOCUMENT", "DESCRIBES", self._image)

    def _add(self, package):
        if any(one["SPDXID"] == package["SPDXID"] for one in self._packages):
            raise ValueError(f"two packages have the identifier {package['SPDXID']}")
        self._packages.append(package)
        return package["SPDXID"]

    def _relate(self, one, kind, other):
        self._relations.append({"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other})

    def add_program(self, name, version, licence, **more):
        identifier = self._add(_package("Program", name, version, licence, **more))
        self._relate(self._image, "CONTAINS", identifier)
        return identifier

    def add_debian(self, status, copyrights):
        """status: text of dpkg's status file; copyrights: {package: text of its copyright file}."""
        for fields in debian_packages(status):
            name, version = fields["Package"], fields["Version"]
            read = read_copyright(name, copyrights[name])
            if read:
                self._own.update(read[1])
            more = {"homepage": fields["Homepage"]} if "Homepage" in fields else {}
            if not read:
                more["licenseComments"] = f"/usr/share/doc/{name}/copyright is not machine-readable"
            supplier = re.sub(r"(.*?)\s*<(.*)>", r"\1 (\2)", fields["Maintainer"])
            self._relate(self._image, "CONTAINS", self._add(_package(
                "Debian", name, version, read[0] if read else "NOASSERTION", supplier=f"Organization: {supplier}",
                externalRefs=_location(name, version, fields["Architecture"]), **more)))

    def add_compiled_in(self, program, packages):
        """packages: lines NAME VERSION of Debian's packages whose headers or static libraries the program was compiled with."""
        for line in packages.splitlines():
            name, version = line.split()
            identifier = self._add(_package("Compiled", name, version, "NOASSERTION", externalRefs=_location(name, version, "amd64"),
                                            licenseComments=f"its copyright file is among the program's documents: licenses/{name}.txt"))
            self._relate(identifier, "BUILD_DEPENDENCY_OF", program)

    def text(self):
        document = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"atoll-{self._version}-linux-amd64",
            "creationInfo": {"created": self._created, "creators": ["Organization: The Atoll authors", "Tool: etc/dev/package"]},
            "packages": self._packages, "relationships": self._relations,
            "hasExtractedLicensingInfos": [{"licenseId": one, "extractedText": text} for one, text in sorted(self._own.items())]}
        # Every document has a name of its own, which depends on nothing but what the document says.
        digest = hashlib.sha256(encoded(document)).hexdigest()
        document["documentNamespace"] = f"https://spdx.org/spdxdocs/atoll-{self._version}-{digest}"
        return encoded(document) + b"\n"
