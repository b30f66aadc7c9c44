#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make dist` makes: the same bytes twice, with checksums that fit, one version everywhere, and an SBOM with all that
is loaded. The long tier builds twice, in folders of other names. Prints TAP.
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "integration"))
from harness import IS_LONG, Tap

AGENT = ROOT / "build" / "agent"


def output_of(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, **more).stdout.decode()


def clone(directory):
    """The tree as it is, committed in a clone of its own, so that there is nothing that is not."""
    subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, directory], check=True)
    changed = output_of("git", "-C", ROOT, "diff", "HEAD", "--binary")
    if changed:
        subprocess.run(["git", "-C", directory, "apply", "--index"], input=changed.encode(), check=True)
        subprocess.run(["git", "-C", directory, "-c", "user.name=test", "-c", "user.email=test@example.invalid", "commit",
                        "--quiet", "--date", "2026-01-02T03:04:05Z", "--message", "changes"], check=True,
                       env={"GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z", "PATH": "/usr/bin:/bin"})
    return pathlib.Path(directory)


def made(tree, directory, *options):
    """What dist.py makes of @tree in @directory: {name: bytes}."""
    output_of(tree / "scripts" / "dist.py", *options, directory, stderr=subprocess.DEVNULL)
    return {path.name: path.read_bytes() for path in pathlib.Path(directory).iterdir()}


def file_ending(files, ending):
    return next(name for name in files if name.endswith(ending))


def check_source(tap, tree, directory, files, version):
    name = "allframes-%s.tar.gz" % version
    with tarfile.open(directory / name) as archive:
        members = set(archive.getnames())
        archive.extractall(directory)
    top = "allframes-" + version
    committed = {"%s/%s" % (top, path) for path in output_of("git", "-C", tree, "ls-files").splitlines()}
    tap.ok(name in files and members == committed | {top + "/VERSION"}, "the source archive has all that is committed",
           sorted(members ^ committed)[:20])
    output_of("make", "-C", directory / top, "build/version.h", stderr=subprocess.STDOUT)
    header = (directory / top / "build" / "version.h").read_text(encoding="utf-8")
    tap.ok('"%s"' % version in header, "a build from it has the version of the tag", header)


def check_build(tap, directory, files):
    name = file_ending(files, "-linux-x86_64.tar.gz") if any("x86_64" in one for one in files) else \
        file_ending(files, "-linux-aarch64.tar.gz")
    with tarfile.open(directory / name) as archive:
        program = archive.extractfile(name.removesuffix(".tar.gz") + "/allframes").read()
        names = {one.split("/", 1)[1] for one in archive.getnames()}
        owners = {(member.uid, member.gid, member.uname, member.mtime) for member in archive.getmembers()}
    (directory / "allframes").write_bytes(program)
    sections = output_of("readelf", "-SW", directory / "allframes")
    tap.ok(".symtab" not in sections and ".debug_info" not in sections, "the program is stripped", sections)
    tap.ok({"LICENSE", "README.md", "docs/security.md", "LICENSES-page.txt"} <= names and len(owners) == 1,
           "the documents are with it, and nothing says who has made it when", names, owners)


def check_sbom(tap, files, binary):
    document = json.loads(files[file_ending(files, ".spdx.json")])
    packages = {package["SPDXID"]: package for package in document["packages"]}
    linked = {packages[one["relatedSpdxElement"]]["name"] for one in document["relationships"]
              if one["relationshipType"] == "DYNAMIC_LINK"}
    loaded = {pathlib.PurePath(path).name for path in re.findall(r"(?:=> )?(/\S+)", output_of("ldd", AGENT))}
    tap.ok(linked == loaded, "the SBOM has each library that is loaded", sorted(linked ^ loaded))
    required = {"SPDXID", "name", "versionInfo", "downloadLocation", "licenseDeclared"}
    tap.ok(document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
           and all(required <= set(package) for package in packages.values())
           and all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identifier) for identifier in packages)
           and len(packages) == len(document["packages"])
           and any(package["name"] == "preact" for package in packages.values()),
           "it has what SPDX asks for, and the packages of the page", document)
    own = next(package for package in packages.values() if package["name"] == "allframes")
    tap.ok(own["checksums"][0]["checksumValue"] == hashlib.sha256(files[binary]).hexdigest(),
           "and is about the build beside it", own)


def main():
    tap = Tap()
    if not (ROOT / ".git").exists() or not AGENT.exists():
        tap.skip("releases", "no repository, or no agent")
        tap.finish()
    with tempfile.TemporaryDirectory(prefix="allframes-dist-") as name:
        directory = pathlib.Path(name)
        tree = clone(directory / "tree")
        version = output_of("git", "-C", tree, "describe", "--tags", "--always").strip()
        first = made(tree, directory / "first", "--agent", AGENT)
        second = made(tree, directory / "second", "--agent", AGENT)
        tap.ok(first == second and len(first) == 4, "two runs give the same bytes", sorted(first), sorted(second))
        checked = subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=directory / "first", check=False,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        tap.ok(checked.returncode == 0 and checked.stdout.count(b": OK") == 3, "the checksums fit", checked.stdout)
        check_source(tap, tree, directory / "first", first, version)
        check_build(tap, directory / "first", first)
        check_sbom(tap, first, next(one for one in first if "-linux-" in one))
        (tree / "README.md").write_text("changed\n", encoding="utf-8")
        refused = subprocess.run([tree / "scripts" / "dist.py", directory / "third"], check=False, stderr=subprocess.PIPE)
        tap.ok(refused.returncode == 1 and b"not committed" in refused.stderr, "changes that are not committed are refused",
               refused.stderr)
        if IS_LONG:
            built = made(clone(directory / "one"), directory / "built")
            other = made(clone(directory / "another" / "folder"), directory / "built-elsewhere")
            tap.ok(built == other, "two builds in folders of other names give the same bytes",
                   [one for one in built if built[one] != other.get(one)])
    tap.finish()


if __name__ == "__main__":
    main()
