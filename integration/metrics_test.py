#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for intervals
"""-metrics: the text is what Prometheus takes, counters only grow and agree with the summary, and only those who may ask get it.

promtool checks the text and the alert rules, and Prometheus itself scrapes the agent.
"""
import http.client
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from go_loads_test import Lacking, program_of
from harness import HANG_SECONDS, ROOT, Agent, Program, Tap, free_port, need_root

TOKEN = "0123456789abcdefXYZ"
OPEN_METRICS = "application/openmetrics-text;version=1.0.0"
LABEL = r'[a-z_]+="(?:[^"\\]|\\[\\"n])*"'
SAMPLE = re.compile(r'(?P<name>[a-z_]+)(?:\{(?P<labels>%s(?:,%s)*)\})? (?P<value>[0-9.e+-]+)' % (LABEL, LABEL))


def url_of(agent):
    """Host and port of the metrics, from the line that says where samples go."""
    return re.search(r"http://([\d.]+):(\d+)/metrics", agent.log_text()).groups()


def get(agent, path, method="GET", **headers):
    """Status, type and text of an answer."""
    host, port = url_of(agent)
    connection = http.client.HTTPConnection(host, int(port), timeout=HANG_SECONDS)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.getheader("Content-Type"), text


def parse(text):
    """{(name, labels): value} and {family: type}; raises ValueError where the text is no metrics."""
    values, families, helped = {}, {}, set()
    for line in text.splitlines():
        if line == "# EOF":
            continue
        if line.startswith("# UNIT "):
            _, _, family, unit = line.split()
            if family not in families or not family.endswith("_" + unit):
                raise ValueError(line)
            continue
        if line.startswith("# HELP "):
            helped.add(line.split()[2])
        elif line.startswith("# TYPE "):
            _, _, family, kind = line.split()
            if family in families or family not in helped or kind not in ("counter", "gauge"):
                raise ValueError(line)
            families[family] = kind
        else:
            match = SAMPLE.fullmatch(line)
            if not match or (match["name"], match["labels"]) in values:
                raise ValueError(line)
            if match["name"] not in families and match["name"].removesuffix("_total") not in families:
                raise ValueError("no type: " + line)
            values[match["name"], match["labels"]] = float(match["value"])
    return values, families


def check_text(tap, agent):
    status, kind, text = get(agent, "/metrics")
    first, families = parse(text)
    tap.ok(status == 200 and kind.startswith("text/plain; version=0.0.4"), "the text format of Prometheus", status, kind)
    counters = [name for name, kind in families.items() if kind == "counter"]
    tap.ok(len(families) > 60 and all(name.endswith("_total") for name in counters)
           and not any(name.endswith("_total") for name, kind in families.items() if kind == "gauge"),
           "counters, and no others, end with _total", counters)
    status, kind, text = get(agent, "/metrics", Accept=OPEN_METRICS)
    tap.ok(status == 200 and kind.startswith("application/openmetrics-text") and text.endswith("\n# EOF\n")
           and parse(text)[0].keys() == first.keys(), "OpenMetrics, when asked for", status, kind)
    return first, counters


def check_by_promtool(tap, agent):
    try:
        promtool = program_of("bookworm-prometheus", "usr/bin/promtool")
    except Lacking as why:
        tap.skip("promtool finds nothing", why)
        return
    for name, command, text in (("the metrics", ["check", "metrics"], get(agent, "/metrics")[2]),
                                ("the alert rules", ["check", "rules", os.path.join(ROOT, "docker/prometheus/alerts.yaml")], ""),
                                ("the configuration", ["check", "config", "--syntax-only", os.path.join(
                                    ROOT, "docker/prometheus/prometheus.yaml")], ""),
                                ("what each alert fires for", ["test", "rules", os.path.join(
                                    ROOT, "docker/tests/alerts_test.yaml")], "")):
        result = subprocess.run([promtool, *command], input=text, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False)
        tap.ok(result.returncode == 0, "promtool finds nothing in " + name, result.stdout)


def count_ticks(values):
    """The ticks of all classes."""
    return sum(value for (name, _), value in values.items() if name == "allframes_ticks_total")


def check_growth(tap, agent, first, counters):
    end = time.monotonic() + HANG_SECONDS
    while True:
        last = parse(get(agent, "/metrics")[2])[0]
        # The kernel's own counts come once in a while.
        is_grown = count_ticks(last) > count_ticks(first) and last["allframes_bpf_samples_total", None] > 0
        if is_grown or time.monotonic() > end:
            break
        time.sleep(0.2)
    fallen = [key for key, value in first.items() if key[0] in counters and last[key] < value]
    tap.ok(is_grown and not fallen, "counters grow and never fall", fallen)
    return last


def check_skipped(tap, agent):
    """Ticks of which the kernel keeps the agent are counted while it runs; the count so far."""
    skipped = ("allframes_ticks_total", 'class="lost_skipped"')
    end = time.monotonic() + HANG_SECONDS
    while True:
        count = parse(get(agent, "/metrics")[2])[0][skipped]
        if count or time.monotonic() > end:
            break
        time.sleep(0.2)
    tap.ok(count > 0, "samples that the kernel skips are counted while the agent runs")
    return count


