// SPDX-License-Identifier: Apache-2.0
#include "agent/option_table.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "agent/option_collector.h"
#include "agent/option_values.h"
#include "ebpf/abi/config.h"
#include "ebpf/abi/slab.h"
#include "interpreters/registry.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/text_builder.h"
#include "lib/model/languages.h"
#include "reporter/output_files.h"

enum {
	OUTPUT_MAX_COUNT = 16,
	UPLOAD_MAX_COUNT = 4096,
	/* Linux's PID_MAX_LIMIT on 64-bit machines. */
	PID_MAX = 1 << 22,
};

static int add_path(const struct setting *setting, uint32_t most, char ***paths, uint32_t *count)
{
	char **grown;

	for (uint32_t i = 0; i < *count; i++) {
		if (strcmp((*paths)[i], setting->text) == 0)
			return option_refuse(setting, "given twice; give each path once");
	}
	if (*count == most)
		return option_refuse(setting, "give at most %u of them", most);
	grown = realloc(*paths, (*count + 1) * sizeof(*grown));
	if (!grown)
		return option_out_of_memory();
	*paths = grown;
	grown[*count] = strdup(setting->text);
	if (!grown[*count])
		return option_out_of_memory();
	++*count;
	return 0;
}

static int set_output(struct options *options, const struct setting *setting)
{
	if (!*setting->text)
		return option_refuse(setting, "give a path ending in " OUTPUT_SUFFIXES ", or -");
	return add_path(setting, OUTPUT_MAX_COUNT, &options->outputs, &options->output_count);
}

static int set_upload(struct options *options, const struct setting *setting)
{
	if (!*setting->text)
		return option_refuse(setting, "give an ELF file");
	return add_path(setting, UPLOAD_MAX_COUNT, &options->uploads, &options->upload_count);
}

/* The process with the thread @pid; 0 if there is none. */
static uint32_t process_of(uint32_t pid)
{
	_cleanup_(close_file) FILE *file = NULL;
	char path[32];
	char line[256];
	uint32_t process;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Tgid: %u", &process) == 1)
			return process;
	}
	return 0;
}

static int set_pids(struct options *options, const struct setting *setting)
{
	_cleanup_(free_pointer) uint32_t *pids = NULL;
	uint32_t count;
	int error;

	error = option_parse_list(setting->text, false, 1, PID_MAX, SELECTED_PIDS_MAX, &pids,
				  &count);
	if (error == -ENOMEM)
		return option_out_of_memory();
	if (error == -E2BIG)
		return option_refuse(setting, "give at most %d pids", SELECTED_PIDS_MAX);
	if (error)
		return option_refuse(setting, "give pids with commas between, such as 12,345");
	for (uint32_t i = 0; i < count; i++) {
		uint32_t process = process_of(pids[i]);

		if (!process)
			return option_refuse(setting,
					     "there is no process %u; give pids of running ones",
					     pids[i]);
		if (process != pids[i])
			return option_refuse(setting, "%u is a thread of process %u; give that pid",
					     pids[i], process);
	}
	free(options->pids);
	options->pids = take_pointer(pids);
	options->pid_count = count;
	return 0;
}

static int set_comm(struct options *options, const struct setting *setting)
{
	size_t length = strlen(setting->text);

	if (length == 0 || length >= sizeof(options->comm))
		return option_refuse(setting, "give 1 to %zu bytes, as /proc/PID/comm shows them",
				     sizeof(options->comm) - 1);
	memcpy(options->comm, setting->text, length + 1);
	return 0;
}

static int set_cgroup(struct options *options, const struct setting *setting)
{
	struct statfs file_system;
	struct stat file;

	if (stat(setting->text, &file) || statfs(setting->text, &file_system))
		return option_refuse(setting,
				     "%s; give a directory such as /sys/fs/cgroup/system.slice",
				     strerror(errno));
	if (!S_ISDIR(file.st_mode) || file_system.f_type != CGROUP2_SUPER_MAGIC)
		return option_refuse(setting,
				     "not a cgroup; give a directory of a cgroup v2 file system");
	return option_set_path(options, setting);
}

static int set_cpus(struct options *options, const struct setting *setting)
{
	long possible_count = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t highest = possible_count > 0 ? possible_count - 1 : 0;
	uint32_t *cpus;
	uint32_t count;
	int error;

	error = option_parse_list(setting->text, true, 0, highest, highest + 1, &cpus, &count);
	if (error == -ENOMEM)
		return option_out_of_memory();
	if (error)
		return option_refuse(setting, "give CPUs such as 0-3,5; this machine has 0 to %u",
				     highest);
	free(options->cpus);
	options->cpus = cpus;
	options->cpu_count = count;
	return 0;
}

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
	"`ALLFRAMES_SAMPLES_PER_SECOND=99`; the command line wins. Where to send, "
	"`OTEL_EXPORTER_OTLP_ENDPOINT` and its like say too. Durations: `100ms`, `5s`, `2m30s`, `1h`. "
	"Sizes: `K`, `M`, `G`.";

