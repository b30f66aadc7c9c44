// SPDX-License-Identifier: Apache-2.0
#include "agent/option_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/option_collector.h"
#include "agent/option_destination.h"
#include "agent/option_selection.h"
#include "agent/option_values.h"
#include "ebpf/abi/config.h"
#include "ebpf/abi/slab.h"
#include "interpreters/registry.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text_builder.h"
#include "lib/model/languages.h"

static int set_seed(struct options *options, const struct setting *setting)
{
	if (option_parse_number(setting->text, &options->probabilistic_seed))
		return option_refuse(setting, "give a number from 0 to %llu",
				     (unsigned long long)UINT64_MAX);
	options->has_probabilistic_seed = true;
	return 0;
}

/* Adds a language; `native`, which is always on, adds nothing. -ENOENT for unknown names. */
static int add_tracer(const char *name, uint32_t *tracers)
{
	if (!strcmp(name, "native"))
		return 0;
	if (!strcmp(name, "all")) {
		*tracers = LANGUAGES_ALL;
		return 0;
	}
	for (uint32_t i = 0; i < LANGUAGE_COUNT; i++) {
		if (!strcmp(language_ids[i].name, name)) {
			*tracers |= 1U << i;
			return 0;
		}
	}
	return -ENOENT;
}

static int refuse_tracers(const struct setting *setting)
{
	return option_refuse(setting, "give all, or a list of: native" LANGUAGE_NAMES_LISTED);
}

static int set_tracers(struct options *options, const struct setting *setting)
{
	_cleanup_(free_pointer) char *text = strdup(setting->text);
	char *rest = text;
	uint32_t tracers = 0;
	char *name;

	if (!text)
		return option_out_of_memory();
	while ((name = strsep(&rest, ","))) {
		if (add_tracer(name, &tracers))
			return refuse_tracers(setting);
	}
	options->tracers = tracers;
	return 0;
}

static int set_log_level(struct options *options, const struct setting *setting)
{
	static const char *const names[] = {
		[LOG_ERROR] = "error",
		[LOG_WARN] = "warn",
		[LOG_INFO] = "info",
		[LOG_DEBUG] = "debug",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(setting->text, names[i]) == 0) {
			options->log_level = i;
			return 0;
		}
	}
	return option_refuse(setting, "give error, warn, info or debug");
}

static int set_action(struct options *options, const struct setting *setting,
		      enum options_action action)
{
	bool flag;
	int error = option_read_flag(setting, &flag);

	if (!error && flag)
		options->action = action;
	return error;
}

static int set_version(struct options *options, const struct setting *setting)
{
	return set_action(options, setting, OPTIONS_SHOW_VERSION);
}

static int set_help(struct options *options, const struct setting *setting)
{
	return set_action(options, setting, OPTIONS_SHOW_HELP);
}

const char option_rules[] =
	"Options take one dash or two, `-name=value` or `-name value`. Each can also come from the "
	"environment as `ALLFRAMES_NAME` (upper case, `_` for `-`; empty means unset), such as "
	"`ALLFRAMES_SAMPLES_PER_SECOND=99`; the command line has precedence. The "
	"collector can also come from `OTEL_EXPORTER_OTLP_ENDPOINT` and its like. Durations: `100ms`, `5s`, `2m30s`, `1h`. "
	"Sizes: `K`, `M`, `G`.";

const char option_command_text[] =
	"Behind `--` stands a command with its arguments: `allframes -- make -j4`. It is profiled from its exec to its end, "
	"with all that it starts, 99 times a second unless `-samples-per-second` says otherwise. It has the ids, "
	"capabilities, signals, limits and standard streams of the caller. If the agent cannot start, the command is not "
	"started. Without another destination a report is printed, to standard error if standard output is no terminal.";

const char option_signals[] =
	"The first SIGINT, SIGTERM or SIGHUP (a closed terminal) stops the agent within 5 seconds, "
	"with the outputs written and the rest sent, as far as the collector takes it. A second SIGINT "
	"or SIGTERM stops it at once; a second SIGHUP does nothing. Under `nohup` SIGHUP is ignored. While a command is profiled, these signals are the command's: "
	"what is typed reaches it by itself, what a process sends is passed on to it, and the agent stops when the command "
	"has ended.";

