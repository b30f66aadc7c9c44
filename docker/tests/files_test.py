#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of docker/ agree with the tree and with each other, as far as that shows without a
container engine: integration/image_test.py executes the Dockerfile. Prints TAP.
"""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import dockerfile
from dockerfile import ROOT

DOCKER = os.path.join(ROOT, "docker")
OPTION = re.compile(r"^ *- -([a-z-]+)(?:=|$)", re.M)

count = 0
failed = False


def ok(condition, name, *notes):
    global count, failed
    count += 1
    failed |= not condition
    print("%s %d - %s" % ("ok" if condition else "not ok", count, name))
    for note in notes if not condition else ():
        print("# %s" % note)
    return condition


def skip(name, why):
    global count
    count += 1
    print("ok %d - %s # SKIP %s" % (count, name, why))


def read(name):
    with open(os.path.join(DOCKER, name), encoding="utf-8") as file:
        return file.read()


def check_copies(stages):
    names = [stage.name for stage in stages]
    missing = []
    for at, stage in enumerate(stages):
        for step in stage.steps:
            if step.instruction != "COPY":
                continue
            copy = dockerfile.parse_copy(step.arguments)
            if copy.stage:
                missing += [] if copy.stage in names[:at] else [copy.stage]
            else:
                missing += [one for one in copy.sources if not dockerfile.context_files(one)]
    ok(not missing, "every source of a COPY is there", *missing)
    # The image may lack files that only git needs, and none that make reads.
    context = set(dockerfile.context_files("."))
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, check=False).stdout.split("\n")
    needed = [path for path in tracked
              if re.match(r"(agent|ebpf|proto|reporter|stackdeltas|symbols)/", path)
              or path in ("Makefile", "README.md", "LICENSE", "scripts/setup.sh")]
    if not needed:
        skip("nothing that make reads is ignored", "no git, or no repository")
        return
    lost = [path for path in needed
            if path not in context and os.path.exists(os.path.join(ROOT, path))]
    ok(not lost, "nothing that make reads is ignored", *lost[:8])


def owners_of(*paths):
    """The packages that one of @paths is from: the system's /lib is its /usr/lib."""
    text = subprocess.run(["dpkg-query", "-S", *paths], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout
    return re.findall(r"^([a-z0-9.+-]+)[:,]", text, re.M)


def check_packages(stages):
    ok(any(step.instruction == "RUN" and step.arguments == "scripts/setup.sh build"
           for step in stages[0].steps),
       "the build stage has the packages that scripts/setup.sh lists")
    agent = os.path.join(ROOT, "build", "agent")
    tools = [tool for tool in ("dpkg-query", "readelf", "ldconfig")
             if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    name = "the last stage installs the libraries that the agent is linked with, and no others"
    if tools or not os.path.exists(agent):
        skip(name, "needs %s" % (", ".join(tools) or "build/agent"))
        return
    dynamic = subprocess.run(["readelf", "-d", agent], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    paths = subprocess.run(["ldd", agent], stdout=subprocess.PIPE, text=True, check=True).stdout
    wanted = set()
    for library in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic):
        match = re.search(r"^\s*%s => /(?:usr/)?(\S+)" % re.escape(library), paths, re.M)
        wanted.update(owners_of("/" + match[1], "/usr/" + match[1]) if match else [])
    found = dockerfile.installed_packages(stages[-1])
    wanted -= {"libc6", "libgcc-s1"}
    ok(found == wanted | {"ca-certificates"}, name,
       "missing: %s" % sorted(wanted - found),
       "too many: %s" % sorted(found - wanted - {"ca-certificates"}))


def check_yaml():
    name = "compose, Kubernetes and collector files are YAML"
    paths = sorted(glob.glob(os.path.join(DOCKER, "**", "*.yaml"), recursive=True))
    try:
        import yaml
    except ImportError:
        skip(name, "no python3-yaml")
        return
    bad = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            try:
                documents = list(yaml.safe_load_all(file))
            except yaml.YAMLError as error:
                bad.append("%s: %s" % (path, error))
                continue
        bad += [] if all(isinstance(one, dict) for one in documents) else [path]
    ok(paths and not bad, name, *bad)


def check_capabilities():
    compose = re.search(r"cap_add: \[(.*)\]", read("compose.yaml"))
    in_compose = sorted(re.findall(r"\w+", compose[1]))
    in_kubernetes = sorted(re.findall(r"^ {16}- ([A-Z_]+)$", read("kubernetes/daemonset.yaml"),
                                      re.M))
    ok(in_compose and in_compose == in_kubernetes,
       "compose and Kubernetes give the same capabilities", in_compose, in_kubernetes)


def check_options(stages):
    """The agent knows the options that the files give it."""
    name = "the agent knows the options in compose.yaml and daemonset.yaml"
    agent = os.path.join(ROOT, "build", "agent")
    if not os.path.exists(agent):
        skip(name, "needs build/agent")
        return
    texts = [re.search(r"  agent:\n(?:.*\n)*?    command:\n((?: +- .*\n)+)",
                       read("compose.yaml"))[1],
             re.search(r" args:\n((?: +- .*\n)+)", read("kubernetes/daemonset.yaml"))[1]]
    known = subprocess.run([agent, "-help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    given = {option for text in texts for option in OPTION.findall(text)}
    unknown = [option for option in given if not re.search(r"^\s*-%s\b" % option, known, re.M)]
    ok(given and not unknown, name, *unknown)
    entry = [step.arguments for step in stages[-1].steps if step.instruction == "ENTRYPOINT"]
    ok(len(entry) == 1 and dockerfile.parse_entrypoint(entry[0])
       == ["/usr/local/bin/allframes"], "the image starts the agent", *entry)


def check_mounted_files():
    """Files beside compose.yaml that it mounts, and files in it that the services are told of."""
    text = read("compose.yaml")
    mounts = re.findall(r"- (\./\S+?):(\S+?):ro", text)
    bad = [source for source, target in mounts
           if not os.path.isfile(os.path.join(DOCKER, source)) or "=%s" % target not in text]
    ok(len(mounts) == 2 and not bad, "the mounted configurations are there, and used", mounts, *bad)


def main():
    stages = dockerfile.read_stages()
    ok(len(stages) == 2 and stages[-1].name is None
       and all(stage.image in ("debian:12", "debian:12-slim") for stage in stages),
       "the Dockerfile has a stage to build and one to run, both of Debian 12")
    check_copies(stages)
    check_packages(stages)
    check_yaml()
    check_capabilities()
    check_options(stages)
    check_mounted_files()
    print("1..%d" % count)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
