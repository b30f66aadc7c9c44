#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent on older kernels: in virtual machines, it loads all programs and unwinds known chains.

    qemu_test.py [SUITE...]

A suite of arm64 is called SUITE-arm64 (qemu_arm64_test.py).
Boots Debian's kernel of each suite (bullseye: 5.10, the oldest that the agent supports; with
ALLFRAMES_LONG=1 bookworm, 6.1, too) under qemu without a disk: the initramfs has busybox, the agent
with its libraries and qemu_target.c. Kernels are taken from the mirror of this machine's own apt,
by an apt of our own below ~/.cache/allframes, and kept there. Prints TAP.
"""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "allframes"
IS_LONG = os.environ.get("ALLFRAMES_LONG") == "1"
SUITES = ["bullseye", "bookworm"] if IS_LONG else ["bullseye"]
TOOLS = ["busybox", "apt-get", "dpkg-deb", "ldd"]


class Machine:
    """What differs between the machines that are emulated."""

    def __init__(self, architecture, agent, compiler, qemu, options, console, boot_seconds):
        self.architecture = architecture
        self.agent = ROOT / agent
        self.compiler = compiler
        self.qemu = qemu
        self.options = options
        self.console = console
        self.boot_seconds = boot_seconds


X86 = Machine("amd64", "build/agent", "gcc", "qemu-system-x86_64", ["-cpu", "max"], "ttyS0", 300)
# Its verifier takes a minute for the chains of 5.10, on a machine that does nothing else.
ARM64 = Machine("arm64", "build/agent_arm64", "aarch64-linux-gnu-gcc", "qemu-system-aarch64",
                ["-machine", "virt", "-cpu", "max,pauth-impdef=on"], "ttyAMA0", 1700)

# Root first, as in folded output, from main on: the functions above it are the C library's. A sample
# of main itself, or of a function on the way down, is right as well.
CALLS = ["main", "outer", "inner", "leaf"]
DEEP = ["main"] + ["deep"] * 551 + ["leaf"]
SYSTEM_CALLS = ["main", "enter_kernel", "syscall"]
MODES = {"calls": CALLS, "deep": DEEP, "system_calls": SYSTEM_CALLS}
RATE = 97
# CPU time that each target gets, in hundredths of a second: enough for LEAST_SAMPLES of it, though the
# emulated kernel skips some.
TARGET_TICKS = 450
LEAST_SAMPLES = 200
# The same of the command's child, whose first samples come before its unwind rows are loaded.
COMMAND_TICKS = 300
LEAST_COMMAND_SAMPLES = 60
# Pages of a file that are read one by one while costs are counted.
READ_PAGES = 2000
# More than busybox has.
MAPPED_PAGES = 600
# Programs of busybox are /proc/self/exe first.
COMMAND_COMMS = {"agent", "sh", "exe", "busybox", "calls", "awk", "sleep"}
# Functions of the C library that the target calls, and which end its chains.
LEAVES = {"inner": re.compile(r"(__)?memset(_\w+)?|\S+\+0x[0-9a-f]+")}

# In the long tier only: the kernel takes half a minute to verify the programs of one more agent.
COMMAND = """# A command, whose child is followed by the kernel side.
/agent -samples-per-second %(rate)d -output /tmp/command.folded -- sh -c '/calls calls &
while [ $(awk "{ print \\$14 + \\$15 }" /proc/$!/stat) -lt %(command_ticks)d ]; do sleep 0.2; done
kill $!
exit 7' >/tmp/log 2>&1
echo "GUEST command status $?"
sed "s/^/GUEST log /" /tmp/log
sed "s/^/GUEST command /" /tmp/command.folded
""" % {"rate": RATE, "command_ticks": COMMAND_TICKS}

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev 2>/dev/null
mount -t tmpfs none /tmp
ip link set lo up
echo "GUEST kernel $(uname -r)"
# The file system of the initramfs is tmpfs, whose reads not every kernel tells.
mkdir /ramfs
mount -t ramfs ramfs /ramfs
head -c $((4096 * %(pages)d)) /agent >/ramfs/file
# One agent for all targets, and for the costs of the first one and of reads of a file, since the kernel takes long
# to verify its programs. The targets are stopped meanwhile, when they are past their start.
ticks() { awk '{ print $14 + $15 }' /proc/$1/stat; }
run_time() { awk '{ print $1 }' /proc/$1/schedstat; }
pids=
for mode in %(modes)s; do
	ln /target /$mode
	/$mode $mode &
	while [ $(ticks $!) -lt 20 ]; do sleep 0.2; done
	kill -STOP $!
	pids="$pids $!"
	target=${target:-$!}
done
first=$(run_time $target)
/agent -pid $(echo $pids | tr " " ,) -samples-per-second %(rate)d -log-level debug \\
	-output /tmp/out.folded -accounting -report -json >/tmp/costs 2>/tmp/log &
agent=$!
while ! grep -q "^info: sampling " /tmp/log && kill -0 $agent; do sleep 0.2; done
second=$(run_time $target)
kill -CONT $pids
dd if=/ramfs/file of=/dev/null bs=4096 count=%(pages)d 2>/dev/null
for pid in $pids; do
	while [ $(ticks $pid) -lt %(ticks)d ] && kill -0 $agent; do sleep 0.2; done
done
third=$(run_time $target)
kill -INT $agent
wait $agent
echo "GUEST status $?"
echo "GUEST times $target $first $second $third $(run_time $target)"
kill -KILL $pids
sed "s/^/GUEST log /" /tmp/log
sed "s/^/GUEST stack /" /tmp/out.folded
sed "s/^/GUEST json /" /tmp/costs
%(command)secho "GUEST done"
poweroff -f
""" % {"modes": " ".join(MODES), "rate": RATE, "ticks": TARGET_TICKS, "pages": READ_PAGES,
       "command": COMMAND if IS_LONG else ""}


