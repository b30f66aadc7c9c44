#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for agents that sample
"""Energy of processes (-accounting) from a made powercap tree, which a mount namespace shows instead of the one of this machine, and from a
file with watts: the shares of all processes and idle are what the zones have counted, by run time.
"""
import json
import os
import re
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import HANG_SECONDS, IS_LONG, Agent, Program, Tap, need_root, run_agent
from sampled import paced

RANGE_UJ = 262143328850
# The joules of the zones in a run, and when they begin to count: the package's counter wraps around.
ZONES = {
    "intel-rapl:0": ("package-0", RANGE_UJ - 20_000_000, 60_000_000),
    "intel-rapl:0:0": ("core", 5_000_000, 30_000_000),
    "intel-rapl:0:1": ("dram", 7_000_000, 6_000_000),
}
STEPS = 20
# Mounts the tree where the kernel has its own.
MOUNTED = ["unshare", "--mount", "sh", "-c",
            'mount -t tmpfs none /sys/class && mkdir /sys/class/powercap && mount --bind "$0" /sys/class/powercap && exec "$@"']


# All processes are counted, whatever is selected: an agent that samples hardly anything reads fewer files.
SELECTED = ["-pid", os.getpid()]
# A program that computes and nothing else.
SPIN = ["sh", "-c", "while :; do :; done"]


def write(folder, zone, name, text):
    """Replaces a file at once, so that it is never seen empty."""
    path = os.path.join(folder, zone, name)
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(text)
    os.rename(path + ".new", path)


def make_tree(folder, zones=None):
    for zone, (name, begin, _) in (zones or ZONES).items():
        os.mkdir(os.path.join(folder, zone))
        write(folder, zone, "name", name + "\n")
        write(folder, zone, "max_energy_range_uj", "%d\n" % RANGE_UJ)
        write(folder, zone, "energy_uj", "%d\n" % begin)


