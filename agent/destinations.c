// SPDX-License-Identifier: Apache-2.0
#include "agent/destinations.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/collector_transport.h"
#include "agent/report_output.h"
#include "agent/start_warnings.h"
#include "build/version.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/model/hanging_processes.h"
#include "lib/model/metrics.h"
#include "symbols/uploaded_symbol_caches.h"
#include "viewer/flame_page.h"
#include "viewer/flame_svg.h"

enum {
	HOST_ATTRIBUTE_COUNT = 4,
};

/* The timers that take samples are less exact. */
#define TIME_UNIT_NS 1000

/* Deferred samples of programs whose files are large come later than that, and get a weight of a later interval. */
#define WEIGHT_DELAY_NS (2 * NS_PER_SECOND)

/* Makes the resource attributes of all samples; a tag with the same key overrides one. */
static int make_attributes(struct destinations *destinations)
{
	const struct options *options = destinations->options;
	const struct host_identity *host = &destinations->host;
	const struct otlp_attribute of_host[HOST_ATTRIBUTE_COUNT] = {
		{ "host.name", host->name },
		{ "host.id", host->id },
		{ "host.arch", host->arch },
		{ "os.type", "linux" },
	};
	struct otlp_attribute *attributes =
		calloc(HOST_ATTRIBUTE_COUNT + options->tag_count, sizeof(*attributes));
	size_t count = 0;

	if (!attributes)
		return fail(-ENOMEM, "no memory for the host's attributes");
	for (size_t i = 0; i < HOST_ATTRIBUTE_COUNT; i++) {
		if (of_host[i].value[0])
			attributes[count++] = of_host[i];
	}
	for (uint32_t i = 0; i < options->tag_count; i++)
		attributes[count++] =
			(struct otlp_attribute){ options->tags[i].key, options->tags[i].value };
	destinations->attributes = attributes;
	destinations->otlp_options = (struct otlp_options){
		.grouping = options->collector.grouping,
		.samples_per_second = options->samples_per_second,
		.agent_version = AGENT_VERSION,
		.attributes = attributes,
		.attribute_count = count,
		.max_request_bytes = OTLP_MAX_REQUEST_BYTES,
		.with_command_lines = options->with_command_lines,
	};
	return 0;
}

/* Adds a destination that takes samples and their weights. */
static void add_weighed(struct destinations *destinations, struct reporter *reporter)
{
	sample_counter_add(&destinations->counter, reporter);
	if (destinations->weigher)
		sample_weigher_add_next(destinations->weigher, reporter);
}

static int init_weigher(struct destinations *destinations)
{
	const struct options *options = destinations->options;
	const struct sample_weigher_options weigher_options = {
		.weight = options->weight,
		.delay_ns = WEIGHT_DELAY_NS,
		.has_all_processes = !options_are_selective(options) && !options->command &&
				     !options->cpu_count,
	};

	destinations->weigher = sample_weigher_create(&weigher_options);
	return destinations->weigher ? 0 : fail(-ENOMEM, "no memory for -weight");
}

void destinations_weigh_rest(struct destinations *destinations)
{
	int error = destinations->weigher ? sample_weigher_finish(destinations->weigher) : 0;

	if (error)
		log_warn("-weight: %s; a part of the costs is not in the samples",
			 strerror(-error));
}

/* Files that may never answer are not read, so their frames have no names. */
static int init_go_names(struct destinations *destinations, const struct native_names *names)
{
	int error = go_symbols_create(&destinations->go_symbols, false, native_names_judge(names));

	if (!error)
		destinations->otlp_options.lookup = go_symbols_lookup(destinations->go_symbols);
	return error;
}

/* Every sample in the snapshot was reported to @context before. */
static void wait_for_symbols(void *context, const struct sample_snapshot *snapshot)
{
	(void)snapshot;
	native_names_wait_symbols(context);
}

/* For the thread of -metrics and the report thread. */
static void fill_metrics(void *context, struct metric_table *table)
{
	const struct destinations *destinations = context;
	struct metrics_snapshot metrics;
	struct sample_totals samples;
	struct process_usage usage;
	const struct metric_table_input input = {
		.metrics = &metrics,
		.samples = &samples,
		.usage = &usage,
		.start_ns = destinations->start_ns,
		.version = AGENT_VERSION,
	};

	sample_counter_read(&destinations->counter, &samples);
	metrics_take_snapshot(&metrics);
	process_usage_read(&usage);
	metric_table_fill(table, &input);
	accounting_put_metrics(destinations->accounting, table);
}