const char option_statuses[] =
	"Exit status: 0 done, 1 failed while running, 2 wrong usage, 3 missing privilege or kernel "
	"feature, 4 a function grew by more than `-fail-above` allows; after a run with a command that of the command, or "
	"128 + N if signal N has ended it, 127 if it was not found, 126 if it cannot be executed. One line on standard error says "
	"what is wrong and what to do.";

const struct option option_table[] = {
	{
		.name = "collection-agent",
		.group = OPTION_COLLECTOR,
		.brief = "send profiles to this collector (OTLP/gRPC)",
		.value_name = "HOST[:PORT]",
		.meaning =
			"Send profiles to this collector, by OTLP over gRPC. The default port is 4317; IPv6 is `[::1]:4317`.",
		.details = "See [Sending to a collector](collectors.md).",
		.set = option_set_collector,
	},
	{
		.name = "disable-tls",
		.group = OPTION_COLLECTOR,
		.brief = "talk to the collector in plain text",
		.meaning = "Talk to the collector in plain text.",
		.set = option_set_disable_tls,
	},
	{
		.name = "tls-ca",
		.group = OPTION_COLLECTOR,
		.brief = "trust the CA certificates in this PEM file",
		.value_name = "FILE",
		.otherwise = "the system's",
		.meaning = "Trust the CA certificates in this PEM file.",
		.set = option_set_path,
		.offset = offsetof(struct options, collector.tls_ca),
	},
	{
		.name = "tls-cert",
		.group = OPTION_COLLECTOR,
		.brief = "client certificate with its chain, as PEM",
		.value_name = "FILE",
		.meaning = "Client certificate with its chain, as PEM.",
		.set = option_set_path,
		.offset = offsetof(struct options, collector.tls_cert),
	},
	{
		.name = "tls-key",
		.group = OPTION_COLLECTOR,
		.brief = "key of the client certificate, as PEM",
		.value_name = "FILE",
		.meaning = "Key of the client certificate, as PEM.",
		.set = option_set_path,
		.offset = offsetof(struct options, collector.tls_key),
	},
	{
		.name = "header",
		.group = OPTION_COLLECTOR,
		.brief = "send this header with every call; repeatable",
		.value_name = "KEY=VALUE",
		.meaning =
			"Send this header with every call; may be repeated. The value `@FILE` is read from a file, for "
			"each call.",
		.set = option_set_header,
	},
	{
		.name = "reporter-interval",
		.group = OPTION_COLLECTOR,
		.brief = "interval between requests",
		.value_name = "D",
		.initial = "5s",
		.meaning = "Interval between requests to the collector, 100ms to 24h.",
		.set = option_set_duration,
		.offset = offsetof(struct options, collector.interval_ns),
		.minimum = 100 * NS_PER_MS,
		.maximum = 24 * NS_PER_HOUR,
	},
	{
		.name = "reporter-jitter",
		.group = OPTION_COLLECTOR,
		.brief = "vary each interval by up to this fraction",
		.value_name = "J",
		.initial = "0.2",
		.meaning = "Vary each interval at random by up to this fraction, 0 to 1.",
		.set = option_set_fraction,
		.offset = offsetof(struct options, collector.jitter),
	},
	{
		.name = "resource-grouping",
		.group = OPTION_COLLECTOR,
		.brief = "by process, container, service",
		.value_name = "BY",
		.choices = "process container service",
		.initial = "container",
		.meaning =
			"What one OTLP resource stands for: `process`, `container` or `service`.",
		.set = option_set_grouping,
	},
	{
		.name = "with-cpu",
		.group = OPTION_COLLECTOR,
		.brief = "send the CPU of each sample too",
		.meaning = "Send the CPU of each sample too.",
		.details = "Fewer samples are equal then, so more bytes are sent.",
		.set = option_set_switch,
		.offset = offsetof(struct options, collector.with_cpu),
	},
	{
		.name = "with-command-lines",
		.group = OPTION_COLLECTOR,
		.brief = "send command lines of processes too",
		.meaning =
			"Send command lines of processes too, write them into OTLP files, and show them on a page that other "
			"machines can reach. They can hold secrets.",
		.details = "A page at a loopback address always shows them.",
		.set = option_set_switch,
		.offset = offsetof(struct options, with_command_lines),
	},
	{
		.name = "symbolize",
		.group = OPTION_COLLECTOR,
		.brief = "native names: none, symtab, full",
		.value_name = "HOW",
		.choices = "none symtab full",
		.initial = "none",
		.meaning =
			"Names of native code to send to the collector: `none` (only Go and code made at run time have "
			"names), `symtab` (functions from symbol tables) or `full` (also inlined functions, files and "
			"lines, from debug data). File and address are always sent. Outputs are always `full`.",
		.details = "Names of code made at run time come from perf maps and jitdump files.",
		.set = option_set_symbolize,
	},
	{
		.name = "output",
		.letter = 'o',
		.group = OPTION_DESTINATION,
		.brief = "write this file at the end; repeatable",
		.value_name = "PATH",
		.meaning =
			"Write the profile to this file at the end; may be repeated. Format by suffix: `.pb.gz` pprof, `.folded` "
			"folded stacks, `.txt` stack table, `.otlp` one OTLP message, `.html` and `.svg` a flame graph in one "
			"file, `.speedscope.json` for speedscope, `.firefox.json` for the Firefox profiler and Perfetto, "
			"`.afdo.txt` for compilers (AutoFDO). `-` writes folded stacks to standard output.",
		.details =
			"Tools for flame graphs read folded stacks. The HTML file can be zoomed and searched, and needs no "
			"other file. Paths are checked at the start; a file appears when it is complete.",
		.set = option_set_output,
	},
	{
		.name = "report",
		.group = OPTION_DESTINATION,
		.brief = "print a report at the end",
		.otherwise =
			"on a terminal, if there is no other destination and the run ends by itself (`-duration`, or a command)",
		.meaning =
			"Print a report to standard output at the end: processes, functions, the heaviest calls, quality.",
		.details =
			"It is as wide as the terminal, and elsewhere 100 columns without colours. See [The report](output.md#the-report).",
		.set = option_set_report,
	},
	{
		.name = "accounting",
		.group = OPTION_DESTINATION,
		.brief = "count what each process costs",
		.meaning =
			"Count what each process and each cgroup costs, and print it in the report (`-report`): run time to the "
			"nanosecond, softirqs, pages read and written, hardware counters.",
		.details =
			"All processes are counted, whatever is selected. See [What processes cost](accounting.md).",
		.set = option_set_switch,
		.offset = offsetof(struct options, accounting),
	},
	{
		.name = "weight",
		.group = OPTION_DESTINATION,
		.brief = "share these costs out over the samples",
		.value_name = "COST",
		.meaning =
			"Share out what each process costs over its samples: `run-time`, `runs`, `softirqs`, `page-reads`, "
			"`page-writes`, `page-faults`, `cycles`, `instructions`, `cache-misses` or `joules`. pprof and OTLP have it beside the "
			"samples; outputs with one value show it, or the samples with `-type samples`.",
		.details = "It turns `-accounting` on. See [Weights](accounting.md#weights).",
		.set = option_set_weight,
	},
	{
		.name = "energy-file",
		.group = OPTION_DESTINATION,
		.brief = "-accounting: watts of a machine without RAPL",
		.value_name = "FILE",
		.otherwise = "energy is counted where the CPUs measure it",
		.meaning =
			"With `-accounting`, estimate energy where the CPUs do not measure it (RAPL): the watts of this machine, "
			"idle and with all CPUs at work.",
		.details =
			"The file has two lines such as `idle 40` and `full 180`. See [Energy](accounting.md#energy).",
		.set = option_set_path,
		.offset = offsetof(struct options, energy_file),
	},
	{
		.name = "top",
		.group = OPTION_DESTINATION,
		.brief = "show processes and functions live, here",
		.meaning =
			"Show processes, functions and calls live in this terminal: the samples of the last 5 s, 99 times a second "
			"unless `-samples-per-second` says otherwise.",
		.details = "See [Live in the terminal](output.md#live-in-the-terminal).",
		.set = option_set_switch,
		.offset = offsetof(struct options, top),
	},
	{
		.name = "dump",
		.group = OPTION_DESTINATION,
		.brief = "print the stacks of all threads now",
		.value_name = "N,N",
		.meaning =
			"Instead of sampling, print the stacks of all threads of these processes, now, with the frames of all languages, "
			"and whether each thread runs or in which system call it waits.",
		.details =
			"Each thread is stopped for less than a millisecond. See [Stacks now](output.md#stacks-now).",
		.set = option_set_dump,
	},
	{
		.name = "json",
		.group = OPTION_DESTINATION,
		.brief = "print the report, or -dump's stacks, as JSON",
		.meaning = "Print the report, or the stacks of `-dump`, as JSON.",
		.details =
			"See [The report](output.md#the-report) and [Stacks now](output.md#stacks-now).",
		.set = option_set_switch,
		.offset = offsetof(struct options, json),
	},
	{
		.name = "viewer",
		.group = OPTION_DESTINATION,
		.brief = "serve a live page for browsers there",
		.value_name = "ADDR:PORT",
		.otherwise =
			"without another destination 127.0.0.1:7171, or a free port if that one is taken",
		.meaning = "Serve a live page for browsers at this address.",
		.details = "See [The page](page.md).",
		.set = option_set_path,
		.offset = offsetof(struct options, viewer.address),
	},
	{
		.name = "viewer-token-file",
		.group = OPTION_PAGE,
		.brief = "require the token in this file",
		.value_name = "FILE",
		.meaning =
			"Require the token in this file; mandatory for addresses that other machines can reach.",
		.details =
			"The file has one line of 16 to 255 letters, digits and `-._~+/=`, and only its owner may read it.",
		.set = option_set_path,
		.offset = offsetof(struct options, viewer.token_file),
	},
	{
		.name = "retention",
		.group = OPTION_PAGE,
		.brief = "time for which the page keeps samples",
		.value_name = "D",
		.initial = "30m",
		.meaning =
			"Time for which the page keeps samples, 10s to 24h, as far as `-history-memory` has room.",
		.set = option_set_duration,
		.offset = offsetof(struct options, viewer.retention_ns),
		.minimum = 10 * NS_PER_SECOND,
		.maximum = 24 * NS_PER_HOUR,
	},
	{
		.name = "history-memory",
		.group = OPTION_PAGE,
		.brief = "memory for the page's samples at most",
		.value_name = "SIZE",
		.initial = "128M",
		.meaning =
			"Limit of the memory for the page's samples and their stacks, 8M to 16384M.",
		.details =
			"If it is full, the oldest samples are dropped, and the page says from when on there are samples. "
			"A sample takes some 6 bytes, and a distinct stack 60 to 90: stacks share their callers.",
		.set = option_set_size,
		.offset = offsetof(struct options, viewer.history_bytes),
		.minimum = 8ULL << 20,
		.maximum = 16ULL << 30,
	},
	{
		.name = "receive",
		.group = OPTION_PAGE,
		.brief = "show what other machines send there",
		.value_name = "ADDR:PORT",
		.meaning =
			"Receive OTLP profiles from other machines at this address, by gRPC, and show them on the page.",
		.details = "See [Several machines on one page](several-machines.md).",
		.set = option_set_path,
		.offset = offsetof(struct options, receive.address),
	},
	{
		.name = "receive-tls-cert",
		.group = OPTION_PAGE,
		.brief = "server certificate with its chain, as PEM",
		.value_name = "FILE",
		.otherwise = "plain text",
		.meaning = "Server certificate with its chain, as PEM.",
		.details = "If the file changes, the next connection uses the new certificate.",
		.set = option_set_path,
		.offset = offsetof(struct options, receive.tls_cert),
	},
	{
		.name = "receive-tls-key",
		.group = OPTION_PAGE,
		.brief = "key of the server certificate, as PEM",
		.value_name = "FILE",
		.meaning = "Key of the server certificate, as PEM.",
		.set = option_set_path,
		.offset = offsetof(struct options, receive.tls_key),
	},
	{
		.name = "receive-token-file",
		.group = OPTION_PAGE,
		.brief = "require the token in this file from senders",
		.value_name = "FILE",
		.meaning =
			"Require the token in this file from senders (`-header 'authorization=Bearer TOKEN'`); mandatory "
			"for addresses that other machines can reach.",
		.details = "The file has the format of `-viewer-token-file`.",
		.set = option_set_path,
		.offset = offsetof(struct options, receive.token_file),
	},
	{
		.name = "metrics",
		.group = OPTION_COLLECTOR,
		.brief = "serve own metrics for Prometheus here",
		.value_name = "ADDR:PORT",
		.meaning =
			"Serve the agent's own metrics for Prometheus at this address: `/metrics`, beside `/healthz` and "
			"`/readyz`.",
		.details = "See [Metrics](metrics.md).",
		.set = option_set_path,
		.offset = offsetof(struct options, metrics.address),
	},
	{
		.name = "metrics-token-file",
		.group = OPTION_COLLECTOR,
		.brief = "token for the metrics",
		.value_name = "FILE",
		.meaning =
			"Require the token in this file for `/metrics`; mandatory for addresses that other machines can reach.",
		.details = "The file has the format of `-viewer-token-file`.",
		.set = option_set_path,
		.offset = offsetof(struct options, metrics.token_file),
	},
	{
		.name = "metrics-interval",
		.group = OPTION_COLLECTOR,
		.brief = "send own metrics to the collector this often",
		.value_name = "D",
		.meaning =
			"Send the agent's own metrics to `-collection-agent` too, as OTLP, at this interval, 100ms to 24h. "
			"They are not sent without it.",
		.details = "See [Metrics](metrics.md).",
		.set = option_set_duration,
		.offset = offsetof(struct options, collector.metrics_interval_ns),
		.minimum = 100 * NS_PER_MS,
		.maximum = 24 * NS_PER_HOUR,
	},
	{
		.name = "upload-symbols",
		.group = OPTION_COLLECTOR,
		.brief = "send symbols to a receiving agent, no samples",
		.value_name = "FILE",
		.meaning =
			"Instead of sampling, send the symbols of this program or library to the receiving agent at "
			"`-collection-agent`, whose page then has its names; may be repeated. Needs no privileges.",
		.details =
			"FILE can also be a debug file. See [Several machines on one page](several-machines.md).",
		.set = option_set_upload,
	},
	{
		.name = "open",
		.group = OPTION_DESTINATION,
		.brief = "show this profile; given twice, compare them",
		.value_name = "FILE",
		.meaning =
			"Instead of sampling, show this profile as a page: a file of `-output` or of another "
			"tool; `-` is standard input. Given twice, both are shown, to compare them. Needs "
			"no privileges.",
		.details = "With `-report` a report is printed instead. See [The page](page.md).",
		.set = option_set_open,
	},
	{
		.name = "type",
		.group = OPTION_DESTINATION,
		.brief = "-open, -diff, -weight: the values to show",
		.value_name = "TYPE",
		.otherwise = "as the file has it; with `-weight` the weight",
		.meaning =
			"The values of an opened profile that are shown first, reported or compared, such as `inuse_space`, or with "
			"their unit `weight/bytes`. With `-weight`, `samples` shows samples.",
		.set = option_set_path,
		.offset = offsetof(struct options, value_type),
	},
	{
		.name = "diff",
		.group = OPTION_DESTINATION,
		.brief = "print what changed between two profiles",
		.value_name = "BEFORE AFTER",
		.has_two_values = true,
		.meaning =
			"Instead of sampling, print the functions of these two profiles by how much they changed, with the "
			"significance of each change. The files are those that `-open` reads.",
		.details =
			"Samples and times are compared as shares of all, since two runs are never equally long; bytes and "
			"objects as they are. The compared values are those of `-type`, or that the first file shows first.",
		.set = option_set_diff,
	},
	{
		.name = "fail-above",
		.group = OPTION_DESTINATION,
		.brief = "-diff: fail if a function grew by more",
		.value_name = "PERCENT%",
		.meaning =
			"With `-diff`, end with status 4 if a function grew significantly and by more than so much of all, self "
			"or total: a gate for build pipelines.",
		.details =
			"Significant is a change of three standard deviations. Values that are not made of samples, such as "
			"bytes, have no significance; every growth over the limit counts.",
		.set = option_set_fail_above,
	},
	{
		.name = "doctor",
		.group = OPTION_DESTINATION,
		.brief = "report how well profiling works here",
		.meaning =
			"Sample for 5 s (or `-duration`) and print a report on this machine: kernel features, language "
			"runtimes, and the quality of each process's stacks, with advice. `-pid` limits it to some processes.",
		.details =
			"The report goes to standard output. See [Languages, and limits](languages.md).",
		.set = option_set_switch,
		.offset = offsetof(struct options, doctor),
	},
	{
		.name = "pid",
		.letter = 'p',
		.group = OPTION_SELECTION,
		.brief = "these processes, all their threads",
		.value_name = "N,N",
		.otherwise = "all",
		.meaning = "Profile these processes, all their threads.",
		.details = "Pids of the agent's own namespace, at most 1,024.",
		.set = option_set_pids,
	},
	{
		.name = "comm",
		.group = OPTION_SELECTION,
		.brief = "processes of these names",
		.value_name = "NAME,NAME",
		.otherwise = "all",
		.meaning = "Profile processes of these names (`/proc/PID/comm`).",
		.details =
			"A name has 15 bytes at most. If there is no process of a name at the start, a warning says so, and which name may be meant.",
		.set = option_set_comm,
	},
	{
		.name = "cgroup",
		.group = OPTION_SELECTION,
		.brief = "tasks at and below this cgroup directory",
		.value_name = "PATH",
		.otherwise = "all",
		.meaning = "Profile the tasks at and below this directory of cgroup v2 or v1.",
		.set = option_set_cgroup,
	},
	{
		.name = "container",
		.group = OPTION_SELECTION,
		.brief = "this container of Docker, containerd, Podman",
		.value_name = "ID|NAME",
		.otherwise = "all",
		.meaning =
			"Profile the processes of this running container of Docker, containerd, CRI-O, Podman, LXC or systemd-nspawn.",
		.details =
			"4 characters of an id are enough if no other container's begins with them. It is found by the name of its "
			"cgroup; names are read from the files of the engine, if these can be read: Docker's, Podman's, CRI-O's, "
			"nerdctl's, and pods and containers of Kubernetes.",
		.set = option_set_container,
	},
	{
		.name = "unit",
		.group = OPTION_SELECTION,
		.brief = "this unit of systemd, such as nginx.service",
		.value_name = "NAME",
		.otherwise = "all",
		.meaning =
			"Profile the processes of this running unit of systemd, such as `nginx.service`.",
		.details = "`.service` may be left out. It is found by the name of its cgroup.",
		.set = option_set_unit,
	},
	{
		.name = "user",
		.group = OPTION_SELECTION,
		.brief = "processes of this user",
		.value_name = "NAME",
		.otherwise = "all",
		.meaning =
			"Profile the processes of this user, by the name or the number of the real user id.",
		.set = option_set_user,
	},
	{
		.name = "run-as",
		.group = OPTION_SELECTION,
		.brief = "run the command as this user",
		.value_name = "USER",
		.otherwise = "the caller's ids",
		.meaning = "Run the command behind `--` as this user, with its groups.",
		.details =
			"`HOME`, `SHELL`, `USER` and `LOGNAME` are set for it. See [A command](output.md#a-command).",
		.set = option_set_path,
		.offset = offsetof(struct options, run_as),
	},
	{
		.name = "cpus",
		.group = OPTION_SELECTION,
		.brief = "these CPUs, such as 0-3,5",
		.value_name = "LIST",
		.otherwise = "all online ones",
		.meaning = "Profile these CPUs, such as `0-3,5`.",
		.set = option_set_cpus,
	},
	{
		.name = "samples-per-second",
		.letter = 'F',
		.group = OPTION_SELECTION,
		.brief = "samples per second and CPU, 1 to 10000",
		.value_name = "N",
		.otherwise = "19; 99 for a command and for `-top`",
		.meaning = "Samples taken per second on each CPU, 1 to 10000.",
		.set = option_set_number,
		.offset = offsetof(struct options, samples_per_second),
		.minimum = 1,
		.maximum = 10000,
	},
	{
		.name = "duration",
		.group = OPTION_SELECTION,
		.brief = "stop after this time, such as 2m30s",
		.value_name = "D",
		.otherwise = "until interrupted",
		.meaning = "Stop after this time, such as `2m30s`.",
		.details = "Ctrl-C, SIGTERM and SIGHUP interrupt it.",
		.set = option_set_duration,
		.offset = offsetof(struct options, duration_ns),
		.minimum = NS_PER_MS,
		.maximum = 8784 * NS_PER_HOUR,
	},
	{
		.name = "probabilistic-threshold",
		.group = OPTION_MORE,
		.brief = "sample with this probability",
		.value_name = "N",
		.initial = "100",
		.meaning = "Sample in each interval with a probability of N percent, 1 to 100.",
		.set = option_set_number,
		.offset = offsetof(struct options, probabilistic_threshold),
		.minimum = 1,
		.maximum = 100,
	},
	{
		.name = "probabilistic-interval",
		.group = OPTION_MORE,
		.brief = "length of the intervals for that",
		.value_name = "D",
		.initial = "1m",
		.meaning = "Length of these intervals, 10ms to 24h.",
		.set = option_set_duration,
		.offset = offsetof(struct options, probabilistic_interval_ns),
		.minimum = 10 * NS_PER_MS,
		.maximum = 24 * NS_PER_HOUR,
	},
	{
		.name = "probabilistic-seed",
		.group = OPTION_MORE,
		.brief = "seed of the random choice",
		.value_name = "N",
		.otherwise = "random",
		.meaning =
			"Seed of the random choice, so that every run chooses the same intervals.",
		.set = set_seed,
	},
	{
		.name = "tags",
		.group = OPTION_MORE,
		.brief = "add these keys and values to the profiles",
		.value_name = "K:V,K:V",
		.meaning = "Add these keys and values to the profiles.",
		.details =
			"They are attributes of every OTLP resource, and comments in the pprof file. Keys have letters, "
			"digits and `._-/`.",
		.set = option_set_tags,
	},
	{
		.name = "tracers",
		.group = OPTION_STACKS,
		.brief = "languages to unwind; native: none",
		.value_name = "LIST",
		.initial = "all",
		.meaning = "Languages to unwind beside the kernel and native code, separated by "
			   "commas: all, native for none of them" LANGUAGE_NAMES_LISTED ".",
		.details = "With `native`, stacks of Go end where its runtime changes stacks.",
		.set = set_tracers,
	},
	{
		.name = "fold-runtime-frames",
		.group = OPTION_STACKS,
		.brief = "leave out frames of a language's own runtime",
		.meaning =
			"Leave out native frames of a language's own runtime that stand between frames of its functions.",
		.details =
			"The runtime's own file is the one with the interpreter's loop, such as `python3.11` or "
			"`libpython3.13.so`. Native frames below the innermost and above the outermost interpreted frame "
			"stay, as do all other files, guesses and errors, and Java's `libjvm.so`, whose frames do work "
			"of their own.",
		.set = option_set_switch,
		.offset = offsetof(struct options, fold_runtime_frames),
	},
	{
		.name = "with-lines",
		.group = OPTION_STACKS,
		.brief = "lines in folded stacks and the stack table",
		.meaning = "Add source files and lines to folded stacks and the stack table.",
		.details =
			"They follow the function as ` (file:line)`, before a suffix such as `_[i]`. Stacks that differ only in "
			"a line are counted separately then. pprof and OTLP always have lines, and the columns of "
			"JavaScript. `-dump` waits until all debug data has been read.",
		.set = option_set_switch,
		.offset = offsetof(struct options, with_lines),
	},
	{
		.name = "with-processes",
		.group = OPTION_STACKS,
		.brief = "names of processes on top of stacks in pprof",
		.meaning = "Put the name of the process on top of each stack in pprof files.",
		.details =
			"Graphs of a whole host begin with its processes then, as folded stacks always do. pprof has the name as "
			"the label `comm` in any case, and the page has its processes.",
		.set = option_set_switch,
		.offset = offsetof(struct options, with_processes),
	},
	{
		.name = "with-signatures",
		.group = OPTION_STACKS,
		.brief = "types of arguments of Java methods",
		.meaning = "Add the types of arguments and result to names of Java methods.",
		.details = "They have the form of class files: `java.lang.String.indexOf(I)I`.",
		.set = option_set_switch,
		.offset = offsetof(struct options, with_signatures),
	},
	{
		.name = "with-goroutine-id",
		.group = OPTION_STACKS,
		.brief = "the goroutine's id, in pprof and OTLP",
		.meaning = "Add the goroutine's id to samples of Go, in pprof and OTLP.",
		.details =
			"Far fewer samples are equal then. See [Labels of Go programs](languages.md#labels-of-go-programs).",
		.set = option_set_switch,
		.offset = offsetof(struct options, with_task_ids),
	},
	{
		.name = "max-map-memory",
		.group = OPTION_MORE,
		.brief = "kernel memory for unwind tables at most",
		.value_name = "SIZE",
		.initial = "256M",
		.meaning =
			"Limit of the kernel memory for unwind tables, 2M to 2048M. If it is full, the least recently "
			"used tables are dropped.",
		.set = option_set_size,
		.offset = offsetof(struct options, max_map_memory_bytes),
		.minimum = SLAB_BYTES,
		.maximum = (uint64_t)SLAB_MAX_COUNT * SLAB_BYTES,
	},
	{
		.name = "cache-dir",
		.group = OPTION_MORE,
		.brief = "cache unwind tables and names there",
		.value_name = "DIR",
		.otherwise = "no cache",
		.meaning =
			"Cache unwind tables and names in this directory for a faster start. It is created if it is "
			"missing, and must belong to root with mode 0700.",
		.details = "Unwind tables take 512 MB at most, names of native code 2 GB.",
		.set = option_set_path,
		.offset = offsetof(struct options, cache_dir),
	},
	{
		.name = "debuginfod",
		.group = OPTION_STACKS,
		.brief = "fetch missing debug files from servers",
		.meaning =
			"Fetch missing debug files from the servers in `DEBUGINFOD_URLS`, with elfutils' "
			"`debuginfod-find`. They improve names in local outputs, and with `-symbolize full`.",
		.details =
			"The client caches them. A debug file is requested when the first samples of its program arrive; "
			"names improve when it has been fetched.",
		.set = option_set_switch,
		.offset = offsetof(struct options, debuginfod),
	},
	{
		.name = "log-level",
		.group = OPTION_MORE,
		.brief = "error, warn, info or debug",
		.value_name = "LEVEL",
		.choices = "error warn info debug",
		.initial = "info",
		.meaning =
			"Least level of the messages on standard error: `error`, `warn`, `info` or `debug`.",
		.set = set_log_level,
	},
	{
		.name = "version",
		.letter = 'v',
		.group = OPTION_MORE,
		.brief = "print the version",
		.meaning = "Print the version.",
		.set = set_version,
	},
	{
		.name = "help",
		.letter = 'h',
		.group = OPTION_MORE,
		.brief = "print this",
		.meaning = "Print the options.",
		.set = set_help,
	},
};

const size_t option_count = sizeof(option_table) / sizeof(option_table[0]);

_Static_assert(sizeof(option_table) / sizeof(option_table[0]) <= OPTION_MAX_COUNT,
	       "the parser's marks have room for every option");