const char option_signals[] =
	"The first SIGINT, SIGTERM or SIGHUP (a closed terminal) stops the agent within 5 seconds, "
	"with the outputs written and the rest sent, as far as the collector takes it. A second SIGINT "
	"or SIGTERM stops it at once; a second SIGHUP does nothing. Under `nohup` SIGHUP is ignored.";

const char option_statuses[] =
	"Exit status: 0 done, 1 failed while running, 2 wrong usage, 3 missing privilege or kernel "
	"feature. One line on standard error says what is wrong and what to do.";

const struct option option_table[] = {
	{
		.name = "collection-agent",
		.value_name = "HOST[:PORT]",
		.meaning =
			"Send profiles to this collector, by OTLP over gRPC; `[::1]:4317` for IPv6. Port 4317 if none is "
			"given.",
		.details = "See [Sending to a collector](collectors.md).",
		.set = option_set_collector,
	},
	{
		.name = "disable-tls",
		.meaning = "Talk to the collector in plain text.",
		.set = option_set_disable_tls,
	},
	{
		.name = "tls-ca",
		.value_name = "FILE",
		.otherwise = "the system's",
		.meaning = "Trust the CA certificates in this PEM file.",
		.set = option_set_path,
		.offset = offsetof(struct options, collector.tls_ca),
	},
	{
		.name = "tls-cert",
		.value_name = "FILE",
		.meaning = "Client certificate, and what it is signed by, as PEM.",
		.set = option_set_path,
		.offset = offsetof(struct options, collector.tls_cert),
	},
	{
		.name = "tls-key",
		.value_name = "FILE",
		.meaning = "Key of the client certificate, as PEM.",
		.set = option_set_path,
		.offset = offsetof(struct options, collector.tls_key),
	},
	{
		.name = "header",
		.value_name = "KEY=VALUE",
		.meaning =
			"Send this header with every call; may be repeated. The value `@FILE` is read from a file, for "
			"each call.",
		.set = option_set_header,
	},
	{
		.name = "reporter-interval",
		.value_name = "D",
		.initial = "5s",
		.meaning = "Send this often, 100ms to 24h.",
		.set = option_set_duration,
		.offset = offsetof(struct options, collector.interval_ns),
		.minimum = 100 * NS_PER_MS,
		.maximum = 24 * NS_PER_HOUR,
	},
	{
		.name = "reporter-jitter",
		.value_name = "J",
		.initial = "0.2",
		.meaning =
			"Make each such interval longer or shorter by up to this part of it, 0 to 1.",
		.set = option_set_fraction,
		.offset = offsetof(struct options, collector.jitter),
	},
	{
		.name = "resource-grouping",
		.value_name = "BY",
		.initial = "container",
		.meaning =
			"What one OTLP resource stands for: `process`, `container` or `service`.",
		.set = option_set_grouping,
	},
	{
		.name = "with-cpu",
		.meaning = "Send the CPU of each sample too.",
		.details = "More samples differ then, so that more bytes are sent.",
		.set = option_set_switch,
		.offset = offsetof(struct options, collector.with_cpu),
	},
	{
		.name = "symbolize",
		.value_name = "HOW",
		.initial = "none",
		.meaning =
			"Names of native code that are sent to the collector: `none` (but of Go and of code made at run "
			"time), `symtab` (functions by symbol tables) or `full` (inlined functions, files and lines too, "
			"from debug data). File and address are sent in any case. Outputs are always `full`.",
		.details = "Names of code made at run time come from perf maps and jitdump files.",
		.set = option_set_symbolize,
	},
	{
		.name = "output",
		.value_name = "PATH",
		.meaning =
			"Write the profile there at the end; may be repeated. By suffix: `.pb.gz` pprof, `.folded` "
			"folded stacks, `.txt` stack table, `.otlp` one OTLP message, `.html` a flame graph in a page of "
			"its own; `-` is folded stacks on standard output.",
		.details =
			"Folded stacks are what tools for flame graphs read. The flame graph in a page can be zoomed and "
			"searched, and needs nothing else. Paths are checked at the start; a file appears when it is "
			"whole.",
		.set = set_output,
	},
	{
		.name = "viewer",
		.value_name = "ADDR:PORT",
		.otherwise =
			"without an output or a collector 127.0.0.1:7171, or a free port if that one is taken",
		.meaning =
			"Show the samples of the last while as a page for browsers at this address.",
		.details = "See [The page](page.md).",
		.set = option_set_path,
		.offset = offsetof(struct options, viewer.address),
	},
	{
		.name = "viewer-token-file",
		.value_name = "FILE",
		.meaning =
			"Ask for the token in this file; needed for all addresses but those of this machine alone.",
		.details =
			"The file has a line of 16 to 255 letters, digits and `-._~+/=`, and nobody but its owner may "
			"read it.",
		.set = option_set_path,
		.offset = offsetof(struct options, viewer.token_file),
	},
	{
		.name = "retention",
		.value_name = "D",
		.initial = "30m",
		.meaning = "How long the page's samples are kept, 10s to 24h, as far as 71 MB go.",
		.details = "Beyond that the oldest go.",
		.set = option_set_duration,
		.offset = offsetof(struct options, viewer.retention_ns),
		.minimum = 10 * NS_PER_SECOND,
		.maximum = 24 * NS_PER_HOUR,
	},
	{
		.name = "receive",
		.value_name = "ADDR:PORT",
		.meaning =
			"Take OTLP profiles that other machines send to this address, by gRPC, and show them on the "
			"page, too.",
		.details = "See [Several machines on one page](several-machines.md).",
		.set = option_set_path,
		.offset = offsetof(struct options, receive.address),
	},
	{
		.name = "receive-tls-cert",
		.value_name = "FILE",
		.otherwise = "plain text",
		.meaning = "Certificate for it, and what that is signed by, as PEM.",
		.details = "Files that change are used for the next connection.",
		.set = option_set_path,
		.offset = offsetof(struct options, receive.tls_cert),
	},
	{
		.name = "receive-tls-key",
		.value_name = "FILE",
		.meaning = "Key of this certificate, as PEM.",
		.set = option_set_path,
		.offset = offsetof(struct options, receive.tls_key),
	},
	{
		.name = "receive-token-file",
		.value_name = "FILE",
		.meaning =
			"Ask senders for the token in this file (`-header 'authorization=Bearer TOKEN'`); needed for all "
			"addresses but those of this machine alone.",
		.details = "The file is like that of `-viewer-token-file`.",
		.set = option_set_path,
		.offset = offsetof(struct options, receive.token_file),
	},
	{
		.name = "upload-symbols",
		.value_name = "FILE",
		.meaning =
			"Send what is known of the code of this program or library, for names on the page of the agent "
			"that receives at `-collection-agent`, instead of sampling; may be repeated. Needs no privileges.",
		.details =
			"A debug file does as well. See [Several machines on one page](several-machines.md).",
		.set = set_upload,
	},
	{
		.name = "open",
		.value_name = "FILE",
		.meaning =
			"Show this profile as a page instead of sampling: what `-output` wrote as `.pb.gz`, `.folded` or "
			"`.otlp`, or such a file of another tool. Needs no privileges.",
		.details = "See [The page](page.md).",
		.set = option_set_path,
		.offset = offsetof(struct options, open_path),
	},
	{
		.name = "doctor",
		.meaning =
			"Sample for 5 s (or `-duration`) and say how well that goes here: the kernel, each runtime of a "
			"language, the stacks of each process and what would mend them; with `-pid`, of these processes.",
		.details =
			"What it says goes to standard output. See [Languages, and limits](languages.md).",
		.set = option_set_switch,
		.offset = offsetof(struct options, doctor),
	},
	{
		.name = "pid",
		.value_name = "N,N",
		.otherwise = "all",
		.meaning = "Profile these processes, all their threads.",
		.details = "Pids are those of the agent's own namespace, 1,024 of them at most.",
		.set = set_pids,
	},
	{
		.name = "comm",
		.value_name = "NAME",
		.otherwise = "all",
		.meaning = "Profile processes of this name (`/proc/PID/comm`).",
		.details = "A name has 15 bytes at most.",
		.set = set_comm,
	},
	{
		.name = "cgroup",
		.value_name = "PATH",
		.otherwise = "all",
		.meaning = "Profile the tasks at and below this cgroup v2 directory.",
		.set = set_cgroup,
		.offset = offsetof(struct options, cgroup),
	},
	{
		.name = "cpus",
		.value_name = "LIST",
		.otherwise = "all online ones",
		.meaning = "Profile these CPUs, such as `0-3,5`.",
		.set = set_cpus,
	},
	{
		.name = "samples-per-second",
		.value_name = "N",
		.initial = "19",
		.meaning = "Samples taken per second on each CPU, 1 to 10000.",
		.set = option_set_number,
		.offset = offsetof(struct options, samples_per_second),
		.minimum = 1,
		.maximum = 10000,
	},
	{
		.name = "duration",
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
		.value_name = "N",
		.initial = "100",
		.meaning =
			"Sample only in some intervals: in those for which a number drawn from 0 to 99 is below N. 1 to "
			"100; 100 is always.",
		.set = option_set_number,
		.offset = offsetof(struct options, probabilistic_threshold),
		.minimum = 1,
		.maximum = 100,
	},
	{
		.name = "probabilistic-interval",
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
		.value_name = "N",
		.otherwise = "different ones",
		.meaning = "Draw the same numbers in every run.",
		.set = set_seed,
	},
	{
		.name = "tags",
		.value_name = "K:V,K:V",
		.meaning = "Put these keys and values into the profiles.",
		.details =
			"They are attributes of every OTLP resource, and comments in the pprof file. Keys have letters, "
			"digits and `._-/`.",
		.set = option_set_tags,
	},
	{
		.name = "tracers",
		.value_name = "LIST",
		.initial = "all",
		.meaning = "Languages to unwind beside the kernel and native code, with commas "
			   "between: all, native for none of them" LANGUAGE_NAMES_LISTED ".",
		.details =
			"With `native`, stacks of Go are not followed where its runtime changes them.",
		.set = set_tracers,
	},
	{
		.name = "fold-runtime-frames",
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
		.meaning =
			"Put source file and line, where they are known, into folded stacks and the stack table.",
		.details =
			"They stand as ` (file:line)` behind the function (before a suffix such as `_[i]`); stacks that "
			"differ in a line are two then. pprof and OTLP carry lines in any case.",
		.set = option_set_switch,
		.offset = offsetof(struct options, with_lines),
	},
	{
		.name = "with-signatures",
		.meaning = "Put types of arguments and result behind names of Java methods.",
		.details = "They look as in class files: `java.lang.String.indexOf(I)I`.",
		.set = option_set_switch,
		.offset = offsetof(struct options, with_signatures),
	},
	{
		.name = "with-goroutine-id",
		.meaning = "Tell the number of the goroutine of samples in Go, in pprof and OTLP.",
		.details =
			"Many more samples differ then. See [Labels of Go programs](languages.md#labels-of-go-programs).",
		.set = option_set_switch,
		.offset = offsetof(struct options, with_task_numbers),
	},
	{
		.name = "max-map-memory",
		.value_name = "SIZE",
		.initial = "256M",
		.meaning =
			"Bound on the kernel memory for unwind tables, 2M to 2048M; beyond it those that were not used "
			"for longest go.",
		.set = option_set_size,
		.offset = offsetof(struct options, max_map_memory_bytes),
		.minimum = SLAB_BYTES,
		.maximum = (uint64_t)SLAB_MAX_COUNT * SLAB_BYTES,
	},
	{
		.name = "cache-dir",
		.value_name = "DIR",
		.otherwise = "none are kept",
		.meaning =
			"Keep unwind tables and names there for a quicker next start. Made if it is missing; must be "
			"root's with mode 0700.",
		.details = "Unwind tables take 512 MB at most, names of native code 2 GB.",
		.set = option_set_path,
		.offset = offsetof(struct options, cache_dir),
	},
	{
		.name = "debuginfod",
		.meaning =
			"Fetch debug files that are not on this machine from the servers in `DEBUGINFOD_URLS`, by "
			"elfutils' `debuginfod-find`. For names that local outputs have, and `-symbolize full`.",
		.details =
			"The client keeps them in its cache. A file is asked for when its first samples have come; names are better "
			"from the moment on at which it is there.",
		.set = option_set_switch,
		.offset = offsetof(struct options, debuginfod),
	},
	{
		.name = "log-level",
		.value_name = "LEVEL",
		.initial = "info",
		.meaning = "What is logged on standard error: `error`, `warn`, `info` or `debug`.",
		.set = set_log_level,
	},
	{
		.name = "version",
		.meaning = "Print the version.",
		.set = set_version,
	},
	{
		.name = "help",
		.meaning = "Print the options.",
		.set = set_help,
	},
};

const size_t option_count = sizeof(option_table) / sizeof(option_table[0]);

_Static_assert(sizeof(option_table) / sizeof(option_table[0]) <= OPTION_MAX_COUNT,
	       "the parser's marks have room for every option");