def check_health(tap, agent):
    tap.ok(get(agent, "/healthz")[::2] == (200, "ok\n") and get(agent, "/readyz")[::2] == (200, "ok\n"), "/healthz and /readyz")
    tap.ok(get(agent, "/other")[0] == 404 and get(agent, "/api/status")[0] == 404 and get(agent, "/")[0] == 404,
           "nothing else is there")
    tap.ok(get(agent, "/metrics", method="POST", X_Allframes="1")[0] == 405
           and get(agent, "/metrics", Host="elsewhere.example")[0] == 421
           and get(agent, "/metrics", Origin="http://elsewhere.example")[0] == 403,
           "pages of other sites may not ask")


def check_token(tap):
    with tempfile.NamedTemporaryFile("w", suffix=".token") as file:
        file.write(TOKEN + "\n")
        file.flush()
        with Agent("-metrics", "0.0.0.0:0", "-metrics-token-file", file.name) as agent:
            tap.ok(agent.wait_started(), "an address for other machines, with a token", agent.log_text())
            tap.ok(get(agent, "/metrics")[0] == 401
                   and get(agent, "/metrics", Authorization="Bearer " + TOKEN)[0] == 200
                   and get(agent, "/healthz")[0] == 200, "the token is asked for, but not for the state")
    for options, words in ((("-metrics", "0.0.0.0:0"), "-metrics-token-file"), (("-metrics", "nonsense"), "-metrics"),
                           (("-metrics-token-file", "/dev/null"), "-metrics ADDR:PORT")):
        with Agent(*options) as agent:
            status = agent.process.wait(HANG_SECONDS)
            tap.ok(status == 2 and words in agent.log_text(), "an error names the option: " + " ".join(options),
                   status, agent.log_text())


CONFIGURATION = """
global: {scrape_interval: 500ms}
rule_files: [%s]
scrape_configs:
- job_name: allframes
  static_configs: [{targets: ['%s:%s']}]
"""


def check_scraped(tap, agent):
    """Prometheus scrapes the agent, and its queries find what the agent says."""
    name = "Prometheus scrapes the agent, and all queries of the dashboard have values"
    try:
        program = program_of("bookworm-prometheus", "usr/bin/prometheus")
    except Lacking as why:
        tap.skip(name, why)
        return
    queries = [re.sub(r"\$__rate_interval|\$__range", "5s", target["expr"])
               for panel in dashboard()["panels"] for target in panel["targets"]]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf-8") as file:
            file.write(CONFIGURATION % (os.path.join(ROOT, "docker/prometheus/alerts.yaml"), *url_of(agent)))
        port = free_port()
        with Program(program, "--config.file=prometheus.yml", "--web.listen-address=127.0.0.1:%d" % port, ready=False,
                     cwd=folder, stderr=subprocess.DEVNULL):
            missing = wait_for_values(port, queries)
            targets = ask_prometheus(port, "/api/v1/targets") or {}
            rules = ask_prometheus(port, "/api/v1/rules") or {}
    tap.ok(len(queries) >= 20 and not missing, name, len(queries), *missing)
    healths = [one["health"] for one in targets.get("activeTargets", [])]
    tap.ok(healths == ["up"], "it finds no fault in the text", targets)
    alerts = [rule for group in rules.get("groups", []) for rule in group["rules"]]
    tap.ok(len(alerts) == 5 and all(rule["health"] in ("ok", "unknown") for rule in alerts), "it takes the alert rules", rules)


def wait_for_values(port, queries):
    """Those of @queries to Prometheus that have no number in time."""
    end = time.monotonic() + HANG_SECONDS
    while queries and time.monotonic() < end:
        queries = [query for query in queries if not has_number(port, query)]
        time.sleep(0.3)
    return queries


def has_number(port, query):
    data = ask_prometheus(port, "/api/v1/query?query=" + urllib.parse.quote(query)) or {}
    values = [float(one["value"][1]) for one in data.get("result", [])]
    return bool(values) and all(map(math.isfinite, values))


def ask_prometheus(port, path):
    """What Prometheus answers; None if it does not, or not yet."""
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())["data"]
    except (OSError, KeyError, ValueError, http.client.HTTPException):
        return None


def dashboard():
    with open(os.path.join(ROOT, "docker/grafana/allframes.json"), encoding="utf-8") as file:
        return json.load(file)


def main():
    tap = Tap()
    need_root(tap, "the agent's metrics")
    build_targets.build(["map_updates"])
    with Program(TARGETS["map_updates"].path), \
            Agent("-metrics", "127.0.0.1:0", "-samples-per-second", "997", "-log-level", "debug") as agent:
        tap.ok(agent.wait_started(), "the agent serves metrics", agent.log_text())
        first, counters = check_text(tap, agent)
        check_by_promtool(tap, agent)
        last = check_growth(tap, agent, first, counters)
        check_health(tap, agent)
        check_scraped(tap, agent)
        skipped = check_skipped(tap, agent)
        result = agent.stop()
        samples = sum(result.stacks.values())
    tap.ok(result.metrics["samples_skipped"] >= skipped, "the summary has no fewer of them", skipped, result.last_line)
    per_sample = last["allframes_bpf_time_seconds_total", None] / last["allframes_bpf_samples_total", None]
    tap.ok(1e-7 < per_sample < 1e-3, "a sample takes the kernel between 100 ns and 1 ms", per_sample)
    tap.ok(0 < last["allframes_ticks_total", 'class="busy"'] <= samples, "the folded file has no fewer samples than the metrics", samples)
    check_token(tap)
    tap.finish()


if __name__ == "__main__":
    main()
