#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# long
# time limit: 3600 s
"""The real OpenTelemetry Collector takes what the agent sends, and keeps all of it.

The Collector (receivers/otelcol.py builds it) decodes the requests by its own data model and hands
them on as JSON, which is read here: so no code of the agent's reads what the agent wrote. The
agent's -output x.otlp goes through the same Collector, over HTTP. Both must hold the samples and
stacks of the folded file of the same run, and the attributes that are known from the outside.
"""
import collections
import contextlib
import http.server
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "receivers")]
import build_targets
import metrics_test
import otelcol
import otlp_collector
import otlp_metrics_test
from build_targets import TARGETS
from harness import (HANG_SECONDS, ROOT, Agent, Program, Tap, die_with_parent, free_port, need_root,
                     run_agent)

SHIPPED = os.path.join(ROOT, "docker", "collector.yaml")
GATE = "--feature-gates=service.profilesSupport"
RATE = 199
SECONDS = 7
PROGRAMS = ["calls", "calls_stripped", "syscalls", "threads", "recursion", "exceptions"]
# Log lines about a collector; a machine under load has other warnings.
TROUBLE = re.compile("^(?:error|warn: collector).*", re.M)
# The machine is sampled as a whole: any language may run on it, the Collector itself is of Go.
FRAME_TYPES = {"native", "go", "kernel", "cpython", "jvm", "v8js", "ruby", "php", "perl", "abort-marker"}
# Of these the names come with x.otlp only, and with them that some are Go's.
NATIVE_TYPES = {"native", "go"}

CONFIGURATION = """
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "127.0.0.1:%(grpc)d"%(tls)s}
      http: {endpoint: "127.0.0.1:%(http)d"}
exporters:
  # Without a queue, so that its failures are failures of the agent's calls.
  otlp_http:
    profiles_endpoint: http://127.0.0.1:%(sink)d/
    metrics_endpoint: http://127.0.0.1:%(sink)d/metrics
    encoding: json
    compression: none
    sending_queue: {enabled: false}
    retry_on_failure: {enabled: false}
  debug: {verbosity: detailed}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [otlp], exporters: [otlp_http, debug]}
    metrics: {receivers: [otlp], exporters: [otlp_http]}
"""


class Sink:
    """Takes the Collector's JSON."""

    def __init__(self):
        self.requests, self.metrics = [], []
        sink = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                length = int(self.headers["Content-Length"])
                requests = sink.metrics if self.path == "/metrics" else sink.requests
                requests.append(json.loads(self.rfile.read(length)))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def take(self):
        requests, self.requests = self.requests, []
        return requests