static int init_collector(struct destinations *destinations, struct native_names *names)
{
	const struct collector_options *collector = &destinations->options->collector;
	struct otlp_reporter_config config = {
		.sender = {
			.collector = collector->address,
			.call_timeout_ns = collector->timeout_ns,
		},
		.otlp = &destinations->otlp_options,
		.interval_ns = collector->interval_ns,
		.jitter = collector->jitter,
		.keeps_cpus = collector->with_cpu,
		.metrics_interval_ns = collector->metrics_interval_ns,
		.start_ns = destinations->start_ns,
		.fill_metrics = fill_metrics,
		.metrics_context = destinations,
	};
	int error;

	destinations->otlp_options.lookup = native_names_sent(names);
	if (destinations->otlp_options.lookup) {
		config.taken = wait_for_symbols;
		config.context = names;
	} else {
		error = init_go_names(destinations, names);
		if (error)
			return error;
	}
	destinations->transport_options = collector_transport_options(collector);
	error = grpc_transport_create(&destinations->transport_options, &destinations->transport);
	if (error)
		return error;
	config.sender.transport = grpc_transport_base(destinations->transport);
	error = otlp_reporter_create(&config, &destinations->otlp);
	if (error)
		return error;
	add_weighed(destinations, otlp_reporter_door(destinations->otlp));
	return 0;
}

static int init_outputs(struct destinations *destinations)
{
	struct sample_store_options store_options = { 0 };
	const struct options *options = destinations->options;
	int error = output_files_init(&destinations->outputs, (const char *const *)options->outputs,
				      options->output_count);

	if (error)
		return error;
	destinations->outputs.otlp = &destinations->otlp_options;
	destinations->outputs.with_lines = options->with_lines;
	destinations->outputs.write_page = flame_page_write;
	destinations->outputs.write_svg = flame_svg_write;
	store_options.keeps_times = output_files_need_times(&destinations->outputs);
	store_options.keeps_cpus = store_options.keeps_times && options->collector.with_cpu;
	destinations->samples = sample_store_create(&store_options);
	if (!destinations->samples)
		return fail(-ENOMEM, "no memory for the sample store");
	add_weighed(destinations, sample_store_reporter(destinations->samples));
	return 0;
}

static void read_totals(void *context, uint32_t type, struct api_totals *totals)
{
	struct destinations *destinations = context;
	struct sample_totals sums, received;

	(void)type;
	sample_counter_read(&destinations->counter, &sums);
	sample_counter_read(&destinations->received, &received);
	*totals = (struct api_totals){
		.samples = sums.samples + received.samples,
		.idle = metrics_read(metric_of_counter(COUNTER_IDLE)),
		.lost = metrics_read(metric_of_counter(COUNTER_LOST_RING_FULL)) +
			metrics_read(METRIC_SAMPLES_DROPPED) +
			metrics_read(METRIC_SAMPLES_MALFORMED),
		.complete = sums.complete + received.complete,
		.guesses = sums.guesses + received.guesses,
		.oldest_sample_ms = metrics_read(METRIC_OLDEST_SAMPLE_AGE),
		.oldest_event_ms = metrics_read(METRIC_OLDEST_EVENT_AGE),
	};
	totals->hanging_count = hanging_processes_list(clock_monotonic_ns(), totals->hanging_pids);
	for (int i = 0; i < UNWIND_ERROR_COUNT; i++)
		totals->errors += sums.errors[i] + received.errors[i];
	native_names_progress(destinations->names, &totals->names_pending,
			      &totals->names_generation);
}

static bool read_costs(void *context,
		       void (*take)(void *taker, const struct process_costs *process), void *taker,
		       struct cost_facts *facts)
{
	struct destinations *destinations = context;

	if (!destinations->accounting)
		return false;
	accounting_read(destinations->accounting, take, taker, facts);
	return true;
}

static void append_numbers(struct text_builder *text, const char *option, const uint32_t *numbers,
			   uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		text_builder_format(text, "%s%u", i ? "," : option, numbers[i]);
}

