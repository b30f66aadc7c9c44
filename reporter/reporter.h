/* SPDX-License-Identifier: Apache-2.0 */
/**
 * reporter/ turns converted traces into outputs for users and backends. Its interface is struct
 * reporter: processes/ passes every sample to one; the sample store behind it is the only shared
 * state.
 */
#ifndef REPORTER_REPORTER_H
#define REPORTER_REPORTER_H

#include "lib/model/sample.h"

struct reporter;

struct reporter_ops {
	/**
	 * Counts one sample. References the trace and the process if it keeps them, and copies the
	 * rest. Never blocks on I/O; called by the work thread.
	 */
	void (*report)(struct reporter *reporter, const struct sample_event *event);
};

struct reporter {
	const struct reporter_ops *ops;
};

#endif