class Tap:
    def __init__(self):
        self.count = 0
        self.failed = False

    def result(self, is_good, name, notes=()):
        self.count += 1
        self.failed |= not is_good
        print(f"{'ok' if is_good else 'not ok'} {self.count} - {name}")
        for note in notes if not is_good else ():
            print(f"# {note}")
        sys.stdout.flush()

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}")

    def end(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)


def run(arguments, **options):
    return subprocess.run(arguments, check=True, capture_output=True, text=True, **options).stdout


def mirror():
    """The first mirror of Debian that this machine's apt knows."""
    sources = [pathlib.Path("/etc/apt/sources.list")]
    sources += sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))
    for path in sources:
        if not path.is_file():
            continue
        for line in path.read_text(errors="replace").splitlines():
            match = re.match(r"(?:URIs:\s*|deb\s+(?:\[[^]]*\]\s*)?)(\S+)", line)
            if match and "security" not in match.group(1):
                return match.group(1)
    raise RuntimeError("this machine's apt has no source of packages")


def machine_of(suite):
    return ARM64 if suite.endswith("-arm64") else X86


def image_package(options, package):
    """The package with the kernel image: the last one of a chain of packages, linux-image-... and in new suites linux-binary-..."""
    depends = run(["apt-cache", *options, "depends", package])
    following = re.search(r"Depends: (linux-(?:image|binary)-\S+)", depends)
    return image_package(options, following.group(1)) if following else package


def fetch_kernel(suite):
    """The kernel image and the busybox of @suite, from the cache or else from the mirror."""
    directory = CACHE / "kernels" / suite
    architecture = machine_of(suite).architecture
    found = sorted(directory.glob("vmlinuz-*"))
    busybox = directory / "busybox" if machine_of(suite) is ARM64 else shutil.which("busybox")
    if found and os.path.exists(busybox):
        return found[-1], busybox
    for folder in ("lists/partial", "archives/partial", "state"):
        (directory / folder).mkdir(parents=True, exist_ok=True)
    (directory / "sources.list").write_text(f"deb {mirror()} {suite.removesuffix('-arm64')} main\n")
    options = []
    for option in (f"Dir::State={directory}/state", f"Dir::State::lists={directory}/lists",
                   f"Dir::Cache={directory}", "Dir::State::status=/dev/null",
                   f"Dir::Etc::sourcelist={directory}/sources.list", "Dir::Etc::sourceparts=/dev/null",
                   f"APT::Architecture={architecture}",
                   f"APT::Architectures={architecture}", "APT::Sandbox::User=root",
                   "Acquire::Check-Valid-Until=false", "Acquire::Languages=none"):
        options += ["-o", option]
    run(["apt-get", "-q", *options, "update"])
    packages = [image_package(options, f"linux-image-{architecture}")] + ["busybox-static"] * (machine_of(suite) is ARM64)
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        run(["apt-get", "-q", *options, "download", *packages], cwd=scratch)
        for archive in pathlib.Path(scratch).glob("*.deb"):
            run(["dpkg-deb", "-x", archive.name, "unpacked"], cwd=scratch)
        unpacked = pathlib.Path(scratch) / "unpacked"
        images = [*unpacked.glob("boot/vmlinuz-*"), *unpacked.glob("usr/lib/modules/*/vmlinuz")]
        name = images[0].name
        kept = directory / (name if name != "vmlinuz" else f"vmlinuz-{images[0].parent.name}")
        images[0].rename(kept)
        if machine_of(suite) is ARM64:
            shutil.copy(next(unpacked.glob("**/bin/busybox")), busybox)
    shutil.rmtree(directory / "lists", ignore_errors=True)
    return kept, busybox


