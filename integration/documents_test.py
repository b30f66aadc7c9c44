#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# waits: for agents that sample
"""README.md and docs/: every command in them is run here, with a real pid for 1234 and the like, or the table says
which test runs it or what a test machine lacks for it. What they show as output has the shape of what comes. Their
links lead somewhere, and `make install` takes all of them along. Prints TAP.
"""
import contextlib
import glob
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_targets
from build_targets import TARGETS
from harness import HANG_SECONDS, ROOT, START_LINE, Program, Tap, die_with_parent, free_port, need_root
from otlp_collector import Certificates
from sampled import paced
from viewer_pages import Api

DOCUMENTS = ["README.md"] + sorted(
    os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs", "*.md"))
    if os.path.basename(path) != "decisions.md")
README_MAX_BYTES = 9 << 10
PICTURE_MAX_BYTES = 120 << 10
# A remark on a command stands behind two spaces, and goes on in lines that begin further right.
REMARK = re.compile(r" {2,}")
REMARK_INDENT = 20
IN_TEXT = re.compile(r"`((?:build/\w+|make) [^`]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Links of the installed documents into the sources, which are not installed.
OF_THE_SOURCES = {"ARCHITECTURE.md", "CONTRIBUTING.md", "bench/README.md"}
PAGE = r" (?:to|at) (http://[^\s;,]+)"
TOKEN_BYTES = 16
SENT = re.compile(r"; sent [1-9]\d* samples in \d+ requests$", re.M)
# A function of the program under profile, and the rate with which it is seen on a busy machine, too.
FUNCTION = "leaf_plain"
OFTEN = "-samples-per-second 997"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def indented_lines(text):
    """The commands and shown lines of a document, without what is said of them."""
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if indent < 4 or not line.strip():
            continue
        words = line.strip()
        if indent < REMARK_INDENT or words.startswith("build/"):
            yield REMARK.split(words)[0]


def commands_of(path):
    text = read(path)
    return [*indented_lines(text), *IN_TEXT.findall(text)]


class Run:
    """A command that runs in the shell: its output up to now, and how it ends."""

    def __init__(self, command, directory, environment):
        self.command = command
        self._output = tempfile.TemporaryFile()
        # A lone command replaces the shell, for the signals of stop().
        is_lone = not re.search("[;|]", command)
        self.process = subprocess.Popen(["sh", "-c", "exec " + command if is_lone else command], cwd=directory, stdin=subprocess.DEVNULL,
                                        stdout=self._output, stderr=self._output, preexec_fn=die_with_parent,
                                        start_new_session=True,
                                        env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/local/go/bin",
                                             **environment})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._output.close()

    def text(self):
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode("utf-8", "replace")

    def wait_for(self, pattern):
        """Waits until the output has @pattern: the match, or None where it ends or hangs before."""
        end = time.monotonic() + HANG_SECONDS
        while not (found := re.search(pattern, self.text(), re.M)) and time.monotonic() < end:
            if self.process.poll() is not None:
                return re.search(pattern, self.text(), re.M)
            time.sleep(0.05)
        return found

    def page(self):
        """The address of the page that it shows, when it does."""
        found = self.wait_for(PAGE)
        if not found:
            raise RuntimeError("%s shows no page: %s" % (self.command, self.text()))
        return found[1]

    def stop(self):
        """As Ctrl-C does. The exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(HANG_SECONDS)

    def end(self):
        return self.process.wait(HANG_SECONDS)


class Scene:
    """What commands are run in: a directory of its own in which build/ has all programs, one more as build/server,
    which is under profile, and certificates.
    """

    def __init__(self, tap, directory, certificates, program):
        self.tap = tap
        self.directory = directory
        self.pid = program.pid
        self.shown = ""
        build = self.path("build")
        os.mkdir(build)
        for name in os.listdir(os.path.join(ROOT, "build")):
            path = os.path.join(ROOT, "build", name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                os.symlink(path, os.path.join(build, name))
        shutil.copy(TARGETS["calls"].path, os.path.join(build, "server"))
        shutil.copy(certificates.ca, self.path("ca.pem"))
        for source, name in zip(certificates.make("server"), ("cert.pem", "key.pem")):
            shutil.copy(source, self.path(name))

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def run(self, command, changes=(), more="", environment=(), directory=None):
        """Starts @command; each first text of @changes is in it, and the second one replaces it."""
        for old, new in dict(changes).items():
            if old not in command:
                raise ValueError("%s has no %s" % (command, old))
            command = command.replace(old, str(new))
        return Run(command + (" " + more if more else ""), directory or self.directory, dict(environment))

    def finish(self, name, run, status, *conditions):
        """A result: @run ended with 0, and all @conditions hold."""
        self.shown += run.text()
        self.tap.ok(status == 0 and all(conditions), name, run.command, "status %s" % status,
                    "conditions %s" % [bool(condition) for condition in conditions], run.text()[-2000:])

    def done(self, name, run, *conditions):
        """The same of one that ends by itself; a condition may be a function of its output, or a text in it."""
        status = run.end()
        text = run.text()
        self.finish(name, run, status, *[
            condition(text) if callable(condition) else condition in text for condition in conditions])


def fetch(url):
    """The body at @url when it comes; the server may still be starting."""
    end = time.monotonic() + HANG_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url, timeout=HANG_SECONDS) as answer:
                return answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            return "status %d" % error.code
        except OSError:
            if time.monotonic() > end:
                return ""
            time.sleep(0.1)


# --- how commands are run: functions of the scene and the command ---

def make_run(scene, command):
    """Its steps, but for the compilation and what another make would say of it."""
    with scene.run(command, {"make": "make -n"}, "MAKE=:", directory=ROOT) as run:
        scene.done("make run", run, "scripts/setup.sh build\n", "scripts/run.sh\n")
    with scene.run("scripts/run.sh", directory=ROOT) as run:
        html = fetch(run.page())
        time.sleep(0.5)
        status = run.stop()
        last = run.text().splitlines()[-1]
        scene.finish("make run profiles until Ctrl-C, shows the page and sums up", run, status, START_LINE.search(run.text()),
                     "<html" in html, *[word in last for word in (" busy)", "lost", "complete")])


def record_files(scene, command):
    with scene.run(command, {"1234": scene.pid, "10s": "1s"}, OFTEN) as run:
        status = run.end()
        scene.finish(command, run, status, FUNCTION.encode() in gzip.decompress(scene.read("profile.pb.gz")),
                     FUNCTION.encode() in scene.read("profile.html"))


def profile_command(scene, command):
    scene.write("Makefile", "all:\n\t@i=0; while [ $$i -lt 100000 ]; do i=$$((i+1)); done\n")
    with scene.run(command, more="-s") as run:
        scene.done(command, run, "make and what it starts: ", "heaviest calls", "complete")


def print_report(scene, command):
    with scene.run(command, {"30s": "1s"}, "-pid %d %s" % (scene.pid, OFTEN)) as run:
        scene.done(command, run, "the selected processes: ", FUNCTION, "calls (%d)" % scene.pid)


def print_costs(scene, command):
    with scene.run(command, {"30s": "1s"}, "-pid %d %s" % (scene.pid, OFTEN)) as run:
        scene.done(command, run, "CPU time", "softirqs", FUNCTION)


def share_out_costs(scene, command):
    with scene.run(command, {"30s": "1s"}, "-pid %d %s" % (scene.pid, OFTEN)) as run:
        status = run.end()
        scene.finish(command, run, status, "nanoseconds of run-time" in run.text(), b"run-time" in gzip.decompress(scene.read("host.pb.gz")))


def estimate_energy(scene, command):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("idle 40\nfull 180\n")
        file.flush()
        with scene.run(command, {"30s": "1s", "watts.txt": file.name}, "-pid %d %s" % (scene.pid, OFTEN)) as run:
            scene.done(command, run, "CPU time", "joules", "shared out by", FUNCTION)


def watch(scene, command):
    """The live view needs a terminal, and says so where there is none."""
    with scene.run(command) as run:
        status = run.end()
        scene.shown += run.text()
        scene.tap.ok(status == 2 and "-top needs a terminal" in run.text(), command, run.text())


def dump_stacks(scene, command):
    with scene.run(command, {"1234": scene.pid}) as run:
        scene.done(command, run, "process %d calls" % scene.pid, "main (calls)", "thread %d" % scene.pid)


def read_by_go(scene, command):
    if not shutil.which("go", path=os.environ["PATH"] + ":/usr/local/go/bin"):
        scene.tap.skip(command, "no go")
        return
    address = "127.0.0.1:%d" % free_port()
    with scene.run(command, {"-http=:": "-http=%s -no_browser" % address}) as run:
        html = fetch("http://%s/ui/flamegraph" % address)
        scene.tap.ok(FUNCTION in html, command, run.text(), html[:1000])


def start_collector(scene, command, more=""):
    address = "127.0.0.1:%d" % free_port()
    run = scene.run(command, {"build/collector": "build/collector -listen " + address}, more)
    if not run.wait_for("^" + re.escape(address)):
        raise RuntimeError("the collector does not start: " + run.text())
    return run, address


def send_with_token(scene, command):
    scene.write("bearer-of-all", "Bearer " + "x" * TOKEN_BYTES)
    collector, address = start_collector(scene, "build/collector", "-tls-cert cert.pem -tls-key key.pem -print")
    with collector, scene.run(
            command, {"collector.example.com:4317": address, "/etc/token": scene.path("bearer-of-all")},
            "-duration 1s -pid %d %s" % (scene.pid, OFTEN),
            {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": scene.path("ca.pem")}) as run:
        status = run.end()
        collector.stop()
        scene.finish(command, run, status, "answer: ok" in collector.text(), SENT.search(run.text()))


def send_metrics(scene, command):
    collector, address = start_collector(scene, "build/collector", "-tls-cert cert.pem -tls-key key.pem -print")
    with collector, scene.run(command, {"collector.example.com:4317": address}, "-duration 1s -pid %d %s" % (scene.pid, OFTEN),
                              {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": scene.path("ca.pem")}) as run:
        status = run.end()
        collector.stop()
        scene.finish(command, run, status, "metrics; answer: ok" in collector.text(), SENT.search(run.text()))


def collect(scene, command):
    """The collector, and the agent that sends to it: the command after @command."""
    collector, address = start_collector(scene, command)
    with collector, scene.run(SEND_HERE, {"127.0.0.1:4317": address}, "-duration 1s -pid %d %s" % (scene.pid, OFTEN)) as run:
        scene.done(SEND_HERE, run, SENT.search)
        status = collector.stop()
        files = os.listdir(scene.path("requests"))
        scene.finish(command, collector, status, json.loads(scene.read("got.json")), scene.read("got.folded"), files)
        shutil.copy(scene.path("requests/" + sorted(files)[0]), scene.path("x.otlp"))


def read_otlp(scene, command):
    with scene.run(command) as run:
        scene.done(command, run, " samples, ", "tables: ")


def doctor(scene, command):
    with scene.run(command, more="-duration 1s") as run:
        scene.done(command, run, "kernel", "BTF", "CAP_BPF")


def show_help(scene, command):
    with scene.run(command) as run:
        scene.done(command, run, "Usage: agent", "-samples-per-second N")


def open_file(scene, command):
    with scene.run(command, more="-viewer 127.0.0.1:0") as run:
        stacks = Api(run.page() + "/").fetch("api/export?format=folded")
        scene.finish(command, run, run.stop(), FUNCTION.encode() in stacks)


def open_two_files(scene, command):
    for name in ("before.pb.gz", "after.pb.gz"):
        shutil.copy(scene.path("profile.pb.gz"), scene.path(name))
    with scene.run(command, more="-viewer 127.0.0.1:0") as run:
        status = json.loads(Api(run.page() + "/").fetch("api/status"))
        scene.finish(command, run, run.stop(), [part["name"] for part in status["parts"]] == ["before.pb.gz", "after.pb.gz"])


def report_file(scene, command):
    with scene.run(command) as run:
        scene.done(command, run, "profile.pb.gz: ", " samples", "function, by self", FUNCTION)


def compare_files(scene, command):
    with scene.run(command) as run:
        scene.done(command, run, "before: ", "no function has changed")


def serve_metrics(scene, command):
    with scene.run(command, {"127.0.0.1:9464": "127.0.0.1:0"}, "-viewer 127.0.0.1:0 -pid %d" % scene.pid) as run:
        text = fetch(run.wait_for(r"http://\S+/metrics")[0])
        scene.finish(command, run, run.stop(), "allframes_ticks_total" in text)


def make_token(scene, command):
    with scene.run(command) as run:
        status = run.end()
        scene.finish(command, run, status, len(scene.read("token")) > TOKEN_BYTES,
                     os.stat(scene.path("token")).st_mode & 0o777 == 0o600)


def show_to_others(scene, command):
    with scene.run(command, {"0.0.0.0:7171": "0.0.0.0:0"}, "-pid %d" % scene.pid) as run:
        url = re.sub("//[^:]*:", "//127.0.0.1:", run.page())
        token = scene.read("token").decode().strip()
        without = fetch(url + "/api/status")
        with_token = fetch(url + "/?token=" + urllib.request.quote(token, safe=""))
        scene.finish(command, run, run.stop(), without.startswith("status 4"), "<html" in with_token)


def receive(scene, command):
    """The agent that receives, and those of other machines that send to it: the commands after @command."""
    token = scene.read("token").decode().strip()
    scene.write("bearer", "Bearer " + token)
    with scene.run(command, {"0.0.0.0:4317": "0.0.0.0:0"},
                   "-viewer 127.0.0.1:0 -comm nobody -cache-dir %s" % scene.path("cache")) as run:
        found = run.wait_for(r" to (http://\S+) with what is sent to \S+:(\d+) \(TLS\)")
        if not scene.tap.ok(found, "it receives with TLS", run.text()):
            return
        here = {"HOST:4317": "127.0.0.1:" + found[2]}
        with scene.run(SEND, here, "-duration 1s -tags host.name:web-1 -pid %d %s" % (scene.pid, OFTEN)) as sender:
            scene.done(SEND, sender, SENT.search)
        with scene.run(UPLOAD, here) as sender:
            scene.done(UPLOAD, sender, "its symbols are sent")
        api = Api(found[1] + "/")
        hosts = {row["host"]: row["count"] for row in api.get("facets")["hosts"]}
        scene.finish(command, run, run.stop(), hosts.get("web-1"))


def with_the_other_side(scene, command):
    """collect() or receive() has run it."""


def walk_process(scene, command):
    with scene.run(command, {"PID": scene.pid}) as run:
        scene.done(command, run, "main", "_start")


def walk_core(scene, command):
    if not shutil.which("gcore"):
        scene.tap.skip(command, "no gcore")
        return
    subprocess.run(["gcore", "-o", scene.path("core"), str(scene.pid)], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    with scene.run(command, {"CORE": "core.%d" % scene.pid}) as run:
        scene.done(command, run, "main", "_start")
    with scene.run(command, {"CORE": "-interpreted -inlined core.%d" % scene.pid}) as run:
        scene.done(command + ", with its options", run, "main")


def show_rows(scene, command):
    with scene.run(command, {"FILE": "build/server"}) as run:
        scene.done(command, run, "cfa=", "ra=")


def show_unsupported(scene, command):
    with scene.run(command, {"/usr": "/usr/sbin"}) as run:
        scene.done(command, run, "total: ")


def name_addresses(scene, command):
    text = subprocess.run(["nm", scene.path("build/server")], stdout=subprocess.PIPE, text=True, check=True).stdout
    address = re.search(r"^([0-9a-f]+) T main$", text, re.M)[1]
    with scene.run(command, {"FILE": "build/server", "ADDR...": "0x" + address}) as run:
        scene.done(command, run, "main")


def show_file(scene, command):
    with scene.run(command, {"FILE": "build/server"}) as run:
        scene.done(command, run, "build id ", "file id ", "symbol")


def measure_file(scene, command):
    with scene.run(command, {"FILE": "build/server"}) as run:
        scene.done(command, run, " s ", " bytes ", " ns a look-up")


def make_legal(scene, command):
    # -o: whatever has changed since, nothing is built beside the tests that run.
    with scene.run(command, {"make": "make -o build/agent"}, directory=ROOT) as run:
        scene.done(command, run, "Apache-2.0", "GPL-2.0-only", "Loaded at run time:")


def make_install(scene, command):
    top = scene.path("installed")
    with scene.run(command, {"make": "make -o build/agent -o build/options_manual -o build/options_completion"}, "DESTDIR=%s PREFIX=/usr/local" % top, directory=ROOT) as run:
        status = run.end()
        folder = os.path.join(top, "usr/local/share/doc/allframes")
        programs = [os.path.join(top, "usr/local/bin", name) for name in ("allframes", "allframes-agent")]
        versions = [subprocess.run([program, "-version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
                    for program in programs]
        scene.finish(command, run, status, [version[0] for version in versions] == ["allframes", "allframes-agent"],
                     versions[0][1] == versions[1][1],
                     *[os.path.isfile(os.path.join(top, "usr/local/share", name)) for name in (
                         "man/man1/allframes.1", "man/man1/allframes-agent.1", "bash-completion/completions/allframes",
                         "bash-completion/completions/allframes-agent", "zsh/site-functions/_allframes",
                         "fish/vendor_completions.d/allframes.fish")],
                     *[os.path.isfile(os.path.join(folder, name)) for name in (
                         "LICENSE", "LICENSES-page.txt", *DOCUMENTS, *pictures())])
    broken = [link for path in DOCUMENTS for link in broken_links(folder, path)
              if os.path.normpath(os.path.join(os.path.dirname(path), link)) not in OF_THE_SOURCES]
    scene.tap.ok(not broken, "what is installed has all that its documents and pictures are linked to", *broken)


# --- why others are not run ---

class Elsewhere:
    """It is run by the test of this path."""

    def __init__(self, test, words):
        self.test = test
        # Stand in the test: a tool's name.
        self.words = words

    def check(self, scene, command):
        path = os.path.join(ROOT, self.test)
        scene.tap.ok(os.access(path, os.X_OK) and self.words in read(self.test), "%s is run by %s" % (command, self.test))


class Lacks:
    """A test machine cannot run it."""

    def __init__(self, why):
        self.why = why

    def check(self, scene, command):
        scene.tap.skip(command, self.why)


SEND_HERE = "build/agent -collection-agent 127.0.0.1:4317 -disable-tls"
SEND = ("build/agent -collection-agent HOST:4317 -tls-ca ca.pem -header authorization=@bearer -with-cpu -symbolize full")
UPLOAD = ("build/agent -collection-agent HOST:4317 -tls-ca ca.pem -header authorization=@bearer "
          "-upload-symbols build/server")

# Every command of the documents, in the order in which they are run.
COMMANDS = {
    "make run": make_run,
    "make test": Lacks("it is what runs this test"),
    "make test-long": Lacks("it takes hours"),
    "make bench": Lacks("it needs a machine with nothing else to do"),
    "make docs": Elsewhere("agent/tests/options_document_test.py", "options_markdown"),
    "make legal": make_legal,
    "make install": make_install,
    "build/agent -help": show_help,
    "build/agent -doctor": doctor,
    "build/agent -- make -j4": profile_command,
    "build/agent -report -duration 30s": print_report,
    "build/agent -accounting -duration 30s": print_costs,
    "build/agent -weight run-time -duration 30s -output host.pb.gz": share_out_costs,
    "build/agent -accounting -energy-file watts.txt -duration 30s": estimate_energy,
    "build/agent -top": watch,
    "build/agent -dump 1234": dump_stacks,
    "build/agent -pid 1234 -duration 10s -output profile.pb.gz -output profile.html": record_files,
    "go tool pprof -http=: profile.pb.gz": read_by_go,
    "build/agent -open profile.pb.gz": open_file,
    "build/agent -open before.pb.gz -open after.pb.gz": open_two_files,
    "build/agent -open profile.pb.gz -report -type samples": report_file,
    "build/agent -diff before.pb.gz after.pb.gz -fail-above 5%": compare_files,
    "build/agent -metrics 127.0.0.1:9464": serve_metrics,
    "build/agent -collection-agent collector.example.com:4317 -header authorization=@/etc/token": send_with_token,
    "build/agent -collection-agent collector.example.com:4317 -metrics-interval 30s": send_metrics,
    "build/collector -print -folded got.folded -report got.json -save requests/": collect,
    SEND_HERE: with_the_other_side,
    "build/collector -print x.otlp": read_otlp,
    "head -c 24 /dev/urandom | base64 >token; chmod 600 token": make_token,
    "build/agent -viewer 0.0.0.0:7171 -viewer-token-file token": show_to_others,
    "build/agent -receive 0.0.0.0:4317 -receive-tls-cert cert.pem -receive-tls-key key.pem -receive-token-file token":
        receive,
    SEND: with_the_other_side,
    UPLOAD: with_the_other_side,
    'docker build -f docker/Dockerfile --build-arg VERSION="$(git describe --always)" -t allframes .':
        Lacks("it needs docker; integration/image_test.py, of the long tier, executes the file"),
    "docker compose -f docker/compose.yaml up --build":
        Lacks("it needs docker; docker/tests/files_test.py reads the file"),
    "build/walk_process PID": walk_process,
    "build/walk_core CORE": walk_core,
    "build/walk_core_arm64": Elsewhere("integration/arm64_test.py", "walk_core_arm64"),
    "build/v8_stack PID|CORE": Elsewhere("integration/javascript_stack_test.py", "v8_stack"),
    "build/stack_deltas -rows FILE": show_rows,
    "build/stack_deltas -unsupported /usr": show_unsupported,
    "build/symbols -f -i -C FILE ADDR...": name_addresses,
    "build/symbols FILE": show_file,
    "build/symbols -bench FILE": measure_file,
}

# Lines of output in the documents; each has the shape of a line that came.
SHOWN = [
    "info: sampling all processes on 8 CPUs 99 times a second to http://127.0.0.1:7171; Ctrl-C or SIGTERM stops",
    "22:24:00 ipv4:127.0.0.1:53164: 3920 bytes, 9610 raw: 20 samples, 2 profiles (0 repeated), 2 resources; answer: ok",
    "resource: 18 samples, service.name=shop host.name=web-3 host.id=3d1219c7c4c5404aaa1f6d2a48adfda4 host.arch=amd64 os.type=linux",
    "resource: 2 samples, service.name=unknown_service:cron host.name=web-3 host.id=3d1219c7c4c5404aaa1f6d2a48adfda4 host.arch=amd64 os.type=linux",
    "tables: 17 stacks, 160 locations, 11 functions, 18 mappings, 91 attributes, 40 strings, 1 links",
]


def shape_of(line):
    """A pattern of lines that differ from @line in numbers and values only, or are of a machine that has no id."""
    pattern = re.sub(r"\d+", r"\\d+", re.sub(r"=\S+", r"=\\S+", re.escape(line).replace(r"\ ", " ")))
    return re.compile("^ *%s$" % re.sub(r" host\\.id=\\S\+", r"(?:\g<0>)?", pattern), re.M)


def check_tables(tap):
    found = {command: path for path in DOCUMENTS for command in commands_of(path)}
    unknown = ["%s: %s" % (path, command) for command, path in found.items()
               if command not in COMMANDS and command not in SHOWN]
    tap.ok(not unknown, "every command of the documents is in the table of this test", *unknown)
    unused = [line for line in [*COMMANDS, *SHOWN] if line not in found]
    tap.ok(not unused, "and the table has no others", *unused)


# --- links, pictures and sizes ---

def pictures():
    return [os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "docs", "*.png"))]


def anchors_of(text):
    """Names of a document's headings in addresses."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall("^#+ (.*)$", text, re.M)}