/* The options that chose samples, such as "-pid 12,13 -comm nginx"; "" if all were taken. */
static const char *describe_selection(const struct options *options, struct text_builder *text)
{
	append_numbers(text, " -pid ", options->pids, options->pid_count);
	append_numbers(text, " -cpus ", options->cpus, options->cpu_count);
	for (uint32_t i = 0; i < options->comm_count; i++)
		text_builder_format(text, "%s%s", i ? "," : " -comm ", options->comms[i]);
	if (options->cgroup)
		text_builder_format(text, " -cgroup %s", options->cgroup->path);
	if (options->has_user)
		text_builder_format(text, " -user %u", options->user);
	if (options->probabilistic_threshold < 100)
		text_builder_format(text, " -probabilistic-threshold %u",
				    options->probabilistic_threshold);
	if (options->command)
		text_builder_format(text, " -- %s", options->command[0]);
	return *text_builder_text(text) ? text_builder_text(text) + 1 : "";
}

static int init_viewer(struct destinations *destinations, struct native_names *names)
{
	const struct options *options = destinations->options;
	const struct viewer_options viewer_options = {
		.address = options->viewer.address,
		.token_file = options->viewer.token_file,
		.history = { .retention_ns = options->viewer.retention_ns,
			     .max_bytes = options->viewer.history_bytes,
			     .time_unit_ns = TIME_UNIT_NS,
			     .keeps_values = options->weight,
			     .weight = options->weight },
		.api = {
			.lookup = native_names_shown(names),
			.read_totals = read_totals,
			.read_costs = read_costs,
			.context = destinations,
			.version = AGENT_VERSION,
			.host = destinations->host.name,
			.kernel = destinations->kernel.release,
			.selection = describe_selection(options, &destinations->selection),
			.source = "this machine",
			.is_live = true,
			.weight = options->weight,
			.shows_weight = options_show_weight(options),
			.exports_command_lines = options->with_command_lines,
			.samples_per_second = options->samples_per_second,
			.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
			.proc_root = "/proc",
			.judge = native_names_judge(names),
		},
	};
	int error;

	destinations->names = names;
	error = viewer_create(&viewer_options, &destinations->viewer);
	if (error)
		return error;
	if (!options->viewer.address && viewer_port(destinations->viewer) != VIEWER_DEFAULT_PORT)
		log_taken_port("/proc", VIEWER_DEFAULT_PORT, viewer_port(destinations->viewer));
	destinations->history = viewer_history(destinations->viewer);
	add_weighed(destinations, history_reporter(destinations->history));
	return 0;
}

static uint64_t metrics_age_ms(void *context)
{
	const struct destinations *destinations = context;
	uint64_t updated_ns = __atomic_load_n(&destinations->updated_ns, __ATOMIC_RELAXED);
	uint64_t now_ns = clock_monotonic_ns();

	return now_ns > updated_ns ? (now_ns - updated_ns) / NS_PER_MS : 0;
}

static int init_metrics(struct destinations *destinations)
{
	const struct metrics_options *metrics = &destinations->options->metrics;
	const struct metrics_server_options options = {
		.address = metrics->address,
		.token_file = metrics->token_file,
		.host = destinations->host.name,
		.fill = fill_metrics,
		.age_ms = metrics_age_ms,
		.context = destinations,
	};

	return metrics_server_create(&options, &destinations->metrics);
}

static int take_symbols(void *context, const struct upload_chunk *chunk)
{
	struct destinations *destinations = context;

	return uploaded_symbol_caches_add(native_names_uploaded(destinations->names), chunk,
					  clock_monotonic_ns());
}

static int init_receiver(struct destinations *destinations)
{
	const struct receive_options *receive = &destinations->options->receive;
	const struct receiver_options options = {
		.address = receive->address,
		.tls_cert = receive->tls_cert,
		.tls_key = receive->tls_key,
		.token_file = receive->token_file,
		.reporter = &destinations->received.reporter,
		.retention_ns = destinations->options->viewer.retention_ns,
		.samples_per_second = destinations->options->samples_per_second,
		.take_symbols = native_names_uploaded(destinations->names) ? take_symbols : NULL,
		.context = destinations,
	};

	sample_counter_add(&destinations->received, history_reporter(destinations->history));
	return receiver_create(&options, &destinations->receiver);
}

static void quit(void *context)
{
	stop_signal_request(context);
}

static int init_top(struct destinations *destinations, struct native_names *names)
{
	const struct top_options options = {
		.lookup = native_names_local(names),
		.samples_per_second = destinations->options->samples_per_second,
		.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.quit = quit,
		.context = destinations->stop,
	};
	int error = top_create(&options, &destinations->top);

	if (!error)
		sample_counter_add(&destinations->counter, top_reporter(destinations->top));
	return error;
}