def libraries_of(program):
    """Absolute paths of the shared libraries and the loader of @program; none of a static one."""
    if program == ARM64.agent:
        return []
    return re.findall(r"(/\S+) \(0x", run(["ldd", program]))


def pack(root):
    """The tree below @root as a cpio archive of the kind the kernel unpacks (newc)."""
    archive = bytearray()

    def add(name, mode, content):
        encoded = name.encode() + b"\0"
        fields = [0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0]
        archive.extend(b"070701" + b"".join(b"%08x" % field for field in fields) + encoded)
        archive.extend(bytes(-len(archive) % 4))
        archive.extend(content)
        archive.extend(bytes(-len(archive) % 4))

    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            content = os.readlink(path).encode()
        else:
            content = path.read_bytes() if path.is_file() else b""
        add(str(path.relative_to(root)), path.lstat().st_mode, content)
    add("TRAILER!!!", 0, b"")
    return bytes(archive)


def make_initramfs(scratch, machine, busybox, init=INIT):
    """The file system of the guest as an image; below @scratch / "root" there may be more to go into it."""
    root = scratch / "root"
    for folder in ("bin", "dev", "proc", "sys", "tmp"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(busybox, root / "bin/busybox")
    shutil.copy(machine.agent, root / "agent")
    for library in libraries_of(machine.agent):
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    run([machine.compiler, "-O2", "-fomit-frame-pointer", "-static", "-o", root / "target",
         ROOT / "scripts/tests/qemu_target.c"])
    (root / "init").write_text(init)
    (root / "init").chmod(0o755)
    image = scratch / "initramfs.gz"
    image.write_bytes(gzip.compress(pack(root), 1))
    return image


def boot(machine, kernel, initramfs, megabytes=768):
    """What the guest wrote to its serial line, and whether it ended by itself."""
    command = [machine.qemu, *machine.options, "-accel", "tcg,thread=multi", "-smp", "2",
               "-m", str(megabytes), "-kernel", kernel, "-initrd", initramfs, "-nographic", "-no-reboot",
               "-nic", "none", "-append", f"console={machine.console} quiet panic=-1 mitigations=off no_timer_check"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=machine.boot_seconds, check=False)
        return done.stdout.decode(errors="replace"), True
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace"), False


def is_allowed(frames, chain):
    """True if @frames begin at the entry and, from main on, are @chain as far as they go, or leave
    it by a leaf."""
    if frames[:1] != ["_start"] or "main" not in frames:
        return False
    frames = frames[frames.index("main"):]
    user = [frame for frame in frames if not frame.endswith("_[k]")]
    kernel = frames[len(user):]
    if any(not frame.endswith("_[k]") for frame in kernel):
        return False
    if user == chain[:len(user)]:
        return True
    leaf = LEAVES.get(user[-2]) if len(user) > 1 else None
    return user[:-1] == chain[:len(user) - 1] and bool(leaf and leaf.fullmatch(user[-1]))


def judge(tap, suite, lines):
    logs = [line for line in lines if line.startswith("log ")]
    tap.result("status 0" in lines, f"{suite}: the agent runs", logs[-30:])
    for mode in MODES:
        judge_mode(tap, suite, mode, lines, logs)
    if IS_LONG:
        judge_command(tap, suite, lines, logs)
    judge_costs(tap, suite, lines, logs)


def judge_command(tap, suite, lines, logs):
    """The child of the command is sampled, from its start on, and nothing that was not started by it."""
    stacks = [line.removeprefix("command ").rsplit(" ", 1) for line in lines
              if line.startswith("command ") and not line.startswith("command status ")]
    comms = {stack.split(";")[0] for stack, _ in stacks}
    count = sum(int(number) for stack, number in stacks if stack.startswith("calls;") and "main" in stack.split(";")
                and is_allowed(stack.split(";")[1:], CALLS))
    tap.result("command status 7" in lines and count >= LEAST_COMMAND_SAMPLES and comms <= COMMAND_COMMS,
               f"{suite}: a command is sampled with what it starts", [f"{count} samples", str(comms)] + logs[-10:])


def judge_costs(tap, suite, lines, logs):
    """What -accounting counts is what the kernel counts, also where functions are probed for it."""
    try:
        costs = json.loads("\n".join(line.removeprefix("json ") for line in lines if line.startswith("json ")))["costs"]
        times = next(line for line in lines if line.startswith("times ")).split()[1:]
    except (ValueError, KeyError, StopIteration) as error:
        tap.result(False, f"{suite}: costs are counted", [repr(error)] + logs[-10:])
        return
    target, first, second, third, last = map(int, times)
    counted = [row["process_run_time"] for row in costs["processes"] if row["pid"] == target]
    tap.result(len(counted) == 1 and (third - second) * 0.99 <= counted[0] <= (last - first) * 1.01,
               f"{suite}: the run time of a program is that of the kernel", [str(times), str(counted)])
    wall = sum(cpu["wall_ns"] for cpu in costs["cpus"])
    busy = sum(row["process_run_time"] for row in [costs["idle"], costs["unfitted"], *costs["processes"]])
    tap.result(len(costs["cpus"]) == 2 and abs(wall - busy) < wall / 200, f"{suite}: all times are the time of the CPUs",
               [f"{busy} of {wall}"])
    reads = [row.get("page_cache_reads") for row in costs["processes"] if row["comm"] in ("dd", "busybox", "exe")]
    # Where functions are probed, pages of the program that it unmaps count, too.
    tap.result(any(count and READ_PAGES <= count < READ_PAGES + MAPPED_PAGES for count in reads),
               f"{suite}: pages read are counted", [str(reads)] + logs[-10:])


def judge_mode(tap, suite, mode, lines, logs):
    chain = MODES[mode]
    total = whole = with_kernel = 0
    wrong = []
    for line in lines:
        if not line.startswith(f"stack {mode};"):
            continue
        stack, count = line.removeprefix("stack ").rsplit(" ", 1)
        frames = stack.split(";")[1:]
        total += int(count)
        if not is_allowed(frames, chain):
            wrong.append(f"{count} times {stack}")
        if chain[-1] in frames:
            whole += int(count)
        if frames and frames[-1].endswith("_[k]"):
            with_kernel += int(count)
    tap.result(total >= LEAST_SAMPLES and not wrong, f"{suite}: every sample is in a chain that the source "
               f"allows ({mode})", [f"{total} samples"] + wrong[:10] + logs[-5:])
    tap.result(whole > total / 2, f"{suite}: most samples are in the innermost function ({mode})",
               [f"{whole} of {total}"])
    if mode == "system_calls":
        tap.result(with_kernel > total / 20, f"{suite}: kernel and user frames stand together",
                   [f"{with_kernel} of {total}"])


def main(suites):
    tap = Tap()
    machines = [machine_of(suite) for suite in suites]
    tools = TOOLS + [tool for machine in machines for tool in (machine.qemu, machine.compiler)]
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        tap.result(False, "tools are there", missing) if IS_LONG else tap.skip(
            "older kernels under qemu", " ".join(missing) + " missing")
        tap.end()
    for suite in suites:
        machine = machine_of(suite)
        with tempfile.TemporaryDirectory(prefix="allframes-qemu-") as scratch:
            try:
                kernel, busybox = fetch_kernel(suite)
            except (subprocess.CalledProcessError, RuntimeError, OSError) as error:
                reason = getattr(error, "stderr", None) or str(error)
                if IS_LONG:
                    tap.result(False, f"{suite}: the kernel can be had", reason.splitlines()[-5:])
                else:
                    tap.skip(f"{suite}: older kernels under qemu", "no kernel from the mirror")
                continue
            initramfs = make_initramfs(pathlib.Path(scratch), machine, busybox)
            output, ended = boot(machine, kernel, initramfs)
            lines = [line.strip()[len("GUEST "):] for line in output.splitlines()
                     if line.startswith("GUEST ")]
            print(f"# {suite}: {next((line for line in lines), 'no kernel')}")
            tap.result(ended and "done" in lines, f"{suite}: the machine boots and ends",
                       output.splitlines()[-30:])
            judge(tap, suite, lines)
    tap.end()


if __name__ == "__main__":
    main(sys.argv[1:] or SUITES)
