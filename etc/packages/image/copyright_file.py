"""Reads Debian's copyright files, as far as they are machine-readable (format 1.0), as licence expressions of SPDX."""

import re

# Debian's short names that SPDX spells differently, in small letters. GPL-2 is GPL-2.0-only, GPL-2+ is GPL-2.0-or-later (below).
_SPDX = {"expat": "MIT", "mit": "MIT", "isc": "ISC", "zlib": "Zlib", "bsd-2-clause": "BSD-2-Clause",
         "bsd-3-clause": "BSD-3-Clause", "bsd-4-clause": "BSD-4-Clause", "bsd-4-clause-uc": "BSD-4-Clause-UC", "0bsd": "0BSD",
         "apache-2.0": "Apache-2.0", "apache-2": "Apache-2.0", "artistic": "Artistic-1.0-Perl", "bsl-1.0": "BSL-1.0",
         "bsl-1": "BSL-1.0", "cc0-1.0": "CC0-1.0", "cc-by-3.0": "CC-BY-3.0", "curl": "curl", "fsfap": "FSFAP", "fsful": "FSFUL",
         "fsfullr": "FSFULLR", "mpl-1.1": "MPL-1.1", "mpl-2": "MPL-2.0", "mpl-2.0": "MPL-2.0", "ms-pl": "MS-PL",
         "openldap-2.8": "OLDAP-2.8", "oldap-2.8": "OLDAP-2.8", "sleepycat": "Sleepycat", "x11": "X11", "beerware": "Beerware",
         "latex2e": "Latex2e", "mit-cmu": "MIT-CMU", "openssl": "OpenSSL", "rsa-md": "RSA-MD"}
_GNU = re.compile(r"(l?gpl|gfdl)-(\d)(?:\.(\d))?(\+?)$")
_GNU_VERSIONS = {"gpl": {"1.0", "2.0", "3.0"}, "lgpl": {"2.0", "2.1", "3.0"}, "gfdl": {"1.1", "1.2", "1.3"}}


def _reference(package, name):
    words = name.replace("+", "-or-later")
    return "LicenseRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", f"{package}-{words}").strip("-")


def _spdx(package, name, own):
    """The name of one licence; own gets {reference: name} if SPDX has none that is surely the same."""
    if known := _SPDX.get(name.lower()):
        return known
    if gnu := _GNU.match(name.lower()):
        family, version = gnu[1], f"{gnu[2]}.{gnu[3] or 0}"
        if version in _GNU_VERSIONS[family]:
            return f"{family.upper()}-{version}-{'or-later' if gnu[4] else 'only'}"
    reference = _reference(package, name)
    own[reference] = name
    return reference


def expression(package, text, own):
    """Of one License field, such as "GPL-2+ or Artistic, and BSD-3-clause": a comma binds less than "and", that less than "or"."""
    groups = re.split(r",\s+(and/or|and|or)\s+", " ".join(text.split()), flags=re.IGNORECASE)
    out = ""
    for number, part in enumerate(groups):
        if number % 2:
            out += " AND " if part.lower() == "and" else " OR "
            continue
        words = re.split(r"\s+(and/or|and|or)\s+", part, flags=re.IGNORECASE)
        inner = "".join((" AND " if word.lower() == "and" else " OR ") if place % 2 else _spdx(package, word, own)
                        for place, word in enumerate(words))
        out += f"({inner})" if len(groups) > 1 and len(words) > 1 else inner
    return out


def _paragraphs(text):
    for block in re.split(r"\n[ \t]*\n", text):
        fields, last = {}, None
        for line in block.splitlines():
            if field := re.match(r"([A-Za-z][A-Za-z-]*):[ \t]*(.*)", line):
                last = field[1].lower()
                fields[last] = field[2].strip()
            elif last and line[:1] in (" ", "\t"):
                fields[last] += "\n" + ("" if line.strip() == "." else line.strip())
        yield fields


def read_copyright(package, text):
    """(expression, {reference: text}): what is said of the package's files, and what each name is that SPDX has no licence for.
    None: the file is not machine-readable."""
    paragraphs = list(_paragraphs(text))
    if not paragraphs or "copyright-format/1.0" not in paragraphs[0].get("format", ""):
        return None
    said, texts, own = set(), {}, {}
    for fields in paragraphs:
        name, _, body = fields.get("license", "").partition("\n")
        if body.strip():
            texts.setdefault(name, body.strip())
        if "files" in fields and name:
            said.add(expression(package, name, own))
    if not said:
        return None
    parts = sorted(said)
    whole = parts[0] if len(parts) == 1 else " AND ".join(f"({one})" if " " in one else one for one in parts)
    where = f"Called '{{}}' in /usr/share/doc/{package}/copyright"
    return whole, {reference: texts.get(name) or where.format(name) for reference, name in own.items()}
