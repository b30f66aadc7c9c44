/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The command line: one table of options drives parsing, the environment and the text of -help.
 *
 * Behind `--` stand a command and its arguments. Options take one dash or two, `-name=value` or `-name value`; the last use wins, but for -output, -header and
 * -upload-symbols, which add up. Options that the command line does not set come from ALLFRAMES_NAME (upper
 * case, dashes as underscores), if that is set and not empty. Options of the collector then come from
 * OTEL_EXPORTER_OTLP_NAME (agent/otel_environment.h). Otherwise the default holds. Values are checked here as
 * far as that needs no privilege and writes nothing; the reporter checks output paths.
 */
#ifndef AGENT_OPTIONS_H
#define AGENT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/process.h"
#include "lib/base/log.h"
#include "lib/host/cgroup_tree.h"
#include "reporter/otlp_profile.h"
#include "reporter/transport_header.h"

struct option;

enum options_action {
	OPTIONS_RUN,
	OPTIONS_SHOW_HELP,
	OPTIONS_SHOW_VERSION,
};

/** The names that native frames get before they are sent. */
enum symbolize {
	/** No names, except those of Go and of run-time generated code. */
	SYMBOLIZE_NONE,
	/** Functions, from symbol tables. */
	SYMBOLIZE_SYMTAB,
	/** Also inlined functions, files and lines. */
	SYMBOLIZE_FULL,
};

enum report_stream {
	REPORT_NONE,
	REPORT_TO_OUTPUT,
	/** Standard output is the command's, and no terminal. */
	REPORT_TO_ERROR,
};

struct option_tag {
	/** Owned. The value is in the same allocation. */
	char *key;
	char *value;
};

/** Where and how profiles are sent; the paths and texts are owned. */
struct collector_options {
	/** `host:port` or `[address]:port`; NULL: nothing is sent. */
	char *address;
	/** The connection is not encrypted. */
	bool disable_tls;
	/** -disable-tls was given, whatever its value, or the variable for the address has a scheme. */
	bool has_disable_tls;
	/** The variable for the address is set, but not used, since it is for another protocol. */
	bool has_unused_endpoint;
	/** PEM files; NULL: the system's CAs, no client certificate. */
	char *tls_ca;
	char *tls_cert;
	char *tls_key;
	struct transport_headers headers;
	uint64_t interval_ns;
	/** Interval of the agent's metrics; 0: they are not sent. */
	uint64_t metrics_interval_ns;
	double jitter;
	enum resource_grouping grouping;
	bool with_cpu;
	enum symbolize symbolize;
	/** Time-out of one call. */
	uint64_t timeout_ns;
	bool no_compression;
};

/** Options of the web page that the agent serves; the texts are owned. */
struct page_options {
	/** Address as given; NULL: the default. */
	char *address;
	/** NULL: no token. */
	char *token_file;
	uint64_t retention_ns;
	/** Limit of the memory for samples and their stacks. */
	uint64_t history_bytes;
};

/** Options for the profiles of other machines that the web page shows; the texts are owned. */
struct receive_options {
	/** Address as given; NULL: profiles are not received. */
	char *address;
	/** PEM files; NULL: plain text. */
	char *tls_cert;
	char *tls_key;
	/** NULL: no token. */
	char *token_file;
};

/** Options of the metrics for Prometheus; the texts are owned. */
struct metrics_options {
	/** Address as given; NULL: they are not served. */
	char *address;
	/** NULL: no token. */
	char *token_file;
};

/** Owned by main() and read-only once parsed; options_deinit() frees what it points to. */
struct options {
	enum options_action action;

	struct collector_options collector;

	struct page_options viewer;
	struct receive_options receive;
	struct metrics_options metrics;

	/** Files whose symbols are sent instead of sampling. */
	char **uploads;
	uint32_t upload_count;

	/** Profiles to show instead of sampling; "-" is standard input. */
	char **opens;
	uint32_t open_count;

