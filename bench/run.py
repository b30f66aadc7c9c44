#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how fast the agent is, as ratios from one run; absolute figures are this machine's.

The base of the BPF rows is the same program built with frame pointers, unwound by the kernel's
bpf_get_stack at the same depth (base_unwind.bpf.c); times are the kernel's own (bpf_stats_enabled).
The time of tail-called programs is booked on the program that was entered. Needs root and an
otherwise quiet machine: the program under profile has the last CPU to itself.
"""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build_side
import cost_side
import go_side
import harm_side
import java_side
import javascript_side
import kernel_side
import otlp_side
import page_side
import python_side
import script_side
import start_side
import symbol_side
import throughput
import user_side
from tools import Table, build_all, quiet

ROUNDS = 3


def median_of(measure, *arguments):
    """The median of some rounds."""
    return statistics.median(measure(*arguments) for _ in range(ROUNDS))


def bench_unwinds(table):
    """ns per native frame, and what a sample costs without its frames."""
    module = kernel_side.frame_unwind("depth", (20, 100))
    hops = kernel_side.frame_unwind("hops", (0, 30))
    table.ratio("BPF ns per native frame, one module", module.ratio * module.base_ns,
                module.base_ns, 1.5, "ns")
    table.ratio("the same, 30 frames over 5 shared objects", hops.ratio * hops.base_ns,
                hops.base_ns, 2.0, "ns")
    table.limit("BPF time per sample without frames (user part)", module.agent_fixed_ns / 1000, 2,
                "us")
    table.note("bpf_get_stack without frames", "%.2f us" % (module.base_fixed_ns / 1000))

    unwind = kernel_side.kernel_unwind()
    table.ratio("kernel unwind beside bare bpf_get_stack", unwind.ratio * unwind.base_ns, unwind.base_ns,
                1.1, "ns")
    table.note("a whole sample in the kernel, one call deep", "%.2f us" % (unwind.whole_ns / 1000))


def bench_python(table):
    """ns per Python frame, where calls from Python to Python add no native frames."""
    native = python_side.native_slope(median_of)
    different_native = python_side.different_native_slope(median_of)
    for version, time_ns, different_ns in python_side.slopes(median_of):
        name = "BPF ns per frame of Python %s beside a native one" % version
        table.ratio(name, time_ns, native, 3.0, "ns")
        table.ratio("the same, no function twice in both", different_ns, different_native, 3.0, "ns")


def bench_go(table):
    """ns per frame of Go; Go's table, names and lines counted in, passed over once for its rows."""
    if not go_side.machines_go():
        table.note("Go", "this machine has none")
        return
    go_side.build()
    native = python_side.native_slope(median_of)
    table.ratio("BPF ns per frame of Go beside a native one", go_side.slope(median_of), native, 3.0,
                "ns")
    for name, table_mb, speed in go_side.table_figures():
        table.at_least("Go's table, %s (%.1f MB)" % (name, table_mb), speed, 200, "MB/s")


def bench_java(table):
    """ns per frame of Java's methods."""
    native = python_side.native_slope(median_of)
    different_native = python_side.different_native_slope(median_of)
    for java, mode, time_ns, different_ns in java_side.slopes(median_of):
        name = "BPF ns per %s frame of Java, %s, beside a native one" % (mode, java)
        table.ratio(name, time_ns, native, 3.0, "ns")
        table.ratio("the same, nothing twice in both", different_ns, different_native, 3.0, "ns")


def bench_javascript(table):
    """ns per frame of JavaScript's functions."""
    native = python_side.native_slope(median_of)
    different_native = python_side.different_native_slope(median_of)
    for node, mode, time_ns, different_ns in javascript_side.slopes(median_of):
        table.ratio("BPF ns per frame of JavaScript, %s, %s, beside a native one" % (node, mode), time_ns, native, 3.0,
                    "ns")
        table.ratio("the same, no function twice in both", different_ns, different_native, 3.0, "ns")


def bench_scripts(table):
    """ns per frame of functions of Ruby, PHP and Perl."""
    native = python_side.native_slope(median_of)
    different_native = python_side.different_native_slope(median_of)
    for language, name, time_ns, different_ns in script_side.slopes(median_of):
        table.ratio("BPF ns per frame of %s, %s, beside a native one" % (language, name), time_ns, native, 3.0, "ns")
        table.ratio("the same, no function twice in both", different_ns, different_native, 3.0, "ns")


def bench_tables(table):
    """From .eh_frame to rows."""
    for figure in user_side.eh_frame_figures():
        speed, row_bytes, name = figure
        table.at_least(".eh_frame to rows, %s" % name, speed, 300, "MB/s")
        table.limit("bytes per row, %s" % name, row_bytes, 4, "B")


