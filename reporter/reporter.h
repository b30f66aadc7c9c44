/* SPDX-License-Identifier: Apache-2.0 */
/**
 * reporter/ turns converted traces into what users and backends read. This is its door: processes/
 * hands every sample to one struct reporter; the sample store behind it is the only shared state.
 */
#ifndef REPORTER_REPORTER_H
#define REPORTER_REPORTER_H

#include "agent/base/trace.h"

struct reporter;

struct reporter_ops {
	/**
	 * Counts one sample of @trace, which the reporter references if it keeps it. Never blocks on
	 * I/O; called by the work thread.
	 */
	void (*report)(struct reporter *reporter, struct trace *trace,
		       const struct sample_context *context);
};

struct reporter {
	const struct reporter_ops *ops;
};

#endif