	/**
	 * The type of values that is shown first, as "type" or "type/unit", of opened profiles and with a weight; NULL: the
	 * profile's, and the weight. Owned.
	 */
	char *value_type;

	/** Two profiles to compare instead of sampling, and the growth of a function that fails: 0.05 is 5 %. */
	char **diffs;
	uint32_t diff_count;
	bool has_fail_above;
	double fail_above;

	/** The command to profile, borrowed from the arguments: its name and theirs, ending with a NULL; NULL: none. */
	char *const *command;
	/** The user whose ids the command gets; NULL: the caller's. Owned. */
	char *run_as;

	/** Pids of the processes whose stacks are printed now instead of sampling. */
	uint32_t *dumps;
	uint32_t dump_count;
	/** Stacks, or the report, are printed as JSON. */
	bool json;
	/** Shows processes and functions live in the terminal. */
	bool top;
	/** Where the report is written at the end. */
	enum report_stream report;

	/** Reports on standard output how well the agent runs here, after duration_ns. */
	bool doctor;

	/** Paths as given, "-" for standard output; all different. */
	char **outputs;
	uint32_t output_count;

	/** Pids, sorted, without duplicates, at most SELECTED_PIDS_MAX; all processes if there are none. */
	uint32_t *pids;
	uint32_t pid_count;
	/** Names of processes with zeroes behind their ends, at most SELECTED_COMMS_MAX; all if there are none. */
	char (*comms)[COMM_BYTES];
	uint32_t comm_count;
	/** OTLP, and a page that other machines can reach, have command lines of processes. */
	bool with_command_lines;
	/** The cgroup, and the option that named it; NULL for every cgroup. Owned. */
	struct cgroup_location *cgroup;
	const struct option *cgroup_option;
	/** The real user id of the processes. */
	bool has_user;
	uint32_t user;
	/** CPUs, sorted, without duplicates; all online CPUs if there are none. */
	uint32_t *cpus;
	uint32_t cpu_count;

	uint32_t samples_per_second;
	/** 0: until interrupted. */
	uint64_t duration_ns;
	/** 1..100; 100: always on. */
	uint32_t probabilistic_threshold;
	uint64_t probabilistic_interval_ns;
	/** With a seed, the draws are the same in every run. */
	bool has_probabilistic_seed;
	uint64_t probabilistic_seed;

	struct option_tag *tags;
	uint32_t tag_count;
	/** Languages to look for (interpreters/registry.h). */
	uint32_t tracers;
	bool fold_runtime_frames;
	bool with_signatures;
	/** Counts what each process costs. */
	bool accounting;
	/** The costs that are shared out over samples (enum sample_weight); 0: none are. */
	uint8_t weight;
	/** The file with the machine's watts; NULL: there is none. */
	char *energy_file;
	/** Adds lines to folded stacks and the stack table. */
	bool with_lines;
	/** Adds the names of processes to the stacks of pprof. */
	bool with_processes;
	/** Adds the ids of tasks, such as goroutines, to pprof and OTLP. */
	bool with_task_ids;
	/** A multiple of SLAB_BYTES. */
	uint64_t max_map_memory_bytes;
	/** NULL: no disk cache. */
	char *cache_dir;
	/** Debug files are fetched from the servers in DEBUGINFOD_URLS. */
	bool debuginfod;
	enum log_level log_level;
};

/**
 * Fills *@options from the arguments after @arguments[0] and from the environment. Stops at -help
 * and -version. -EINVAL with a text for users (error_text(): what is wrong and what to do), -ENOMEM;
 * then *@options is untouched.
 */
int options_parse(struct options *options, int argument_count, char *const *arguments);
void options_deinit(struct options *options);

/** Whether some processes are selected, other than by a command. */
bool options_are_selective(const struct options *options);

/** Whether outputs with one value show the weight. */
bool options_show_weight(const struct options *options);

/** Whether the page is shown: if it was requested, or if there is nothing else to do with the samples. */
bool options_have_page(const struct options *options);

/** Frees the tags only, for a -tags that replaces an earlier one. */
void options_free_tags(struct options *options);

#endif
