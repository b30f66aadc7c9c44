#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# alone
"""ThreadSanitizer over the whole agent: on a busy machine, with a page that is looked at, a file, a collector, and
programs in Python and Java.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import busy_mix_test
from harness import ROOT, Agent, Tap, need_root
from otlp_collector import Collector
from viewer_pages import Api, wait_for_page

AGENT = os.path.join(ROOT, "build", "agent-tsan")
SECONDS = 60
# ThreadSanitizer's own exit status after a report.
STATUS = 66
# gRPC, its C++ library and OpenSSL are not built for ThreadSanitizer: it does not see how they keep their threads
# apart. It does not know pthread_clockjoin_np() either, by which threads are joined that may hang.
SUPPRESSIONS = """
called_from_lib:libgrpc.so
called_from_lib:libgpr.so
called_from_lib:libssl.so
called_from_lib:libcrypto.so
race:libgrpc.so
race:libgpr.so
thread:load_threads_start
thread:grpc_library_deinit
"""


def suppressions_of(agent):
    """Each one may name one library only, and gRPC's C++ library is in many."""
    text = subprocess.run(["ldd", agent], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = sorted(set(re.findall(r"\blibabsl_\w+\.so", text)))
    return SUPPRESSIONS + "".join("called_from_lib:%s\n" % name for name in names)


def main():
    tap = Tap()
    need_root(tap, "ThreadSanitizer over the agent")
    subprocess.run(["make", "--no-print-directory", "-j2", "build/agent-tsan"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory(prefix="allframes-races-") as directory:
        suppressions = os.path.join(directory, "suppressions")
        with open(suppressions, "w", encoding="ascii") as file:
            file.write(suppressions_of(AGENT))
        options = "suppressions=%s exitcode=%d" % (suppressions, STATUS)
        with busy_mix_test.Mix(directory), Collector() as collector, \
                Agent("-samples-per-second", 197, "-viewer", "127.0.0.1:0", "-collection-agent",
                      collector.address, "-disable-tls", "-reporter-interval", "2s", "-symbolize", "full",
                      agent=AGENT, environment={"TSAN_OPTIONS": options}) as agent:
            api = Api(wait_for_page(agent))
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                api.stacks()
                time.sleep(1)
            result = agent.stop()
            # The file is gone with the agent's block.
            samples = sum(result.stacks.values())
            received = collector.stop()
    reports = result.log.count("WARNING: ThreadSanitizer")
    tap.ok(result.status == 0 and not reports, "no thread of the agent races with another",
           "status %d" % result.status, result.log)
    tap.ok(samples > SECONDS and received.stacks, "it sampled and sent meanwhile")
    tap.finish()


if __name__ == "__main__":
    main()
