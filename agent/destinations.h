/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The destinations of a run's samples. They are counted first, then passed to native_names.h if names are
 * wanted, to the page and the store for local outputs if there are any, and to the collector if there is one.
 */
#ifndef AGENT_DESTINATIONS_H
#define AGENT_DESTINATIONS_H

#include <stdint.h>
#include <sys/utsname.h>

#include "agent/accounting.h"
#include "agent/doctor.h"
#include "agent/native_names.h"
#include "agent/options.h"
#include "agent/stop_signal.h"
#include "agent/top/top.h"
#include "lib/base/text_builder.h"
#include "lib/host/host_identity.h"
#include "lib/model/symbol_lookup.h"
#include "reporter/cost_table.h"
#include "reporter/grpc_transport.h"
#include "reporter/otlp_reporter.h"
#include "reporter/output_files.h"
#include "reporter/sample_store.h"
#include "reporter/sample_totals.h"
#include "reporter/sample_weigher.h"
#include "symbols/go_symbols.h"
#include "viewer/metrics_server.h"
#include "viewer/receive/receiver.h"
#include "viewer/viewer.h"

/* Owner: struct agent. A zeroed struct can be deinitialized. */
struct destinations {
	const struct options *options;
	/* When the agent was started, ns since 1970. */
	uint64_t start_ns;
	/* Atomic: when the agent's thread brought the metrics up to date, CLOCK_MONOTONIC. */
	uint64_t updated_ns;
	struct sample_counter counter;
	/* The page. */
	struct viewer *viewer;
	struct metrics_server *metrics;
	/* Samples of other machines, counted separately before they go to the page. */
	struct sample_counter received;
	struct receiver *receiver;
	/* The live view of the terminal, which stops the run by `stop`. */
	struct top *top;
	struct stop_signal *stop;
	/* Shares out costs over samples; NULL without -weight. */
	struct sample_weigher *weigher;
	/* Costs of processes, for the page; NULL if they are not counted. Borrowed, set before destinations_start(). */
	struct accounting *accounting;
	/* Findings of -doctor. */
	struct doctor *doctor;
	/* History of the page or of -doctor; NULL if there is neither. */
	struct history *history;
	struct native_names *names;
	struct utsname kernel;
	/* Local outputs. */
	struct output_files outputs;
	struct sample_store *samples;
	/* The collector. */
	struct host_identity host;
	/* The options that selected processes, for the page. */
	struct text_builder selection;
	struct otlp_attribute *attributes;
	struct otlp_options otlp_options;
	/** Names of Go for the report thread, if no other names are wanted. */
	struct go_symbols *go_symbols;
	struct grpc_transport_options transport_options;
	struct grpc_transport *transport;
	struct otlp_reporter *otlp;
};

/**
 * Checks the output paths, the certificates and headers, and makes all destinations; nothing is sent yet.
 * @options, @names and @stop are borrowed. -EINVAL with a text for users if an option is wrong. Signals that only one
 * thread may handle must be blocked before.
 */
int destinations_init(struct destinations *destinations, const struct options *options,
		      struct native_names *names, struct stop_signal *stop);
void destinations_deinit(struct destinations *destinations);

/** The reporter that takes every sample. */
struct reporter *destinations_reporter(struct destinations *destinations);

/** Appends the destinations for the start line: "a.folded, collector host:4317 (TLS)". */
void destinations_describe(const struct destinations *destinations, struct text_builder *text);

/** The agent's thread has brought the metrics up to date. */
void destinations_note_update(struct destinations *destinations, uint64_t now_ns);

/** Shares out the costs that are left over samples. All samples and costs were reported. */
void destinations_weigh_rest(struct destinations *destinations);

/** To be called when sampling begins. */
int destinations_start(struct destinations *destinations);

/**
 * To be called when all samples have been reported: starts sending the rest, until @deadline_ns at most, and
 * returns.
 */
void destinations_begin_stop(struct destinations *destinations, uint64_t deadline_ns);

/** The period in which the samples of the local outputs were taken. */
struct sampling_period {
	/** The same moment by both clocks. */
	uint64_t start_realtime_ns;
	uint64_t start_monotonic_ns;
	uint64_t duration_ns;
	/** For the report: what was sampled, and the line about the quality of the samples. */
	const char *subject;
	const char *quality;
	/** For the report: what processes have cost; NULL without -accounting. */
	const struct cost_table *costs;
};

/**
 * Writes the local outputs, with names from @lookup, and waits for samples that are being sent. 0 or the first
 * failure of an output; unsent samples are no failure.
 */
int destinations_finish(struct destinations *destinations, const struct sampling_period *period,
			struct symbol_lookup *lookup);

/** Appends the collector's part of the line at exit; nothing if there is no collector. */
void destinations_append_summary(const struct destinations *destinations,
				 struct text_builder *text);

#endif
