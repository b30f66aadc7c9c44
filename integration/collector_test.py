#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build/collector as people run it: options, files, TLS, exit status."""
import os
import socket
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Tap
from otlp_collector import (BROKEN_RULES_STATUS, COLLECTOR, Certificates, Collector, read_requests)

SEED = os.path.join(ROOT, "testdata/seeds/otlp_message/all_tables")


def run(*words):
    return subprocess.run([COLLECTOR, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=20, check=False)


def check_options(tap):
    result = run("-help")
    tap.ok(result.returncode == 0 and "usage: collector" in result.stdout, "-help", result)
    result = run("--rules")
    numbers = [int(line.split()[0]) for line in result.stdout.splitlines()]
    tap.ok(result.returncode == 0 and numbers == list(range(1, len(numbers) + 1))
           and len(numbers) >= 46, "-rules numbers every rule", result)
    for words in (["-no-such-option"], ["-answers", "okay"], ["-tls-cert", "x"],
                  ["-client-ca", "x"], ["-listen"]):
        result = run(*words)
        tap.ok(result.returncode == 2 and result.stderr.count("\n") == 1,
               "wrong usage: %s" % " ".join(words), result)
    for words in (["-tls-cert", "/no/such", "-tls-key", "/no/such"], ["/no/such"],
                  ["-names", "/no/such"], ["-save", "/no/such/folder"]):
        result = run(*words)
        tap.ok(result.returncode == 1 and "/no/such" in result.stderr,
               "a file that is not there: %s" % " ".join(words), result)


def check_files(tap):
    received = read_requests([SEED], "-print")
    # The file is from before errors had numbers.
    tap.ok(received.status == BROKEN_RULES_STATUS and sorted(received.broken_rules) == ["25", "43"],
           "a file that breaks a rule", received.report)
    tap.ok("rule 43 broken 1 times" in received.log and "4 samples" in received.log,
           "-print says which", received.log)
    tap.ok(sum(received.stacks.values()) == 4, "its stacks are folded", received.stacks)
    received = read_requests([SEED, SEED])
    tap.ok(received.samples_all == 8 and received.samples_once == 4, "repeats are folded",
           received.report)
    with tempfile.NamedTemporaryFile() as file:
        file.write(os.urandom(5000))
        file.flush()
        received = read_requests([file.name])
    tap.ok(received.status == BROKEN_RULES_STATUS and received.samples_once == 0,
           "random bytes break rules and nothing else", received.report)


def check_server(tap):
    with Collector() as collector:
        received = collector.look()
        tap.ok(received.requests == 0 and not received.stacks, "SIGUSR1 writes what is there",
               received.report)
        result = run("-listen", collector.address)
        tap.ok(result.returncode == 1 and "cannot listen on " + collector.address in result.stderr,
               "a port that is taken", result)
        received = collector.stop()
        tap.ok(received.status == 0, "SIGTERM ends it", received.log)


def handshake(address, ca):
    """True if the server at @address has a certificate of @ca and speaks HTTP/2."""
    context = ssl.create_default_context(cafile=ca)
    context.set_alpn_protocols(["h2"])
    host, port = address.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port)), 5) as connection:
            with context.wrap_socket(connection, server_hostname=host) as secured:
                return secured.selected_alpn_protocol() == "h2"
    except OSError:
        return False


def check_tls(tap):
    with Certificates() as certificates:
        certificate, key = certificates.make("server")
        tls = ["-tls-cert", certificate, "-tls-key", key]
        with Collector(*tls) as collector:
            tap.ok(handshake(collector.address, certificates.ca),
                   "it speaks TLS with its certificate")
            other = certificates.other_ca()
            tap.ok(not handshake(collector.address, other),
                   "whoever trusts another authority goes away")
        with Collector() as collector:
            tap.ok(not handshake(collector.address, certificates.ca),
                   "without a certificate it speaks plain text")


def check_hostile_clients(tap):
    with Collector() as collector:
        host, port = collector.address.rsplit(":", 1)
        for text in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(10000), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                     + os.urandom(1000)):
            with socket.create_connection((host, int(port)), 5) as connection:
                connection.settimeout(1)
                try:
                    connection.sendall(text)
                    connection.recv(10)
                except OSError:
                    pass
        received = collector.stop()
        tap.ok(received.status == 0 and received.requests == 0, "bytes that are no gRPC do no harm",
               received.log)


def main():
    tap = Tap()
    check_options(tap)
    check_files(tap)
    check_server(tap)
    check_tls(tap)
    check_hostile_clients(tap)
    tap.finish()


if __name__ == "__main__":
    main()
