"""What a package is made of, as SPDX 2.3 in JSON: its own files with their digests, the libraries that its programs link, those
whose headers or static code they hold, and what else is embedded; versions and licences are those of Debian's packages on the machine that
builds."""
import datetime
import functools
import hashlib
import json
import pathlib
import re
import subprocess

# Code of others that becomes a part of the programs at compile time; their packages are a part of kPackages in ./dev.
COMPILED_IN = ("libcli11-dev", "libeigen3-dev", "nlohmann-json3-dev", "cppzmq-dev", "opencl-clhpp-headers", "opencl-c-headers",
               "libspdlog-dev", "libfmt-dev")
BOOST = "/usr/include/boost/version.hpp"  # of a package whose name has its version
LICENCE = "Apache-2.0"
# Names in Debian's copyright files of licences that SPDX lists under another one; what SPDX does not list becomes a LicenseRef.
SPDX_NAMES = {"Expat": "MIT", "BSD-3-clause": "BSD-3-Clause", "BSD-2-clause": "BSD-2-Clause", "Boost-1.0": "BSL-1.0",
              "Apache-2": "Apache-2.0", "MPL-2": "MPL-2.0", "zlib": "Zlib", "LGPL-2.1": "LGPL-2.1-only",
              "LGPL-2.1+": "LGPL-2.1-or-later", "LGPL-2+": "LGPL-2.0-or-later", "LGPL-3+": "LGPL-3.0-or-later",
              "GPL-2+": "GPL-2.0-or-later", "GPL-3+": "GPL-3.0-or-later"}
SPDX_NAMES |= {name: name for name in (*SPDX_NAMES.values(), "MIT", "X11", "ISC", "BSL-1.0", "Apache-2.0", "MPL-2.0", "Zlib")}
# What the copyright files of these packages, which programs cannot read, say to a reader.
READ_BY_A_PERSON = {"libc6": "LGPL-2.1-or-later", "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
                    "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1", "libjs-dygraphs": "MIT",
                    "libcairo2": "LGPL-2.1-only OR MPL-1.1"}


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@functools.cache
def package_of_file(path):
    """Debian's package that a file belongs to, asked by each name that merged /usr gives it."""
    for name in (path, path.removeprefix("/usr"), "/usr" + path):
        found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(": ")[0].split(",")[0].split(":")[0]
    raise SystemExit(f"{path}: expected a file of a package of Debian, found none")


@functools.cache
def library_path(soname):
    for line in run("/sbin/ldconfig", "-p").splitlines():
        words = line.split()
        if words and words[0] == soname:
            return str(pathlib.Path(words[-1]).resolve())
    return None


def linked_packages(root, own_sonames):
    """Packages of the libraries that the ELF files below `root` name as needed."""
    packages = set()
    for path in sorted(root.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
            continue
        for soname in re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", str(path))):
            if soname in own_sonames:
                continue
            library = library_path(soname)
            if library is None:
                raise SystemExit(f"{path.name}: needs {soname}: expected it among the machine's libraries, found none")
            packages.add(package_of_file(library))
    return packages


def licence_of(package):
    """The licence of all files, or of most, as the package's copyright file states it; NOASSERTION where it states none in a form
    that programs can read."""
    if package in READ_BY_A_PERSON:
        return READ_BY_A_PERSON[package]
    path = pathlib.Path("/usr/share/doc") / package / "copyright"
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    stated = re.search(r"^Files:\s*\*.*?^License:[ \t]*(\S[^\n]*)", text, re.MULTILINE | re.DOTALL)
    if stated is None:
        return "NOASSERTION"
    words = re.split(r"\s+(and|or)\s+", stated.group(1).strip())
    return " ".join(word.upper() if word in ("and", "or") else
                    SPDX_NAMES.get(word, "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", word)) for word in words)


def described(package, how):
    version, homepage = run("dpkg-query", "-W", "-f=${Version}\t${Homepage}\n", package).splitlines()[0].split("\t")
    return {"SPDXID": f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', package)}", "name": package, "versionInfo": version,
            "supplier": "Organization: Debian", "downloadLocation": homepage or "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": licence_of(package), "copyrightText": "NOASSERTION",
            "comment": how,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": f"pkg:deb/debian/{package}@{version}"}]}


def files_of(root):
    files = []
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            files.append({"SPDXID": f"SPDXRef-File-{len(files)}", "fileName": "./" + path.relative_to(root).as_posix(),
                          "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                                        {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
                          "licenseConcluded": LICENCE, "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION"})
    return files


def document(root, name, version, epoch, embedded):
    """The document of the package `name`, whose files lie below `root`; `embedded` names packages whose files it holds."""
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    files = files_of(root)
    own = {"SPDXID": "SPDXRef-Package", "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
           "filesAnalyzed": True, "licenseConcluded": LICENCE, "licenseDeclared": LICENCE, "copyrightText": "NOASSERTION",
           "licenseInfoFromFiles": [LICENCE],
           "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(sorted(
               file["checksums"][0]["checksumValue"] for file in files)).encode()).hexdigest()}}
    linked = linked_packages(root, {"libnearfield.so.0", "libnearfield_ring.so.3"})
    others, relations = [], [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package")]
    parts = [(package, "DYNAMIC_LINK", "linked") for package in sorted(linked)]
    if linked:
        parts += [(package, "CONTAINS", "compiled in, from its headers") for package in (package_of_file(BOOST), *COMPILED_IN)]
    parts += [(package, "CONTAINS", "embedded in the programs") for package in embedded]
    for package, relation, how in parts:
        others.append(described(package, how))
        relations.append(("SPDXRef-Package", relation, others[-1]["SPDXID"]))
    relations += [("SPDXRef-Package", "CONTAINS", file["SPDXID"]) for file in files]
    references = sorted({word for package in others for word in package["licenseDeclared"].split() if word.startswith("LicenseRef-")})
    written = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{version}",
               "documentNamespace": f"https://nearfield.invalid/spdx/{name}-{version}",
               "creationInfo": {"created": created, "creators": ["Tool: packaging/sbom.py"]},
               "packages": [own, *others], "files": files,
               "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                                 for one, kind, other in relations]}
    if references:
        written["hasExtractedLicensingInfos"] = [
            {"licenseId": reference, "name": reference.removeprefix("LicenseRef-"),
             "extractedText": "As in /usr/share/doc/PACKAGE/copyright of the packages of Debian that declare it."}
            for reference in references]
    return json.dumps(written, indent=1) + "\n"