def bench_cache(table):
    """CPU time for the rows of all ELF files of /usr."""
    gain = user_side.cache_gain()
    table.note("rows of /usr's %d files: CPU to make them, to load them from the disk cache" %
               gain.files, "%.2f s, %.2f s (tables read in %.2f s)" %
               (gain.made_seconds, gain.kept_seconds, gain.read_seconds))


def bench_samples(table):
    hit = user_side.cpu_per_sample(["depth", 20])
    table.limit("user CPU per sample on a cache hit", hit.user_us, 3, "us")
    table.note("with system time", "%.2f us, hit rate %.2f %%" % (hit.total_us, hit.hit_percent))
    new = user_side.cpu_per_sample(["paths"])
    per_trace = (new.user_us - hit.user_us) / max(1 - new.hit_percent / 100, 0.01)
    table.limit("user CPU per new trace", per_trace + hit.user_us, 30, "us")
    table.note("of these samples new", "%.2f %%" % (100 - new.hit_percent))
    for name, command in python_side.paths_programs() + java_side.paths_programs():
        new = user_side.cpu_per_sample([command])
        table.note("CPU per sample of %s, nearly every trace new, with that of processes that read its memory" % name,
                   "%.1f us, hit rate %.2f %%" % (new.total_us, new.hit_percent))


def bench_churn(table):
    for name, command in (("exec", ["churn", "exec", user_side.CHURN_RATE]),
                          ("mapping", ["churn", "map", user_side.CHURN_RATE, "/bin/true"])):
        table.note("CPU per %s, user and system" % name,
                   "%.1f us" % (user_side.cpu_per_event(command) * 1e6))


def bench_harm(table):
    """How much other programs lose, at both usual rates, on a machine whose CPUs are all theirs and the agent's."""
    with start_side.all_cpus():
        speeds = {rate: harm_side.left_speeds(rate) for rate in (19, 97)}
    for rate, left in speeds.items():
        for work, part in left.items():
            table.at_least("left of the speed of others: %s, at %d Hz" % (work, rate), 100 * part,
                           100 * harm_side.WORKS[work], "%")


def bench_build(table):
    """How much more CPU time a build takes, that of the agent counted in."""
    with start_side.all_cpus():
        costs = build_side.costs((19, 97))
    for rate, cost in costs.items():
        table.limit("CPU of a build of small files with the agent at %d Hz, its own counted in, beside without" % rate,
                    cost.whole_percent, 1.5, "% more")
        parts = cost.agent_percent, cost.programs_percent, cost.side_band_percent
        table.limit("the same, the sum of its parts", sum(parts), 1.5, "% more")
        table.note("the parts: the agent, its kernel programs, records of mappings", "%.2f %%, %.2f %%, %.2f %%" % parts)


def bench_execs(table):
    # A sample of a new program costs more than the exec: the target is for the usual rate.
    for rate, target in ((19, 4), (97, None)):
        figures = harm_side.exec_figures(rate)
        name = "%.0f execs/s: the agent at %d Hz" % (figures.per_second, rate)
        if target:
            table.limit(name, figures.core_percent, target, "% of a core")
        else:
            table.note(name, "%.2f %% of a core" % figures.core_percent)
        table.limit("the same: BPF per exec and exit", figures.bpf_us, 5, "us")
        table.limit("the same: RssAnon", figures.rss_anon_mb, 22, "MB")
        table.at_least("the same: samples of ls that are complete", figures.ls_complete_percent, 90,
                       "%")


def bench_mix(table):
    mix = user_side.mix_figures()
    table.note("busy mix: hash cache hit rate", "%.1f %%" % mix.hit_percent)
    table.note("busy mix: conversions per sample", "%.3f" % mix.conversions_per_sample)
    table.note("busy mix: samples from before their process was known",
               "%.1f %%" % mix.before_known_percent)


def bench_start(table):
    cold, warm = user_side.start_figures()
    table.limit("start until 300 processes are in the maps, cold", cold.seconds, 3, "s")
    table.limit("the same, with the disk cache", warm.seconds, 1, "s")
    table.note("these processes map", "%d files, %.1f MB of .eh_frame" %
               (cold.files, cold.eh_frame_mb))
    table.limit("RssAnon of the agent", cold.rss_anon_mb, 40, "MB")
    table.limit("BPF map memory", cold.map_mb, 60, "MB")


