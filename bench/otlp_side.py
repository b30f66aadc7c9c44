# SPDX-License-Identifier: Apache-2.0
"""What goes over the wire: bytes per sample after gzip, by rate, interval and grouping, and what each
attribute costs. All agents run side by side under the busy mix, each with a collector of its own.
"""
import collections
import contextlib
import glob
import json
import os
import signal
import subprocess
import tempfile
import time

from tools import ROOT, path
import harness

RATES = (19, 97)
INTERVALS_S = (5, 15)
GROUPINGS = ("container", "process", "service")
# Whole intervals of each kind.
SECONDS = 30

Configuration = collections.namedtuple("Configuration", "rate interval_s grouping")
Weight = collections.namedtuple(
    "Weight", "bytes_per_sample raw_bytes_per_sample distinct_percent attributes")


@contextlib.contextmanager
def _collector(directory):
    """A collector that keeps what comes; gives its address."""
    process = subprocess.Popen([os.path.join(ROOT, "build", "collector"), "-listen", "127.0.0.1:0",
                                "-save", directory], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


def _weigh(directory, *options):
    files = sorted(glob.glob(os.path.join(directory, "*")))
    text = subprocess.run([path("otlp_bytes"), *options, *files], stdout=subprocess.PIPE,
                          check=True).stdout
    found = json.loads(text)
    samples = found["samples"]
    attributes = {key: (found["gzip_bytes"] - without) / samples
                  for key, without in found["gzip_bytes_without"].items()}
    return Weight(found["gzip_bytes"] / samples, found["bytes"] / samples,
                  100 * found["distinct"] / samples, attributes)


def weights():
    """Weight by Configuration; the first has the attributes as well."""
    import busy_mix_test
    configurations = [Configuration(rate, interval_s, grouping) for rate in RATES
                      for interval_s in INTERVALS_S for grouping in GROUPINGS]
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="allframes-otlp-"))
        stack.enter_context(busy_mix_test.Mix(directory))
        agents = []
        for i, one in enumerate(configurations):
            saved = os.path.join(directory, "saved%d" % i)
            os.mkdir(saved)
            address = stack.enter_context(_collector(saved))
            agents.append((one, saved, stack.enter_context(harness.Agent(
                "-collection-agent", address, "-disable-tls", "-samples-per-second", one.rate,
                "-reporter-interval", "%ds" % one.interval_s, "-reporter-jitter", "0",
                "-resource-grouping", one.grouping, "-with-cpu", outputs=[]))))
        for _, _, agent in agents:
            if not agent.wait_started(60):
                raise RuntimeError(agent.log_text())
        time.sleep(SECONDS)
        for _, _, agent in agents:
            agent.process.send_signal(signal.SIGTERM)
        for _, _, agent in agents:
            if agent.wait().status:
                raise RuntimeError(agent.log_text())
        return {one: _weigh(saved, *(["-attributes"] if one == configurations[0] else []))
                for one, saved, _ in agents}