def broken_links(folder, path):
    """Links of the document @path in @folder to what is not there."""
    with open(os.path.join(folder, path), encoding="utf-8") as file:
        text = file.read()
    for link in LINK.findall(text):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = os.path.join(folder, os.path.dirname(path), name) if name else os.path.join(folder, path)
        if not os.path.exists(target):
            yield link
        elif anchor:
            with open(target, encoding="utf-8") as file:
                if anchor not in anchors_of(file.read()):
                    yield link


def check_files(tap):
    broken = ["%s: %s" % (path, link) for path in DOCUMENTS for link in broken_links(ROOT, path)]
    tap.ok(not broken, "links of the documents lead somewhere", *broken)
    readme = read("README.md")
    tap.ok(len(readme.encode()) <= README_MAX_BYTES, "README.md is short", len(readme.encode()))
    texts = "".join(map(read, DOCUMENTS))
    for path in pictures():
        size = os.stat(os.path.join(ROOT, path)).st_size
        tap.ok(size <= PICTURE_MAX_BYTES and os.path.basename(path) in texts,
               "%s is small, and a document has it" % path, size)


def main():
    tap = Tap()
    check_tables(tap)
    check_files(tap)
    need_root(tap, "commands of the documents")
    build_targets.build(["calls"])
    with contextlib.ExitStack() as stack:
        scene = Scene(tap, stack.enter_context(tempfile.TemporaryDirectory(prefix="allframes-documents-")),
                      stack.enter_context(Certificates()), stack.enter_context(Program(TARGETS["calls"].path)))
        stack.enter_context(paced([scene.pid]))
        for command, entry in COMMANDS.items():
            begin = time.monotonic()
            (entry if callable(entry) else entry.check)(scene, command)
            tap.note("%.1f s: %s" % (time.monotonic() - begin, command))
        missing = [line for line in SHOWN if not shape_of(line).search(scene.shown)]
        tap.ok(not missing, "what they show as output is what comes", *missing)
    tap.finish()


if __name__ == "__main__":
    main()
