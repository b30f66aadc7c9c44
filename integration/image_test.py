#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 3600 s
"""The image of docker/Dockerfile without a container engine: each stage is a directory that starts
as a fresh Debian, RUN steps run in a chroot to it, and COPY copies. Then what the last stage has
for an entrypoint must find its libraries and profile this machine, with the capabilities of
docker/kubernetes/daemonset.yaml alone and on a root that cannot be written.

    image_test.py [TREE]

TREE is the build context, this one by default. Debian is installed by debootstrap, from the mirror
of this machine's own apt, and kept below ~/.cache/allframes.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE] + [os.path.join(os.path.dirname(HERE), folder, "tests")
                         for folder in ("docker", "scripts")]
import build_targets
import dockerfile
from build_targets import TARGETS
from harness import ROOT, Program, Tap, need_root, parse_folded
from qemu_test import mirror

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "allframes")
RELEASES = {"debian:12": "bookworm", "debian:12-slim": "bookworm"}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TOOLS = ["debootstrap", "unshare", "chroot", "setpriv", "mount"]
SHOWN_LINES = 30

# In a mount namespace of its own: all mounts go with it.
MOUNTS = """set -e
root=$1; shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
[ "$1" = writable ] || mount -o remount,bind,ro "$root"
shift
exec "$@"
"""


class StepFailed(Exception):
    pass


def run(command, what, **more):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          **more)
    if done.returncode:
        raise StepFailed("%s: status %d\n%s" % (
            what, done.returncode, "\n".join(done.stdout.splitlines()[-SHOWN_LINES:])))
    return done.stdout


def base_system(release):
    """A Debian with the packages that its container images have: the minimal ones and apt."""
    root = os.path.join(CACHE, "debian-%s-minbase" % release)
    if os.path.isdir(root):
        return root
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        new = os.path.join(scratch, "root")
        run(["debootstrap", "--variant=minbase", release, new, mirror()], "debootstrap")
        os.rename(new, root)
    return root


def enter(root, command, environment, is_writable=True):
    """The command that runs @command in a chroot to @root, with /proc, /sys and /dev."""
    unshare = ["unshare", "--mount"]
    # Where / is no mount point its propagation cannot be changed; nothing is shared there either.
    if subprocess.run(unshare + ["true"], stderr=subprocess.DEVNULL, check=False).returncode:
        unshare += ["--propagation", "unchanged"]
    variables = ["%s=%s" % item for item in {"PATH": PATH, "HOME": "/root", **environment}.items()]
    return [*unshare, "sh", "-c", MOUNTS, "sh", root, "writable" if is_writable else "read-only",
            "chroot", root, "env", "-i", *variables, *command]


class Build:
    """The stages of a Dockerfile, each executed into a directory below @scratch."""

    def __init__(self, scratch):
        self._scratch = scratch
        self._roots = {}
        self.entrypoint = None

    def run_stage(self, stage, number):
        """Returns the directory of the finished stage."""
        root = os.path.join(self._scratch, "stage%d" % number)
        run(["cp", "-a", "--reflink=auto", base_system(RELEASES[stage.image]), root], "cp")
        # Engines give a container the host's resolver; the host's apt knows how to get out.
        shutil.copy("/etc/resolv.conf", os.path.join(root, "etc", "resolv.conf"))
        for path in glob.glob("/etc/apt/apt.conf.d/*proxy*") + ["/etc/apt/apt.conf"]:
            if os.path.isfile(path):
                shutil.copy(path, os.path.join(root, "etc/apt/apt.conf.d"))
        self._roots[stage.name] = root
        directory, environment = "/", {}
        for step in stage.steps:
            if step.instruction == "WORKDIR":
                directory = step.arguments
                os.makedirs(root + directory, exist_ok=True)
            elif step.instruction == "ARG":
                name, value = dockerfile.parse_arg(step.arguments)
                environment[name] = value
            elif step.instruction == "COPY":
                self._copy(root, directory, dockerfile.parse_copy(step.arguments))
            elif step.instruction == "RUN":
                # env --chdir, since the directory is one of the chroot.
                command = ["env", "--chdir=" + directory, "nice", "/bin/sh", "-c", step.arguments]
                run(enter(root, command, environment), "RUN " + step.arguments)
            elif step.instruction == "ENTRYPOINT":
                self.entrypoint = dockerfile.parse_entrypoint(step.arguments)
        return root

    def _copy(self, root, directory, copy):
        target = root + os.path.normpath(os.path.join(directory, copy.target))
        if copy.stage:
            for source in copy.sources:
                run(["cp", "-a", self._roots[copy.stage] + source + ".", target], "COPY")
            return
        for source in copy.sources:
            for path in dockerfile.context_files(source):
                is_file = path == os.path.normpath(source)
                destination = target if is_file else os.path.join(target, os.path.relpath(path, source))
                os.makedirs(os.path.dirname(destination), exist_ok=True)
                shutil.copy2(os.path.join(dockerfile.ROOT, path), destination, follow_symlinks=False)


def capabilities():
    """Those of the Kubernetes manifest, as setpriv has them."""
    path = os.path.join(ROOT, "docker", "kubernetes", "daemonset.yaml")
    with open(path, encoding="utf-8") as file:
        names = re.findall(r"^ {16}- ([A-Z_]+)$", file.read(), re.M)
    return ["--no-new-privs", "--bounding-set=-all" + "".join(",+" + name.lower() for name in names),
            "--inh-caps=-all"]


def check_image(tap, root, entrypoint):
    version = run(enter(root, entrypoint + ["-version"], {}), "the agent's version").strip()
    tap.ok(version and "\n" not in version, "the image's agent says its version", version)
    libraries = run(enter(root, ["ldd", entrypoint[0]], {}), "ldd")
    tap.ok("=>" in libraries and "not found" not in libraries, "all libraries are in the image",
           libraries)
    authorities = root + "/etc/ssl/certs/ca-certificates.crt"
    tap.ok(os.path.isfile(authorities) and os.path.getsize(authorities) > 50000,
           "authorities for TLS are in the image")
    size = int(run(["du", "-sm", root], "du").split()[0])
    base = int(run(["du", "-sm", base_system("bookworm")], "du").split()[0])
    tap.note("the last stage has %d MB more than the Debian it starts from" % (size - base))


def check_profile(tap, root, entrypoint):
    """The container's agent sees programs of the host."""
    command = ["-duration", "2s", "-samples-per-second", "199", "-output", "-"]
    inside = enter(root, ["setpriv", *capabilities(), *entrypoint, *command], {},
                   is_writable=False)
    with Program(TARGETS["calls"].path):
        done = subprocess.run(inside, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="surrogateescape",
                              check=False, timeout=60)
    tap.ok(done.returncode == 0 and "warn" not in done.stderr,
           "the image's agent profiles this machine, with the manifest's capabilities",
           done.stderr)
    stacks = parse_folded(done.stdout) if done.returncode == 0 else {}
    calls = {stack: number for stack, number in stacks.items() if stack.comm == "calls"}
    whole = sum(number for stack, number in calls.items() if {"main", "outer"} <= set(stack.frames))
    tap.ok(whole >= 20 and whole >= 0.9 * sum(calls.values()),
           "it names the functions of a program outside of its root",
           "%d of %d" % (whole, sum(calls.values())), *list(map(str, calls))[:4])
    tap.ok(any(re.fullmatch(r"[a-z_].*_\[k\]", stack.frames[-1]) for stack in stacks),
           "it names kernel functions")


def main():
    tap = Tap()
    need_root(tap, "the image")
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        tap.skip("the image", "needs " + ", ".join(missing))
        tap.finish()
    if len(sys.argv) > 1:
        dockerfile.ROOT = os.path.abspath(sys.argv[1])
    # A runner that ends this script by a signal gets its directories cleared as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    build_targets.build(["calls"])
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="image-", dir=CACHE) as scratch:
        build = Build(scratch)
        try:
            for number, stage in enumerate(dockerfile.read_stages()):
                root = build.run_stage(stage, number)
                tap.ok(True, "stage %d, from %s, is built" % (number, stage.image))
            check_image(tap, root, build.entrypoint)
            check_profile(tap, root, build.entrypoint)
        except StepFailed as error:
            tap.ok(False, "the image is built", str(error))
    tap.finish()


if __name__ == "__main__":
    main()
