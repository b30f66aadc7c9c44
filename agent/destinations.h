/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where the samples of a run go: counted first, then to native_names.h, if names are wanted, to the page and into the
 * store for the local outputs, if there are any, and to the collector, if there is one.
 */
#ifndef AGENT_DESTINATIONS_H
#define AGENT_DESTINATIONS_H

#include <stdint.h>
#include <sys/utsname.h>

#include "agent/doctor.h"
#include "agent/native_names.h"
#include "agent/options.h"
#include "lib/base/text_builder.h"
#include "lib/host/host_identity.h"
#include "lib/model/symbol_lookup.h"
#include "reporter/grpc_transport.h"
#include "reporter/otlp_reporter.h"
#include "reporter/output_files.h"
#include "reporter/sample_store.h"
#include "reporter/sample_totals.h"
#include "symbols/go_symbols.h"
#include "viewer/receive/receiver.h"
#include "viewer/viewer.h"

/* Owner: struct agent. Zeroed, it can be taken down. */
struct destinations {
	const struct options *options;
	struct sample_counter counter;
	/* The page. */
	struct viewer *viewer;
	/* Samples of other machines, counted for themselves, in front of the page. */
	struct sample_counter received;
	struct receiver *receiver;
	/* What -doctor finds. */
	struct doctor *doctor;
	/* Of either; NULL: neither is there. */
	struct history *history;
	struct native_names *names;
	struct utsname kernel;
	/* Local outputs. */
	struct output_files outputs;
	struct sample_store *samples;
	/* The collector. */
	struct host_identity host;
	struct otlp_attribute *attributes;
	struct otlp_options otlp_options;
	/** For the report thread alone, if nobody names more: names of Go. */
	struct go_symbols *go_symbols;
	struct grpc_transport_options transport_options;
	struct grpc_transport *transport;
	struct otlp_reporter *otlp;
};

/**
 * Checks the output paths, the certificates and headers, and makes all of it; nothing is sent yet.
 * @options is borrowed, as is @names. -EINVAL with a text for users for what is wrong among the options. Signals
 * that only one thread is to take must be blocked before.
 */
int destinations_init(struct destinations *destinations, const struct options *options,
		      struct native_names *names);
void destinations_deinit(struct destinations *destinations);

/** The reporter to hand every sample to. */
struct reporter *destinations_reporter(struct destinations *destinations);

/** Appends what the start line says: "a.folded, collector host:4317 (TLS)". */
void destinations_describe(const struct destinations *destinations, struct text_builder *text);

/** When sampling begins. */
int destinations_start(struct destinations *destinations);

/** When all samples have come: has the rest sent, until @deadline_ns at most, and returns. */
void destinations_begin_stop(struct destinations *destinations, uint64_t deadline_ns);

/** When and how the samples of the local outputs were taken. */
struct sampling_period {
	/** The same moment by both clocks. */
	uint64_t start_realtime_ns;
	uint64_t start_monotonic_ns;
	uint64_t duration_ns;
};

/**
 * Writes the local outputs, with names from @lookup, and waits for what is being sent. 0 or the
 * first failure of an output; what could not be sent is no failure.
 */
int destinations_finish(struct destinations *destinations, const struct sampling_period *period,
			struct symbol_lookup *lookup);

/** Appends what the line at exit says of the collector; nothing if there is none. */
void destinations_append_summary(const struct destinations *destinations,
				 struct text_builder *text);

#endif
