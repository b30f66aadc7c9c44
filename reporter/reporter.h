/* SPDX-License-Identifier: Apache-2.0 */
/**
 * reporter/ turns converted traces into what users and backends read. This is its door: processes/
 * hands every sample to one struct reporter; the sample store behind it is the only shared state.
 */
#ifndef REPORTER_REPORTER_H
#define REPORTER_REPORTER_H

#include "lib/model/sample.h"

struct reporter;

struct reporter_ops {
	/**
	 * Counts one sample; the reporter references the trace and the process if it keeps them, and
	 * copies the rest. Never blocks on I/O; called by the work thread.
	 */
	void (*report)(struct reporter *reporter, const struct sample_event *event);
};

struct reporter {
	const struct reporter_ops *ops;
};

#endif
