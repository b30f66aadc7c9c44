/* SPDX-License-Identifier: Apache-2.0 */
/** The identity of a sample, and one sample as processes/ and importers hand it to reporters. */
#ifndef AGENT_BASE_SAMPLE_H
#define AGENT_BASE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/label_set.h"
#include "agent/base/process_info.h"
#include "agent/base/trace.h"

/** The texts and the numbers of the identity, a field of struct sample each. A new one goes to the end of its list. */
#define SAMPLE_TEXTS(X)                                                                            \
	X(process_comm)                                                                            \
	X(thread_comm)
#define SAMPLE_NUMBERS(X)                                                                          \
	X(pid)                                                                                     \
	X(tid)                                                                                     \
	X(cpu)

/** A number that is not known. */
#define SAMPLE_NO_NUMBER UINT32_MAX

#define SAMPLE_TEXT_FIELD(field) const char *field;
#define SAMPLE_NUMBER_FIELD(field) uint32_t field;

/** Two samples are the same one if all of this is equal. Whoever has a sample says who owns what it points to. */
struct sample {
	struct trace *trace;
	/** NULL for kernel threads, and for processes that are not known. */
	struct process_info *process;
	/** NULL if there are neither labels nor a number of the work. */
	const struct label_set *labels;
	/** Names of the process's leader and of the thread; any byte but NUL may be in them. */
	SAMPLE_TEXTS(SAMPLE_TEXT_FIELD)
	SAMPLE_NUMBERS(SAMPLE_NUMBER_FIELD)
};

#undef SAMPLE_TEXT_FIELD
#undef SAMPLE_NUMBER_FIELD

/** One sample that was taken; all that it points to is borrowed for the call. */
struct sample_event {
	struct sample sample;
	/** CLOCK_MONOTONIC. */
	uint64_t time_ns;
	/** The process was known when the sample was taken. */
	bool was_known;
};

/** Whether the frames and the files that they are of are equal. */
static inline bool traces_equal(const struct trace *a, const struct trace *b)
{
	return a == b ||
	       (hash128_equal(a->hash, b->hash) && a->executables_hash == b->executables_hash);
}

/** Whether the labels are equal; NULL equals only NULL. */
bool label_sets_equal(const struct label_set *a, const struct label_set *b);

/** Empty for this host. */
static inline const char *sample_host(const struct sample *sample)
{
	return sample->process ? sample->process->host_name : "";
}

/** Empty for none. */
static inline const char *sample_container(const struct sample *sample)
{
	return sample->process ? sample->process->container_id : "";
}

bool sample_equal(const struct sample *a, const struct sample *b);

/** Seeded (hash64_bytes()): nobody can choose samples with equal hashes. */
uint64_t sample_hash(const struct sample *sample);

#endif