def count(folder):
    """The zones count for two seconds."""
    for step in range(1, STEPS + 1):
        time.sleep(0.1)
        for zone, (_, begin, energy) in ZONES.items():
            write(folder, zone, "energy_uj", "%d\n" % ((begin + energy * step // STEPS) % RANGE_UJ))


def costs_of(result):
    return json.loads(result.output)["costs"]


def joules(rows, kind):
    return sum(row["joules"][kind] for row in rows)


def check_sums(tap, costs, name):
    """For each kind: processes and idle are what the zones counted, and cgroups are their processes."""
    wrong = []
    for kind in costs["host"]["joules"]:
        zones = sum(zone["joules"] for zone in costs["energy"]["zones"] if zone["kind"] == kind)
        parts = joules([*costs["processes"], costs["idle"], costs["unfitted"], costs["dropped"]], kind)
        of_cgroups = joules([*costs["cgroups"], costs["idle"], costs["unfitted"], costs["dropped"]], kind)
        if abs(parts - zones) > 1e-5 or abs(of_cgroups - zones) > 1e-5:
            wrong.append((kind, zones, parts, of_cgroups))
    tap.ok(costs["host"]["joules"] and not wrong, name + ": processes and idle are together the energy of the zones", *wrong)


def check_shared_by_time(tap, costs, kind, spinning):
    """Two spinning programs have the same energy for their time."""
    rows = [row for row in costs["processes"] if row["pid"] in [program.process.pid for program in spinning]]
    watts = [row["joules"][kind] / row["process_run_time"] * 1e9 for row in rows]
    tap.ok(len(rows) == 2 and max(watts) < 1.5 * min(watts) and min(watts) > 0, "%s energy goes by run time" % kind, rows)


def check_tree(tap):
    with tempfile.TemporaryDirectory() as folder, Program(*SPIN, ready=False) as one, Program(*SPIN, ready=False) as other, \
            paced([one.pid, other.pid]):
        make_tree(folder)
        with Agent("-accounting", *SELECTED, "-report", "-json", outputs=[], prefix=[*MOUNTED, folder]) as agent:
            if not tap.ok(agent.wait_started(), "the agent starts", agent.log_text()):
                return
            count(folder)
            result = agent.stop()
    costs = costs_of(result)
    zones = {zone["name"]: zone for zone in costs["energy"]["zones"]}
    wanted = {"package-0": 60, "package-0 core": 30, "package-0 dram": 6}
    tap.ok(set(zones) == set(wanted) and all(abs(zones[name]["joules"] - wanted[name]) < 1e-5 for name in wanted),
           "each zone has what its counter says, over its end too", zones)
    tap.ok(costs["energy"]["source"] == "rapl" and costs["energy"]["shared_by"] in ("cycles", "run_time")
           and (costs["energy"]["shared_by"] == "cycles") == ("cpu_cycles" in costs["host"]), "it says how they are shared out",
           costs["energy"])
    check_sums(tap, costs, "made zones")
    if costs["energy"]["shared_by"] == "run_time":
        check_shared_by_time(tap, costs, "package", (one, other))
    # Others run beside this test, about whose files there may be warnings.
    tap.ok(not re.search("does not count .*energy", result.log) and not re.search("warn: .*(energy|powercap)", result.log),
           "nothing is missing", result.log)


def check_damaged(tap):
    """A zone that is damaged at the start, and one that vanishes later."""
    with tempfile.TemporaryDirectory() as folder:
        make_tree(folder)
        write(folder, "intel-rapl:0:1", "energy_uj", "-1\n")
        with Agent("-accounting", *SELECTED, "-report", "-json", outputs=[], prefix=[*MOUNTED, folder]) as agent:
            if not tap.ok(agent.wait_started(), "the agent starts with a damaged zone", agent.log_text()):
                return
            write(folder, "intel-rapl:0", "energy_uj", "%d\n" % (RANGE_UJ - 10_000_000))
            os.unlink(os.path.join(folder, "intel-rapl:0:0", "energy_uj"))
            end = time.monotonic() + HANG_SECONDS
            while "has a gap" not in agent.log_text() and time.monotonic() < end:
                time.sleep(0.1)
            # The end is one more reading.
            result = agent.stop()
    costs = costs_of(result)
    zones = {zone["name"]: zone for zone in costs["energy"]["zones"]}
    tap.ok(re.search(r"^warn: \S+intel-rapl:0:1/energy_uj has no number: -1; the energy of package-0 dram is not counted$", result.log, re.M)
           and "dram" not in costs["host"]["joules"], "a damaged zone is named and absent", result.log)
    tap.ok(result.log.count("has a gap") == 1 and "cannot read" in result.log and zones["package-0 core"]["gaps"] >= 2,
           "a zone that vanishes is named once", result.log, zones)
    tap.ok(abs(zones["package-0"]["joules"] - 10) < 1e-5 and zones["package-0"]["gaps"] == 0, "the others are counted", zones)
    check_sums(tap, costs, "damaged zones")


def check_file(tap):
    with tempfile.NamedTemporaryFile("w", suffix=".watts") as file, Program(*SPIN, ready=False) as one, \
            Program(*SPIN, ready=False) as other, paced([one.pid, other.pid]):
        file.write("# measured at the wall\nidle 40\nfull 180\n")
        file.flush()
        with tempfile.TemporaryDirectory() as folder:
            result = run_agent("-accounting", *SELECTED, "-energy-file", file.name, "-report", "-json", "-duration", "2s", outputs=[],
                               prefix=[*MOUNTED, folder])
    costs = costs_of(result)
    wall = sum(cpu["wall_ns"] for cpu in costs["cpus"]) / 1e9
    idle = costs["idle"]["process_run_time"] / 1e9
    seconds = wall / len(costs["cpus"])
    wanted = (40 + 140 * (wall - idle) / wall) * seconds
    counted = costs["host"]["joules"]["host"]
    tap.ok(costs["energy"]["source"] == "file" and abs(counted - wanted) < wanted / 50
           and abs(costs["idle"]["joules"]["host"] - 40 * seconds) < seconds, "a file with watts: idle, and more with load",
           counted, wanted, costs["idle"]["joules"], seconds)
    check_sums(tap, costs, "a file with watts")
    check_shared_by_time(tap, costs, "host", (one, other))


def check_neither(tap):
    with tempfile.TemporaryDirectory() as folder:
        result = run_agent("-accounting", *SELECTED, "-report", "-json", "-duration", "300ms", outputs=[], prefix=[*MOUNTED, folder])
        diagnosis = run_agent("-doctor", *SELECTED, "-duration", "300ms", outputs=[], prefix=[*MOUNTED, folder])
        make_tree(folder)
        with_zones = run_agent("-doctor", *SELECTED, "-duration", "300ms", outputs=[], prefix=[*MOUNTED, folder])
    tap.ok(len(re.findall("-accounting does not count .*energy: ", result.log)) == 1 and "joules" not in result.output
           and "energy" not in costs_of(result), "with neither it is absent, and the log says so once", result.log)
    tap.ok(re.search(r"^  none  energy: .*-energy-file", diagnosis.output, re.M), "and -doctor", diagnosis.output)
    tap.ok(all(re.search(r"^  ok    energy of %s, shared out by" % kind, with_zones.output, re.M) for kind in ("package", "core", "dram"))
           and "none  energy" not in with_zones.output, "-doctor lists the kinds that are measured", with_zones.output)
    # The unit tests of the parser have more.
    for text in ("idle 50\nfull 20\n", *(("", "idle x\nfull 20\n") if IS_LONG else ())):
        with tempfile.NamedTemporaryFile("w", suffix=".watts") as file:
            file.write(text)
            file.flush()
            refused = run_agent("-accounting", "-energy-file", file.name, "-duration", "1s", outputs=[])
        tap.ok(refused.status == 2 and "-energy-file " + file.name in refused.log and "'idle 40'" in refused.log,
               "a file that makes no sense is refused", refused.status, refused.log)


def main():
    tap = Tap()
    need_root(tap, "energy of processes")
    check_tree(tap)
    check_damaged(tap)
    check_file(tap)
    check_neither(tap)
    tap.finish()


if __name__ == "__main__":
    main()