static int init_doctor(struct destinations *destinations, struct native_names *names)
{
	const struct api_config config = {
		.lookup = native_names_shown(names),
		.version = AGENT_VERSION,
		.host = destinations->host.name,
		.kernel = "",
		.source = "this machine",
		.samples_per_second = destinations->options->samples_per_second,
	};
	int error = doctor_create(&config, &destinations->doctor);

	if (error)
		return error;
	destinations->history = doctor_history(destinations->doctor);
	sample_counter_add(&destinations->counter, history_reporter(destinations->history));
	return 0;
}

int destinations_init(struct destinations *destinations, const struct options *options,
		      struct native_names *names, struct stop_signal *stop)
{
	int error;

	destinations->options = options;
	destinations->stop = stop;
	destinations->start_ns = clock_realtime_ns();
	sample_counter_init(&destinations->counter);
	sample_counter_init(&destinations->received);
	host_identity_read(&destinations->host, "/");
	if (uname(&destinations->kernel))
		destinations->kernel.release[0] = '\0';
	/* This reporter comes before the stores, so that every sample in a store has been reported to it. */
	if (native_names_reporter(names))
		sample_counter_add(&destinations->counter, native_names_reporter(names));
	error = make_attributes(destinations);
	if (!error && options->weight)
		error = init_weigher(destinations);
	if (!error && options_have_page(options))
		error = init_viewer(destinations, names);
	if (!error && options->receive.address)
		error = init_receiver(destinations);
	if (!error && options->metrics.address)
		error = init_metrics(destinations);
	if (!error && options->top)
		error = init_top(destinations, names);
	if (!error && options->doctor)
		error = init_doctor(destinations, names);
	if (!error && (options->output_count || options->report))
		error = init_outputs(destinations);
	if (!error && options->collector.address)
		error = init_collector(destinations, names);
	/* After the destinations, so that each has a sample before its weight. */
	if (!error && destinations->weigher)
		sample_counter_add(&destinations->counter,
				   sample_weigher_reporter(destinations->weigher));
	return error;
}

void destinations_deinit(struct destinations *destinations)
{
	receiver_destroy(destinations->receiver);
	metrics_server_destroy(destinations->metrics);
	viewer_destroy(destinations->viewer);
	top_destroy(destinations->top);
	doctor_destroy(destinations->doctor);
	otlp_reporter_destroy(destinations->otlp);
	go_symbols_destroy(destinations->go_symbols);
	grpc_transport_destroy(destinations->transport);
	free(destinations->attributes);
	sample_store_destroy(destinations->samples);
	sample_weigher_destroy(destinations->weigher);
	output_files_deinit(&destinations->outputs);
	text_builder_deinit(&destinations->selection);
}

struct reporter *destinations_reporter(struct destinations *destinations)
{
	return &destinations->counter.reporter;
}

void destinations_describe(const struct destinations *destinations, struct text_builder *text)
{
	const struct options *options = destinations->options;
	const struct collector_options *collector = &options->collector;

	const char *between = "";

	if (destinations->doctor)
		text_builder_append(text, "standard output");
	if (destinations->top) {
		text_builder_append(text, "this terminal");
		between = ", ";
	}
	if (destinations->viewer) {
		text_builder_append(text, between);
		text_builder_append(text, viewer_url(destinations->viewer));
		between = ", ";
	}
	if (destinations->receiver)
		text_builder_format(text, " with what is sent to %s (%s)",
				    receiver_address(destinations->receiver),
				    options->receive.tls_cert ? "TLS" : "plain text");
	if (options->report) {
		text_builder_format(text, "%sa report", between);
		between = ", ";
	}
	for (uint32_t i = 0; i < options->output_count; i++) {
		text_builder_format(text, "%s%s", between, options->outputs[i]);
		between = ", ";
	}
	if (collector->address) {
		text_builder_format(text, "%scollector %s (%s)", between, collector->address,
				    collector->disable_tls ? "plain text" : "TLS");
		between = ", ";
	}
	if (destinations->metrics)
		text_builder_format(text, "%s%s", between,
				    metrics_server_url(destinations->metrics));
}

void destinations_note_update(struct destinations *destinations, uint64_t now_ns)
{
	__atomic_store_n(&destinations->updated_ns, now_ns, __ATOMIC_RELAXED);
}

int destinations_start(struct destinations *destinations)
{
	int error = destinations->viewer ? viewer_start(destinations->viewer) : 0;

	if (!error && destinations->receiver)
		error = receiver_start(destinations->receiver);
	if (!error && destinations->metrics)
		error = metrics_server_start(destinations->metrics);
	if (!error && destinations->otlp)
		error = otlp_reporter_start(destinations->otlp);
	return !error && destinations->top ? top_start(destinations->top) : error;
}

