/* SPDX-License-Identifier: Apache-2.0 */
/** The identity of a sample, and one sample as processes/ and importers hand it to reporters. */
#ifndef LIB_MODEL_SAMPLE_H
#define LIB_MODEL_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/origins.h"
#include "lib/model/label_set.h"
#include "lib/model/process_info.h"
#include "lib/model/trace.h"

/** A number that is not known. */
#define SAMPLE_NO_NUMBER UINT32_MAX

/**
 * The attributes of a sample: NAME, field, kind (TEXT, NUMBER), whether they are of its PROCESS or of the SAMPLE, the number
 * that is not known and that outputs leave out, key in OTLP, key in pprof, name of the page's selector. An output without a
 * key leaves the attribute out. A new one goes to the end.
 */
#define SAMPLE_ATTRIBUTES(X)                                                                       \
	X(COMM, process_comm, TEXT, PROCESS, 0, "", "comm", "comm")                                \
	X(PID, pid, NUMBER, PROCESS, SAMPLE_NO_NUMBER, "process.pid", "pid", "pid")                \
	X(THREAD, thread_comm, TEXT, SAMPLE, 0, "thread.name", "thread", "thread")                 \
	X(TID, tid, NUMBER, SAMPLE, SAMPLE_NO_NUMBER, "thread.id", "tid", "tid")                   \
	X(CPU, cpu, NUMBER, SAMPLE, SAMPLE_NO_NUMBER, "cpu.logical_number", "", "cpu")

enum {
#define X(NAME, ...) SAMPLE_##NAME,
	SAMPLE_ATTRIBUTES(X)
#undef X
		SAMPLE_ATTRIBUTE_COUNT,
};

/* The fields of one kind. */
#define SAMPLE_TEXT_OF_TEXT(field) const char *field;
#define SAMPLE_TEXT_OF_NUMBER(field)
#define SAMPLE_NUMBER_OF_TEXT(field)
#define SAMPLE_NUMBER_OF_NUMBER(field) uint32_t field;
#define SAMPLE_TEXT_FIELD(NAME, field, kind, ...) SAMPLE_TEXT_OF_##kind(field)
#define SAMPLE_NUMBER_FIELD(NAME, field, kind, ...) SAMPLE_NUMBER_OF_##kind(field)

/**
 * Two samples are the same if all fields are equal. The code that holds a sample states who owns what it points
 * to.
 */
struct sample {
	struct trace *trace;
	/** NULL for kernel threads and unknown processes. */
	struct process_info *process;
	/** NULL if there are neither labels nor an id of the current work. */
	const struct label_set *labels;
	/** Names of the process's leader and of the thread; any byte but NUL may be in them. */
	SAMPLE_ATTRIBUTES(SAMPLE_TEXT_FIELD)
	SAMPLE_ATTRIBUTES(SAMPLE_NUMBER_FIELD)
	/** enum origin. */
	uint8_t origin;
};

#undef SAMPLE_TEXT_OF_TEXT
#undef SAMPLE_TEXT_OF_NUMBER
#undef SAMPLE_NUMBER_OF_TEXT
#undef SAMPLE_NUMBER_OF_NUMBER
#undef SAMPLE_TEXT_FIELD
#undef SAMPLE_NUMBER_FIELD

enum sample_attribute_kind {
	ATTRIBUTE_TEXT,
	ATTRIBUTE_NUMBER,
};

enum sample_attribute_owner {
	ATTRIBUTE_OF_PROCESS,
	ATTRIBUTE_OF_SAMPLE,
};

struct sample_attribute {
	/** Offset of the field in struct sample. */
	uint16_t offset;
	/** enum sample_attribute_kind, enum sample_attribute_owner. */
	uint8_t kind;
	uint8_t owner;
	/** The number that is not known; texts have none. */
	uint32_t unknown;
	const char *otlp;
	const char *pprof;
	const char *selector;
};

extern const struct sample_attribute sample_attributes[SAMPLE_ATTRIBUTE_COUNT];

static inline const char *sample_text(const struct sample *sample, uint32_t attribute)
{
	return *(const char *const *)((const char *)sample + sample_attributes[attribute].offset);
}

static inline uint32_t sample_number(const struct sample *sample, uint32_t attribute)
{
	return *(const uint32_t *)((const char *)sample + sample_attributes[attribute].offset);
}

static inline void sample_set_text(struct sample *sample, uint32_t attribute, const char *text)
{
	*(const char **)((char *)sample + sample_attributes[attribute].offset) = text;
}

static inline void sample_set_number(struct sample *sample, uint32_t attribute, uint32_t number)
{
	*(uint32_t *)((char *)sample + sample_attributes[attribute].offset) = number;
}

/** One sample that was taken. All pointers in it are borrowed for the call. */
struct sample_event {
	struct sample sample;
	/** CLOCK_MONOTONIC. */
	uint64_t time_ns;
	/** Value in the unit of the sample's origin; not read where the origin has no values. */
	uint64_t value;
	/** The process was known when the sample was taken. */
	bool was_known;
	/** The trace was made for this sample. Later samples of the same stack share it as long as it is cached. */
	bool has_new_trace;
};

/** Whether the frames are equal and belong to the same files. */
static inline bool traces_equal(const struct trace *a, const struct trace *b)
{
	return a == b ||
	       (hash128_equal(a->hash, b->hash) && a->executables_hash == b->executables_hash);
}

/** Whether the labels are equal; NULL equals only NULL. */
bool label_sets_equal(const struct label_set *a, const struct label_set *b);

/** Name of the sample's host; empty for this host. */
static inline const char *sample_host(const struct sample *sample)
{
	return sample->process ? sample->process->host_name : "";
}

/** Container id of the sample's process; empty if there is none. */
static inline const char *sample_container(const struct sample *sample)
{
	return sample->process ? sample->process->container_id : "";
}

/** Name of the user that the sample's process runs as; empty if it is not known. */
static inline const char *sample_user(const struct sample *sample)
{
	return sample->process ? sample->process->user_name : "";
}

/** systemd unit of the sample's process; empty if there is none. */
static inline const char *sample_unit(const struct sample *sample)
{
	return sample->process ? sample->process->unit : "";
}

/** Pid of the parent of the sample's process; 0 if it is not known. */
static inline uint32_t sample_parent(const struct sample *sample)
{
	return sample->process ? sample->process->parent_pid : 0;
}

/** False for a sample of a profile that has neither a name nor a number of its process. */
static inline bool sample_has_process(const struct sample *sample)
{
	return *sample->process_comm || sample->pid != SAMPLE_NO_NUMBER;
}

/** The same for its thread. */
static inline bool sample_has_thread(const struct sample *sample)
{
	return *sample->thread_comm || sample->tid != SAMPLE_NO_NUMBER;
}

bool sample_equal(const struct sample *a, const struct sample *b);

/** Seeded (hash64_bytes()): nobody can choose samples with equal hashes. */
uint64_t sample_hash(const struct sample *sample);

#endif