def bench_first_seconds(table):
    """How many of the clock's ticks from the agent's exec on are complete, and the start of a large program."""
    with start_side.all_cpus():
        cold, warm = start_side.busy_figures()
        quiet_start = start_side.quiet_figures()
        large = start_side.large_figures()
    for name, start, first, later in (("without", cold, 80, 95), ("with", warm, 90, 98)):
        table.at_least("busy machine, %s a disk cache: ticks complete in second %d" %
                       (name, start_side.FIRST_SECOND), start.first_percent, first, "%")
        table.at_least("the same in second %d" % start_side.LATER_SECOND, start.later_percent, later, "%")
        table.limit("CPU at raised priority until then", start.raised_seconds, 1, "s")
    table.limit("quiet machine: exec to the first complete sample",
                quiet_start.first_complete_seconds, 1.5, "s")
    if not large:
        table.note("start of a large program", "this machine has no Chromium")
        return
    table.limit("start of Chromium (%d samples): unwind rows not loaded" % large.samples,
                large.not_loaded_percent, 2, "%")
    table.limit("the agent's CPU for it", large.agent_seconds, 0.2, "s")


def bench_throughput(table):
    """Of a server on all CPUs, by pairs of intervals: it takes minutes."""
    loss = throughput.measure()
    if not loss:
        table.note("throughput of Java", "this machine has no JDK")
        return
    table.limit("throughput that a server in Java loses at %d Hz" % throughput.RATE,
                loss.sampling_percent + loss.idle_percent, 1, "%")
    table.note("of these CPU of the agent while it does not sample", "%.2f %%" % loss.idle_percent)
    table.limit("half of the 95 %% interval of the mean of %d pairs" % loss.pairs,
                loss.half_width_percent, throughput.PRECISION_PERCENT, "%")


def bench_symbols(table):
    """Symbol caches of large files, and both making and look-ups beside addr2line."""
    for name, names in symbol_side.figures():
        table.note("names of %s (%.0f MB): CPU, symbol cache, look-up" % (name, names.file_mb),
                   "%.2f s, %.1f MB, %d ns" % (names.seconds, names.cache_mb, names.lookup_ns))
        table.limit("memory for it", names.memory_mb, symbol_side.MEMORY_MAX_MB, "MB")
        table.ratio("CPU for %d addresses of it in one batch beside addr2line -f -i -C" %
                    symbol_side.ADDRESSES, names.batch_seconds, names.addr2line_seconds, 0.5, "s")


def bench_otlp(table):
    weights = otlp_side.weights()
    for one, weight in weights.items():
        table.note("OTLP bytes per sample, %d Hz, %d s, by %s" % one, "%.1f (before gzip %.1f)" %
                   (weight.bytes_per_sample, weight.raw_bytes_per_sample))
    first = next(iter(weights))
    for key, cost in sorted(weights[first].attributes.items(), key=lambda item: -item[1]):
        table.note("of these %s, %d Hz, %d s, by %s" % (key, *first), "%.2f" % cost)


def bench_page(table):
    """The viewer's page with 100,000 distinct stacks, the server's time in it; and what a live one costs."""
    figures = page_side.figures(ROUNDS)
    if not figures:
        table.note("the viewer's page", "this machine has no Chromium")
        return
    table.limit("page interactive, 100,000 distinct stacks", figures.interactive_ms / 1000, 1, "s")
    table.note("a click until it has zoomed; a search until it is shown",
               "%.0f ms; %.0f ms" % (figures.zoom_ms, figures.search_ms))
    live = page_side.live_figures()
    table.limit("the agent with the page open for %d s" % page_side.OPEN_SECONDS, live.core_percent,
                2, "% of a core")
    table.limit("the same: RssAnon at most", live.rss_anon_mb, 150, "MB")


def bench_costs(table):
    """What -accounting costs at a switch of tasks."""
    figures = cost_side.figures(median_of)
    table.limit("-accounting: BPF time per switch of tasks, without counters", figures.program_ns, 150, "ns")
    table.limit("the same, with four counters (software events)", figures.counters_ns, 450, "ns")
    table.note("the same: a program that does nothing, which is not counted in", "%.0f ns" % figures.empty_ns)
    table.note("the same: a switch between two processes, and how much longer it takes",
               "%.0f ns, %.0f ns" % (figures.switch_ns, figures.added_ns))


PARTS = {
    "unwinds": bench_unwinds,
    "python": bench_python,
    "go": bench_go,
    "java": bench_java,
    "javascript": bench_javascript,
    "scripts": bench_scripts,
    "tables": bench_tables,
    "cache": bench_cache,
    "samples": bench_samples,
    "churn": bench_churn,
    "harm": bench_harm,
    "build": bench_build,
    "costs": bench_costs,
    "execs": bench_execs,
    "mix": bench_mix,
    "start": bench_start,
    "first": bench_first_seconds,
    "otlp": bench_otlp,
    "symbols": bench_symbols,
    "page": bench_page,
    "throughput": bench_throughput,
}


def main():
    if os.geteuid() != 0:
        sys.exit("bench: needs root")
    wanted = sys.argv[1:] or list(PARTS)
    build_all()
    begin = time.monotonic()
    table = Table()
    with quiet():
        for name in wanted:
            PARTS[name](table)
    table.print()
    print("%d s" % (time.monotonic() - begin))


if __name__ == "__main__":
    main()
