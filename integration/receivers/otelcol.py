#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the OpenTelemetry Collector for the tests, by its own builder and the Go module proxy.

    otelcol.py

What is in it says otelcol.yaml. The program is kept below ~/.cache/allframes/receivers; its path is
printed. The first build takes minutes and a gigabyte of Go's caches.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

MANIFEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "otelcol.yaml")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "allframes", "receivers")
BUILDER = "go.opentelemetry.io/collector/cmd/builder"


class Unavailable(Exception):
    """No Go, one that is too old, or a module that the registry does not give."""


def _go(command, what, **more):
    done = subprocess.run(["nice", "-n", "15", *command], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **more)
    if done.returncode:
        raise Unavailable("%s: %s" % (what, " ".join(done.stdout.splitlines()[-3:]) or "failed"))


def program():
    """The path of the Collector, which is built first where it is not in the cache."""
    with open(MANIFEST, encoding="utf-8") as file:
        manifest = file.read()
    version = re.search(r"otlpreceiver (v\S+)", manifest)[1]
    directory = os.path.join(CACHE, "otelcol-%s-%s" % (
        version, hashlib.sha256(manifest.encode()).hexdigest()[:12]))
    path = os.path.join(directory, "otelcol")
    if os.path.exists(path):
        return path
    if not shutil.which("go"):
        raise Unavailable("no go")
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        environment = {**os.environ, "GOBIN": scratch, "GOFLAGS": ""}
        _go(["go", "install", "%s@%s" % (BUILDER, version)], "the builder", env=environment)
        sources = os.path.join(scratch, "sources")
        complete = os.path.join(scratch, "otelcol.yaml")
        with open(complete, "w", encoding="utf-8") as file:
            file.write("%sdist:\n  name: otelcol\n  output_path: %s\n" % (manifest, sources))
        _go([os.path.join(scratch, "builder"), "--config", complete, "--skip-compilation"],
            "the modules", env=environment)
        # Compiling by hand: the builder does not let the linker leave the symbols out.
        _go(["go", "build", "-p", "1", "-trimpath", "-ldflags=-s -w", "-o",
             os.path.join(scratch, "out", "otelcol"), "."], "compiling", cwd=sources,
            env=environment)
        os.rename(os.path.join(scratch, "out"), directory)
    return path


if __name__ == "__main__":
    try:
        print(program())
    except Unavailable as error:
        sys.exit("otelcol: %s" % error)