void destinations_begin_stop(struct destinations *destinations, uint64_t deadline_ns)
{
	top_stop(destinations->top);
	if (destinations->receiver)
		receiver_begin_stop(destinations->receiver);
	if (destinations->viewer)
		viewer_stop(destinations->viewer);
	metrics_server_destroy(destinations->metrics);
	destinations->metrics = NULL;
	if (destinations->otlp)
		otlp_reporter_begin_stop(destinations->otlp, deadline_ns);
}

/* Frees the -tags as comments of the profile: a NULL-terminated array, and each text. */
static void free_comments(char ***comments)
{
	for (size_t i = 0; *comments && (*comments)[i]; i++)
		free((*comments)[i]);
	free(*comments);
}

static char **make_comments(const struct options *options)
{
	_cleanup_(free_comments) char **comments =
		calloc(options->tag_count + 1, sizeof(*comments));

	for (uint32_t i = 0; comments && i < options->tag_count; i++) {
		const struct option_tag *tag = &options->tags[i];

		if (asprintf(&comments[i], "%s:%s", tag->key, tag->value) < 0) {
			comments[i] = NULL;
			return NULL;
		}
	}
	return take_pointer(comments);
}

static int write_outputs(struct destinations *destinations, const struct sampling_period *period,
			 struct symbol_lookup *lookup)
{
	_cleanup_(sample_snapshot_deinit) struct sample_snapshot snapshot = { 0 };
	_cleanup_(free_comments) char **comments = make_comments(destinations->options);
	_cleanup_(text_builder_deinit) struct text_builder selection = { 0 };
	const struct profile_info info = {
		.start_time_ns = period->start_realtime_ns,
		.start_monotonic_ns = period->start_monotonic_ns,
		.duration_ns = period->duration_ns,
		.samples_per_second = destinations->options->samples_per_second,
		.tags = (const char *const *)comments,
		.tag_count = destinations->options->tag_count,
		.host = destinations->host.name,
		.kernel = destinations->kernel.release,
		.version = AGENT_VERSION,
		.selection = describe_selection(destinations->options, &selection),
		.weight = destinations->options->weight,
		.shows_weight = options_show_weight(destinations->options),
		.with_processes = destinations->options->with_processes,
	};
	const struct report_contents report = {
		.info = {
			.subject = period->subject,
			.quality = period->quality,
			.costs = period->costs,
			.type = profile_info_shown_type(&info),
			.duration_ns = period->duration_ns,
			.samples_per_second = destinations->options->samples_per_second,
		},
		.profile = info,
		.is_json = destinations->options->json,
	};
	enum report_stream stream = destinations->options->report;
	int error, report_error;

	if (!comments)
		return fail(-ENOMEM, "no memory for the tags");
	error = sample_store_take(destinations->samples, &snapshot);
	if (error)
		return error;
	error = output_files_write(&destinations->outputs, &snapshot, &info, lookup);
	report_error = stream ? report_output_write(stream, &snapshot, &report, lookup) : 0;
	return error ? error : report_error;
}

int destinations_finish(struct destinations *destinations, const struct sampling_period *period,
			struct symbol_lookup *lookup)
{
	int error = destinations->samples ? write_outputs(destinations, period, lookup) : 0;

	if (destinations->otlp)
		otlp_reporter_finish(destinations->otlp);
	return error;
}

void destinations_append_summary(const struct destinations *destinations, struct text_builder *text)
{
	if (!destinations->otlp)
		return;
	if (metrics_read(METRIC_OTLP_REQUESTS_SENT))
		text_builder_format(text, "; sent %llu samples in %llu requests",
				    (unsigned long long)metrics_read(METRIC_OTLP_SAMPLES_SENT),
				    (unsigned long long)metrics_read(METRIC_OTLP_REQUESTS_SENT));
	else
		text_builder_append(text, "; sent no samples");
	if (metrics_read(METRIC_OTLP_SAMPLES_DROPPED))
		text_builder_format(text, ", dropped %llu samples on the way",
				    (unsigned long long)metrics_read(METRIC_OTLP_SAMPLES_DROPPED));
	if (metrics_read(METRIC_OTLP_PROFILES_REJECTED))
		text_builder_format(
			text, ", %llu profiles rejected",
			(unsigned long long)metrics_read(METRIC_OTLP_PROFILES_REJECTED));
}
