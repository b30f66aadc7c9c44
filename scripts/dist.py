#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a release of the commit that is checked out: a source archive, a stripped build for this machine's architecture with
the documents, an SBOM (SPDX 2.3), and checksums of all of them.

usage: dist.py [--agent PROGRAM] DIRECTORY

The version is the one that `git describe` gives, so a release is a tag. The source archive has it in the file VERSION, which
the Makefile reads, and the agent is built from that archive: what git does not have is not in a release. Everything is dated
by the commit (SOURCE_DATE_EPOCH) and no path of this machine is in it, so two runs give the same bytes wherever they are, with
the same packages of compilers and libraries. With --agent that program is packed, and nothing is built.
"""
import argparse
import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "allframes"
# In the stripped build beside the program; folders with all that is in them.
DOCUMENTS = ["LICENSE", "LICENSES", "README.md", "docs"]
PAGE_LICENSES = "viewer/assets/LICENSES.txt"
OWN_LICENSE = "Apache-2.0 AND GPL-2.0-only"


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, **more).stdout


def git(*arguments):
    return run("git", "-C", ROOT, *arguments).decode().strip()


def find_version():
    version = git("describe", "--tags", "--always", "--dirty")
    if version.endswith("-dirty"):
        sys.exit("dist: there are changes that are not committed, and a release is made of a commit; commit them first")
    return version


def pack(path, epoch, members):
    """Writes @members, [(name, mode, bytes)], to the archive @path, in the order of their names."""
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=epoch) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, mode, content in sorted(members):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(content), mode, epoch
            archive.addfile(member, io.BytesIO(content))


def source_members(top, version):
    """The committed files, and VERSION."""
    members = [(top + "/VERSION", 0o644, (version + "\n").encode())]
    with tarfile.open(fileobj=io.BytesIO(run("git", "-C", ROOT, "archive", "--format=tar", "HEAD"))) as archive:
        for member in archive:
            if member.issym():
                sys.exit("dist: %s is a link, which archives of releases do not have" % member.name)
            if member.isfile():
                members.append(("%s/%s" % (top, member.name), 0o755 if member.mode & 0o100 else 0o644,
                                archive.extractfile(member).read()))
    return members


def build(archive, top, epoch):
    """The agent, built from the source @archive. Its paths are as if it had been built in the current folder."""
    with tempfile.TemporaryDirectory(prefix="allframes-dist-") as directory:
        with tarfile.open(archive) as opened:
            opened.extractall(directory)
        source = os.path.join(directory, top)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C"}
        # Flags of a make that called this are not those of the build.
        environment.pop("MAKEFLAGS", None)
        subprocess.run(["make", "-C", source, "-j%d" % (os.cpu_count() or 1), "build/agent",
                        "PREFIX_MAP=-ffile-prefix-map=%s=." % source], check=True, env=environment, stdout=sys.stderr)
        return strip(os.path.join(source, "build", "agent"))


def strip(program):
    with tempfile.TemporaryDirectory(prefix="allframes-dist-") as directory:
        stripped = os.path.join(directory, "agent")
        shutil.copy(program, stripped)
        run("strip", "--strip-all", stripped)
        with open(stripped, "rb") as file:
            return file.read()


def binary_members(top, agent):
    members = [(top + "/" + NAME, 0o755, agent),
               (top + "/LICENSES-page.txt", 0o644, (ROOT / PAGE_LICENSES).read_bytes())]
    for name in git("ls-files", *DOCUMENTS).splitlines():
        members.append(("%s/%s" % (top, name), 0o644, (ROOT / name).read_bytes()))
    return members


# --- the SBOM ---

def libraries(agent):
    """What the program loads: [(library, licence, package, version)], as scripts/legal.sh knows it."""
    with tempfile.NamedTemporaryFile(prefix="allframes-dist-") as file:
        file.write(agent)
        file.flush()
        text = run(ROOT / "scripts" / "legal.sh", file.name).decode()
    found = []
    for line in text.split("Loaded at run time:\n", 1)[1].splitlines():
        if not line.startswith(" "):
            library, license_text = line.split(None, 1)
            found.append([library, license_text, "", ""])
        else:
            found[-1][2:] = re.fullmatch(r"\s+(\S+) (\S+), .*", line).groups()
    return [tuple(one) for one in found]


def page_packages():
    """npm packages of which the page has code: [(name, version, licence)]."""
    return re.findall(r"^([a-z0-9@/.-]+) ([0-9.]+), (.*)$", (ROOT / PAGE_LICENSES).read_text(encoding="utf-8"), re.M)


def spdx_license(text):
    """@text if it is an SPDX expression; what is none is a comment, and nothing is asserted."""
    words = set(re.findall(r"[\w.+-]+", text)) - {"AND", "OR", "WITH"}
    known = all(re.fullmatch(r"[A-Z][\w.+-]*-[\w.+-]+|MIT|Zlib|0BSD|bzip2-1.0.6", word) for word in words)
    return text if known else "NOASSERTION"


def spdx_package(identifier, name, version, license_text, **more):
    package = {"SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", identifier), "name": name,
               "versionInfo": version or "NOASSERTION", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
               "licenseConcluded": "NOASSERTION", "licenseDeclared": spdx_license(license_text),
               "copyrightText": "NOASSERTION", **more}
    if package["licenseDeclared"] == "NOASSERTION":
        package["licenseComments"] = license_text
    return package


def make_sbom(version, epoch, agent, checksum):
    """The packages that are in the program and those that it loads. @checksum: SHA-256 of the stripped build."""
    own = spdx_package("Package-" + NAME, NAME, version, OWN_LICENSE, primaryPackagePurpose="APPLICATION",
                       checksums=[{"algorithm": "SHA256", "checksumValue": checksum}])
    packages, relations = [own], [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    for name, package_version, license_text in page_packages():
        packages.append(spdx_package("Package-npm-" + name, name, package_version, license_text,
                                     externalRefs=[reference("npm", name, package_version)]))
        relations.append((own["SPDXID"], "CONTAINS", packages[-1]["SPDXID"]))
    for library, license_text, package, package_version in libraries(agent):
        more = {"externalRefs": [reference("deb/debian", package, package_version)]} if package else {}
        packages.append(spdx_package("Package-library-" + library, library, package_version, license_text, **more))
        relations.append((own["SPDXID"], "DYNAMIC_LINK", packages[-1]["SPDXID"]))
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": "%s-%s" % (NAME, version),
        # Unique, and the same for the same bytes.
        "documentNamespace": "https://%s.invalid/spdx/%s-%s" % (NAME, version, checksum),
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
                         "creators": ["Tool: allframes-dist.py"]},
        "packages": packages,
        "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
                          for one, kind, other in relations],
    }
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def reference(kind, name, version):
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": "pkg:%s/%s@%s" % (kind, name.replace("@", "%40"), version.replace(":", "%3A"))}


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent")
    parser.add_argument("directory", type=pathlib.Path)
    arguments = parser.parse_args()
    version, epoch = find_version(), int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))
    output, top = arguments.directory, "%s-%s" % (NAME, version)
    output.mkdir(parents=True, exist_ok=True)
    source, binary = output / (top + ".tar.gz"), output / ("%s-linux-%s.tar.gz" % (top, platform.machine()))
    sbom = output / (top + ".spdx.json")

    pack(source, epoch, source_members(top, version))
    agent = strip(arguments.agent) if arguments.agent else build(source, top, epoch)
    pack(binary, epoch, binary_members(binary.name.removesuffix(".tar.gz"), agent))
    sbom.write_bytes(make_sbom(version, epoch, agent, sha256(binary)))
    files = [source, binary, sbom]
    (output / "SHA256SUMS").write_text("".join("%s  %s\n" % (sha256(path), path.name) for path in files), encoding="ascii")
    print("\n".join(str(path) for path in [*files, output / "SHA256SUMS"]))


if __name__ == "__main__":
    main()
