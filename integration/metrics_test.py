#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""-metrics: the text is what Prometheus takes, counters only grow and agree with the summary, and only those who may ask get it.

promtool checks the text; in the long tier Prometheus itself scrapes the agent.
"""
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from go_loads_test import Lacking, program_of
from harness import HANG_SECONDS, IS_LONG, ROOT, Agent, Tap, need_root

TOKEN = "0123456789abcdefXYZ"
OPEN_METRICS = "application/openmetrics-text;version=1.0.0"
SAMPLE = re.compile(r'(?P<name>[a-z_]+)(?:\{(?P<labels>[a-z_]+="[^"\\]*")\})? (?P<value>[0-9.e+-]+)')


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
                                    ROOT, "docker/prometheus/prometheus.yaml")], "")):
        result = subprocess.run([promtool, *command], input=text, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, check=False)
        tap.ok(result.returncode == 0, "promtool finds nothing in " + name, result.stdout)


def check_growth(tap, agent, first, counters):
    end = time.monotonic() + HANG_SECONDS
    ticks = ("allframes_ticks_total", 'class="idle"')
    while True:
        last = parse(get(agent, "/metrics")[2])[0]
        if last[ticks] > first[ticks] or time.monotonic() > end:
            break
        time.sleep(0.2)
    fallen = [key for key, value in first.items() if key[0] in counters and last[key] < value]
    tap.ok(last[ticks] > first[ticks] and not fallen, "counters grow and never fall", fallen)
    return last


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


def check_scraped(tap):
    """Prometheus scrapes the agent, and its queries find what the agent says."""
    with tempfile.TemporaryDirectory() as folder, Agent("-metrics", "127.0.0.1:0") as agent:
        agent.wait_started()
        with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf-8") as file:
            file.write("global: {scrape_interval: 1s}\nrule_files: [%s]\nscrape_configs:\n- job_name: allframes\n"
                       "  static_configs: [{targets: ['%s:%s']}]\n"
                       % (os.path.join(ROOT, "docker/prometheus/alerts.yaml"), *url_of(agent)))
        with subprocess.Popen([program_of("bookworm-prometheus", "usr/bin/prometheus"), "--config.file=prometheus.yml", "--web.listen-address=127.0.0.1:9099"],
                              cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                queries = [re.sub(r"\$__rate_interval|\$__range", "10s", panel["targets"][0]["expr"])
                           for panel in dashboard()["panels"] if panel.get("targets")]
                missing = wait_for_values(queries)
            finally:
                server.kill()
    tap.ok(not missing, "Prometheus scrapes the agent, and all queries of the dashboard have values", *missing)


def wait_for_values(queries):
    """Those of @queries to Prometheus that have no value in time."""
    end = time.monotonic() + HANG_SECONDS
    while queries and time.monotonic() < end:
        queries = [query for query in queries if not ask_prometheus(query)]
        time.sleep(1)
    return queries


def ask_prometheus(query):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", 9099, timeout=10)
        connection.request("POST", "/api/v1/query", "query=" + urllib.parse.quote(query),
                           {"Content-Type": "application/x-www-form-urlencoded"})
        return json.loads(connection.getresponse().read())["data"]["result"]
    except (OSError, KeyError, ValueError):
        return None


def dashboard():
    with open(os.path.join(ROOT, "docker/grafana/allframes.json"), encoding="utf-8") as file:
        return json.load(file)


def main():
    tap = Tap()
    need_root(tap, "the agent's metrics")
    with Agent("-metrics", "127.0.0.1:0", "-samples-per-second", "97") as agent:
        tap.ok(agent.wait_started(), "the agent serves metrics", agent.log_text())
        first, counters = check_text(tap, agent)
        check_by_promtool(tap, agent)
        last = check_growth(tap, agent, first, counters)
        check_health(tap, agent)
        samples = sum(agent.stop().stacks.values())
    tap.ok(0 < last["allframes_ticks_total", 'class="busy"'] <= samples, "the folded file has no fewer samples than the metrics", samples)
    check_token(tap)
    if IS_LONG:
        check_scraped(tap)
    tap.finish()


if __name__ == "__main__":
    main()