class Collector:
    """A running Collector, in front of a sink."""

    def __init__(self, program, directory, sink, tls=None):
        self.grpc_port, self._http_port = free_port(), free_port()
        path = os.path.join(directory, "%d.yaml" % self.grpc_port)
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION % {"grpc": self.grpc_port, "http": self._http_port,
                                        "sink": sink.port,
                                        "tls": ", tls: " + json.dumps(tls) if tls else ""})
        self._start(program, directory, [path])

    def _start(self, program, directory, configurations):
        self._log = tempfile.NamedTemporaryFile(dir=directory, suffix=".log")
        options = ["--config=" + one for one in configurations]
        self.process = subprocess.Popen([program, GATE, *options], stdout=self._log,
                                        stderr=self._log, preexec_fn=die_with_parent)
        end = time.monotonic() + 60
        while b"Everything is ready" not in self.log():
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError("the Collector does not start: %r" % self.log()[-2000:])
            time.sleep(0.1)

    def log(self):
        with open(self._log.name, "rb") as file:
            return file.read()

    def post(self, data):
        """Sends a message over HTTP, and returns the answer's status."""
        request = urllib.request.Request(
            "http://127.0.0.1:%d/v1development/profiles" % self._http_port, data,
            {"Content-Type": "application/x-protobuf"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self._log.close()


class ShippedCollector(Collector):
    """A Collector with the configuration that is shipped, but for its addresses."""

    def __init__(self, program, directory, next_address):  # pylint: disable=super-init-not-called
        self.grpc_port = free_port()
        self._start(program, directory, [
            SHIPPED,
            "yaml:receivers::otlp::protocols::grpc::endpoint: 127.0.0.1:%d" % self.grpc_port,
            "yaml:exporters::otlp_grpc/pyroscope::endpoint: %s" % next_address,
            "yaml:service::telemetry::metrics::level: none"])


class Message:
    """One request as JSON. Members that are 0, empty or false may be missing."""

    def __init__(self, request):
        self.request = request
        dictionary = request["dictionary"]
        self.strings = dictionary["stringTable"]
        self.tables = {name: dictionary.get(name + "Table", []) for name in
                       ("mapping", "location", "function", "stack", "attribute")}

    def text(self, index):
        return self.strings[index or 0]

    def value(self, value):
        """An AnyValue; the Collector puts texts of resources into the dictionary as well."""
        (kind, inner), = value.items() if value else [("stringValue", "")]
        if kind == "stringValueStrindex":
            return self.text(inner)
        return int(inner) if kind == "intValue" else inner

    def attributes(self, owner):
        found = {}
        for index in owner.get("attributeIndices", []):
            entry = self.tables["attribute"][index]
            found[self.text(entry.get("keyStrindex"))] = self.value(entry["value"])
        return found

    def mapping(self, location):
        return self.tables["mapping"][location.get("mappingIndex", 0)]

    def code_key(self, location):
        """What tells native code apart: file and address."""
        mapping = self.mapping(location)
        attributes = self.attributes(mapping)
        return (self.text(mapping.get("filenameStrindex")),
                attributes.get("process.executable.build_id.htlhash"),
                int(location.get("address", 0)))

    def lines(self, location):
        """Names of functions, innermost first."""
        return [self.text(self.tables["function"][line["functionIndex"]].get("nameStrindex"))
                for line in location.get("lines", [])]

    def frames(self, stack_index, names):
        """The stack as in a folded file, root first."""
        frames = []
        for index in self.tables["stack"][stack_index or 0].get("locationIndices", []):
            location = self.tables["location"][index]
            attributes = self.attributes(location)
            kind = attributes["profile.frame.type"]
            lines = self.lines(location)
            is_guess = (attributes.get("allframes.frame.guess")
                        or lines and lines[0].endswith("_[?]"))
            if not lines and kind in NATIVE_TYPES:
                lines = [line + "_[?]" * bool(is_guess)
                         for line in names.get(self.code_key(location), [])]
            if not lines:
                name, _, address = self.code_key(location)
                lines = ["%s+%#x" % (name.rsplit("/", 1)[-1], address)]
                lines = [line + "_[?]" if is_guess else line for line in lines]
            suffix = "_[k]" if kind == "kernel" else ""
            if kind in NATIVE_TYPES and self.code_key(location)[0] == "[anonymous]":
                suffix = "_[j]"
            suffix = "" if is_guess else suffix
            inlined = "_[~]" if attributes.get("allframes.frame.approximate") else "_[i]"
            last = len(lines) - 1
            frames += [line.replace(";", ":").replace("\n", " ")
                       + (suffix if at == last or is_guess else inlined)
                       for at, line in enumerate(lines)]
        return tuple(reversed(frames))

    def samples(self):
        """Yields (resource attributes, profile, sample)."""
        for resource in self.request["resourceProfiles"]:
            attributes = {one.get("key") or self.text(one["keyStrindex"]): self.value(one["value"])
                          for one in resource["resource"].get("attributes", [])}
            for scope in resource["scopeProfiles"]:
                for profile in scope["profiles"]:
                    for sample in profile["samples"]:
                        yield attributes, profile, sample


def names_of(messages):
    """Key of native code -> names without doubt, of those locations that have them."""
    return {message.code_key(location): [line.removesuffix("_[?]") for line in message.lines(location)]
            for message in messages for location in message.tables["location"]
            if location.get("lines")
            and message.attributes(location).get("profile.frame.type") in NATIVE_TYPES}


def fold(messages, names):
    folded = collections.Counter()
    for message in messages:
        for _, _, sample in message.samples():
            folded[message.frames(sample.get("stackIndex"), names)] += \
                len(sample["timestampsUnixNano"])
    return folded


def without_inlining(stacks):
    """What Go inlines into a wrapper of its own, which is not shown, is inlined in folded stacks; in OTLP
    it is the last line of its location, which cannot say so.
    """
    counts = collections.Counter()
    for frames, number in stacks.items():
        counts[tuple(frame.removesuffix("_[i]") for frame in frames)] += number
    return counts


def differences(one, other):
    return ["%s: %d and %d" % (";".join(stack), one[stack], other[stack])
            for stack in (one | other) if one[stack] != other[stack]][:8]


def check_attributes(tap, messages, programs, grouping):
    """What is said of processes and threads is true, and stands where the grouping puts it."""
    counts = collections.Counter()
    wrong, owners = [], collections.Counter()
    for message in messages:
        for resource, _, sample in message.samples():
            own = message.attributes(sample)
            if set(own) & set(resource):
                wrong.append("both on resource and sample: %s" % (set(own) & set(resource)))
            both = {**resource, **own}
            program = programs.get(both.get("process.pid"))
            if not program:
                continue
            counts[program.pid] += len(sample["timestampsUnixNano"])
            owners["resource" if "process.pid" in resource else "sample"] += 1
            name = os.path.basename(program.path)
            expected = {
                "process.executable.name": name,
                "process.executable.path": program.path,
                "thread.name": name,
                "host.name": platform.node(),
                "os.type": "linux",
                "host.arch": {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()],
                "service.name": program.service or "unknown_service:" + name,
                "env": "test",
            }
            wrong += ["%s is %r, not %r" % (key, both.get(key), value)
                      for key, value in expected.items() if both.get(key) != value]
            if not os.path.exists("/proc/%d/task/%d" % (program.pid, both.get("thread.id", 0))):
                wrong.append("no thread %r" % both.get("thread.id"))
            if both.get("cpu.logical_number") not in range(os.cpu_count()):
                wrong.append("cpu %r" % both.get("cpu.logical_number"))
    tap.ok(len(counts) == len(programs) and not wrong,
           "attributes of processes, threads and host are right (%s)" % grouping,
           counts, *sorted(set(wrong))[:8])
    tap.ok(list(owners) == ["resource" if grouping == "process" else "sample"],
           "the pid stands where -resource-grouping=%s puts it" % grouping, owners)
    return counts


def check_frames(tap, messages, grouping):
    kinds = {message.attributes(location).get("profile.frame.type")
             for message in messages for location in message.tables["location"][1:]}
    tap.ok({"native", "kernel"} <= kinds <= FRAME_TYPES,
           "every location has a frame type (%s)" % grouping, kinds)
    build_ids = {os.path.basename(message.text(mapping.get("filenameStrindex"))):
                 message.attributes(mapping).get("process.executable.build_id.gnu")
                 for message in messages for mapping in message.tables["mapping"]}
    libc = next((name for name in build_ids if re.match(r"libc[.-]", name)), None)
    path = next(line.split()[2] for line in subprocess.run(
        ["ldd", TARGETS["calls"].path], stdout=subprocess.PIPE, text=True,
        check=True).stdout.splitlines() if " => " in line and "libc" in line)
    note = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, check=False).stdout
    tap.ok(libc and build_ids[libc] in note, "the C library's build ID is right (%s)" % grouping,
           libc, build_ids.get(libc), note)


def symbol_ranges(path):
    """Function -> (first address, first behind it), by nm."""
    text = subprocess.run(["nm", "-S", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name: (int(start, 16), int(start, 16) + int(size, 16)) for start, size, name
            in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tT] (\S+)$", text, re.M)}


def check_addresses(tap, names, grouping):
    """Addresses are the file's own: those of a function lie where the linker has put it."""
    wrong, count = [], 0
    ranges = {TARGETS[name].path: symbol_ranges(TARGETS[name].path)
              for name in PROGRAMS if not name.endswith("_stripped")}
    for (path, _, address), lines in names.items():
        start, end = ranges.get(path, {}).get(lines[-1], (0, 0))
        if not end:
            continue
        count += 1
        if not start <= address < end:
            wrong.append("%s at %#x, which is at %#x to %#x" % (lines[-1], address, start, end))
    tap.ok(count >= 20 and not wrong, "addresses lie in their functions (%s)" % grouping, count,
           *wrong[:8])


def check_profiles(tap, messages, begin_ns, end_ns, grouping):
    """What is said of each profile as a whole. Pyroscope knows CPU time by these types."""
    wrong, ids = [], collections.Counter()
    for message in messages:
        for _, profile, sample in message.samples():
            types = [message.text(profile[kind].get(part)) for kind in ("sampleType", "periodType")
                     for part in ("typeStrindex", "unitStrindex")]
            if types != ["samples", "count", "cpu", "nanoseconds"]:
                wrong.append("types %s" % types)
            start = int(profile["timeUnixNano"])
            end = start + int(profile["durationNano"])
            times = [int(one) for one in sample["timestampsUnixNano"]]
            if not begin_ns <= start <= min(times) <= max(times) <= end <= end_ns:
                wrong.append("%d..%d: %d..%d" % (start, end, min(times), max(times)))
            if int(profile["period"]) != round(1e9 / RATE):
                wrong.append("period %s" % profile["period"])
        ids.update(profile["profileId"] for resource in message.request["resourceProfiles"]
                   for scope in resource["scopeProfiles"] for profile in scope["profiles"])
    tap.ok(not wrong, "types, period and times of profiles are right (%s)" % grouping, *wrong[:5])
    tap.ok(set(ids.values()) == {1} and all(re.fullmatch("[0-9a-f]{32}", one) for one in ids),
           "each profile has an id of its own (%s)" % grouping, ids.most_common(3))


class Target:
    def __init__(self, process, path, service):
        self.pid, self.path, self.service = process.pid, path, service


def start_programs(stack):
    programs = {}
    for name in PROGRAMS:
        # One says what service it is, the others leave that to the agent.
        service = "the-threads" if name == "threads" else None
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("OTEL_")}
        environment.update({"OTEL_SERVICE_NAME": service} if service else {})
        process = stack.enter_context(Program(TARGETS[name].path, env=environment))
        programs[process.pid] = Target(process, TARGETS[name].path, service)
    return programs


def check_run(tap, collector, sink, directory, grouping):
    otlp, begin_ns = os.path.join(directory, "x.otlp"), time.time_ns()
    with contextlib.ExitStack() as stack:
        programs = start_programs(stack)
        folded_path = os.path.join(directory, "x.folded")
        agent = stack.enter_context(Agent(
            "-collection-agent", "127.0.0.1:%d" % collector.grpc_port, "-disable-tls",
            "-samples-per-second", RATE, "-duration", "%ds" % SECONDS, "-reporter-interval", "2s",
            "-resource-grouping", grouping, "-with-cpu", "-tags", "env:test",
            outputs=[otlp, folded_path]))
        agent.folded_path = folded_path
        result = agent.wait()
        end_ns = time.time_ns()
        stacks = result.stacks
        sent = [Message(request) for request in sink.take()]
        counts = check_attributes(tap, sent, programs, grouping)
    tap.ok(result.status == 0 and not TROUBLE.search(result.log)
           and re.search("sent [1-9]", result.last_line) and "dropped" not in result.last_line.split("; sent")[1],
           "the Collector takes every request (%s)" % grouping, result.log)
    with open(otlp, "rb") as file:
        status = collector.post(file.read())
    written = [Message(request) for request in sink.take()]
    tap.ok(status == 200 and len(written) == 1, "it takes -output x.otlp over HTTP (%s)" % grouping,
           status)
    wanted = collections.Counter()
    for one, number in stacks.items():
        wanted[tuple(one.frames)] += number
    wanted = without_inlining(wanted)
    names = names_of(written)
    folded = without_inlining(fold(sent, names))
    tap.ok(len(sent) >= 3 and folded.total() == wanted.total() > 500,
           "all samples arrive (%s)" % grouping, len(sent), folded.total(), wanted.total())
    tap.ok(folded == wanted, "the stacks are those of the folded file, once they have names (%s)"
           % grouping, *differences(folded, wanted))
    in_file = without_inlining(fold(written, {}))
    tap.ok(in_file == wanted, "the stacks in x.otlp are those of the folded file (%s)" % grouping,
           *differences(in_file, wanted))
    by_comm = collections.Counter()
    for one, number in stacks.items():
        by_comm[one.comm] += number
    wrong = ["%s: %d and %d" % (program.path, counts[pid], by_comm[os.path.basename(program.path)])
             for pid, program in programs.items()
             if counts[pid] > by_comm[os.path.basename(program.path)[:15]]]
    tap.ok(not wrong, "no process has more samples than its name in the folded file (%s)"
           % grouping, *wrong)
    check_frames(tap, sent, grouping)
    check_addresses(tap, names, grouping)
    check_profiles(tap, sent, begin_ns, end_ns, grouping)
    check_profiles(tap, written, begin_ns, end_ns, "x.otlp, " + grouping)
    return len(sent) + len(written), sum(len(list(one.samples())) for one in sent + written)


def check_log(tap, collector, requests, samples):
    """The debug exporter printed everything, and nothing was wrong."""
    log = collector.log().decode(errors="replace")
    bad = [line for line in log.splitlines() if re.match(r"\S+\t(warn|error)\t", line)]
    tap.ok(not bad, "the Collector logs no warning", *bad[:5])
    printed = log.count("Link table:")
    lines = len(re.findall(r"^    Sample #\d+$", log, re.M))
    tap.ok((printed, lines) == (requests, samples), "its debug exporter prints every sample",
           (printed, lines), (requests, samples))


def series_of(request):
    """The series of a request with metrics, as build/collector reports them."""
    for scope in (scope for resource in request["resourceMetrics"] for scope in resource["scopeMetrics"]):
        for metric in scope["metrics"]:
            data = metric.get("sum") or metric["gauge"]
            kind = ("counter" if data.get("isMonotonic") else "up_down_counter") if "sum" in metric else "gauge"
            if kind != "gauge" and data["aggregationTemporality"] != 2:
                raise ValueError("no cumulative sum: %s" % metric)
            for point in data["dataPoints"]:
                yield {"name": metric["name"], "unit": metric["unit"], "kind": kind,
                       "attributes": " ".join("%s=%s" % (one["key"], one["value"]["stringValue"])
                                              for one in point.get("attributes", [])),
                       "time_ns": int(point["timeUnixNano"]),
                       "value": int(point["asInt"]) if "asInt" in point else point["asDouble"]}


def wait_for_metrics(sink, since):
    """The series of the first request that was made after @since."""
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        for request in list(sink.metrics):
            series = list(series_of(request))
            if series and series[0]["time_ns"] > since:
                return series
        time.sleep(0.1)
    return []


def check_metrics(tap, collector, sink):
    """The Collector takes the agent's metrics, and they are those that Prometheus gets."""
    with Agent("-collection-agent", "127.0.0.1:%d" % collector.grpc_port, "-disable-tls", "-samples-per-second", RATE,
               "-metrics", "127.0.0.1:0", "-metrics-interval", "500ms", "-tags", "env:test") as agent:
        agent.wait_started()
        before, kinds = metrics_test.parse(metrics_test.get(agent, "/metrics")[2])
        series = wait_for_metrics(sink, time.time_ns())
        after = metrics_test.parse(metrics_test.get(agent, "/metrics")[2])[0]
        result = agent.stop()
    otlp_metrics_test.check_same(tap, before, series, after, kinds)
    tap.ok(result.status == 0 and not TROUBLE.search(result.log), "the Collector takes every request with metrics", result.log)
    resource = {one["key"]: one["value"].get("stringValue") for request in sink.metrics
                for one in request["resourceMetrics"][0]["resource"]["attributes"]}
    tap.ok(resource.get("service.name") == "allframes" and resource.get("host.name") == platform.node()
           and resource.get("env") == "test", "the resource of the metrics is the agent", resource)
    sink.take()


def check_tls(tap, program, directory, sink):
    """TLS between two implementations of it, both ends with certificates."""
    with otlp_collector.Certificates() as certificates:
        certificate, key = certificates.make("server")
        tls = {"cert_file": certificate, "key_file": key, "client_ca_file": certificates.ca}
        certificate, key = certificates.make("client")
        own = ["-tls-cert", certificate, "-tls-key", key]
        with Collector(program, directory, sink, tls) as collector, \
                Program(TARGETS["calls"].path):
            options = ["-collection-agent", "127.0.0.1:%d" % collector.grpc_port, "-tls-ca",
                       certificates.ca, "-duration", "3s", "-reporter-interval", "1s"]
            result = run_agent(*options, *own)
            sent = [Message(request) for request in sink.take()]
            tap.ok(result.status == 0 and not TROUBLE.search(result.log)
                   and fold(sent, {}).total() == result.stacks.total() > 0,
                   "all samples arrive over TLS, with certificates on both sides", result.log)
            result = run_agent(*options)
            tap.ok(result.status == 0 and not sink.take()
                   and TROUBLE.search(result.log),
                   "nothing does without the client's, and the agent says so", result.log)
            tap.note("it said: " + " | ".join(TROUBLE.findall(result.log)))


def check_shipped(tap, program, directory):
    """What docker/collector.yaml's Collector hands on to Pyroscope, which is our collector here. As
    Pyroscope 2.2 knows resources only by keys and texts that stand in them, these must do.
    """
    with otlp_collector.Collector() as pyroscope, \
            ShippedCollector(program, directory, pyroscope.address) as collector, \
            Program(TARGETS["calls"].path):
        result = run_agent("-collection-agent", "127.0.0.1:%d" % collector.grpc_port,
                           "-disable-tls", "-duration", "3s", "-reporter-interval", "1s",
                           "-samples-per-second", RATE)
        total = result.stacks.total()
        received = pyroscope.wait_for(lambda one: one.samples_taken >= total)
        tap.ok(result.status == 0 and received.samples_taken == total > 0,
               "all samples get through the Collector of docker/collector.yaml", total,
               received.samples_taken, result.log, collector.log().decode(errors="replace"))
        tap.ok("unknown_service:calls" in received.values("resource", "service.name")
               and platform.node() in received.values("resource", "host.name"),
               "it hands on resources as they came", received.values("resource", "service.name"))
        # It writes the zero link with two empty ids.
        others = {number: one for number, one in received.broken_rules.items()
                  if "link" not in one["example"].lower()}
        tap.ok(not others, "what it hands on breaks no rule but about the zero link",
               received.broken())


def main():
    tap = Tap()
    name = "the OpenTelemetry Collector"
    need_root(tap, name)
    try:
        program = otelcol.program()
    except otelcol.Unavailable as error:
        tap.skip(name, str(error))
        tap.finish()
    build_targets.build(PROGRAMS)
    with tempfile.TemporaryDirectory(prefix="allframes-receivers-") as directory:
        sink = Sink()
        with Collector(program, directory, sink) as collector:
            totals = [check_run(tap, collector, sink, directory, grouping)
                      for grouping in ("container", "process", "service")]
            check_log(tap, collector, *map(sum, zip(*totals)))
            check_metrics(tap, collector, sink)
        check_tls(tap, program, directory, sink)
        check_shipped(tap, program, directory)
    tap.finish()


if __name__ == "__main__":
    main()
