/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/side_band_record.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/base/error.h"

/* Behind the header; what follows (a file name, the time) is not listed. */
struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
	uint64_t start;
	uint64_t length;
	uint64_t file_offset;
	/* Device and inode, or a build id. */
	uint8_t file[24];
	uint32_t protection;
	uint32_t flags;
};

_Static_assert(sizeof(struct mmap2_record) == 72, "as in PERF_RECORD_MMAP2");

struct fork_record {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t tid;
	uint32_t parent_tid;
	uint64_t time_ns;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
	char comm[];
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id;
	uint64_t count;
};

/* The kernel gives 0 or -1 for tasks that have no number in our namespace. */
static int check_pid(uint32_t pid)
{
	return pid == 0 || pid == UINT32_MAX ? -ENOENT : 0;
}

static int parse_mmap2(const struct mmap2_record *record, struct side_band_event *event)
{
	if (!(record->protection & PROT_EXEC))
		return -ENOENT;
	event->type = SIDE_BAND_MAPPING;
	event->pid = record->pid;
	event->tid = record->tid;
	event->start = record->start;
	event->length = record->length;
	return check_pid(record->pid);
}

static int parse_fork(const struct fork_record *record, struct side_band_event *event)
{
	event->type = SIDE_BAND_FORK;
	event->pid = record->pid;
	event->tid = record->tid;
	event->parent_pid = record->parent_pid;
	return check_pid(record->pid);
}

static int parse_comm(const struct comm_record *record, size_t comm_bytes,
		      struct side_band_event *event)
{
	if (record->pid != record->tid)
		return -ENOENT;
	if (strnlen(record->comm, comm_bytes) == comm_bytes)
		return fail(-EBADMSG, "comm record without an end");
	event->type = SIDE_BAND_COMM;
	event->pid = record->pid;
	event->tid = record->tid;
	event->comm = record->comm;
	return check_pid(record->pid);
}

/* Bytes of the parts that are read, the time apart; 0: the record is not for us. */
static size_t fixed_bytes(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP2:
		return sizeof(struct mmap2_record);
	case PERF_RECORD_FORK:
		return sizeof(struct fork_record);
	case PERF_RECORD_COMM:
		return sizeof(struct comm_record);
	case PERF_RECORD_LOST:
		return sizeof(struct lost_record);
	default:
		return 0;
	}
}

int side_band_record_parse(const struct perf_event_header *record, struct side_band_event *out,
			   uint64_t *lost_count)
{
	struct side_band_event event = { 0 };
	size_t fixed = fixed_bytes(record->type), behind;
	uint64_t lost = 0;
	int err = 0;

	if (!fixed)
		return -ENOENT;
	if (record->size < fixed + sizeof(event.time_ns))
		return fail(-EBADMSG, "perf record %u of %u bytes", record->type, record->size);
	behind = record->size - fixed - sizeof(event.time_ns);
	memcpy(&event.time_ns, (const uint8_t *)record + record->size - sizeof(event.time_ns),
	       sizeof(event.time_ns));
	switch (record->type) {
	case PERF_RECORD_MMAP2:
		err = parse_mmap2((const void *)record, &event);
		break;
	case PERF_RECORD_FORK:
		err = parse_fork((const void *)record, &event);
		break;
	case PERF_RECORD_COMM:
		err = parse_comm((const void *)record, behind, &event);
		break;
	case PERF_RECORD_LOST:
		event.type = SIDE_BAND_LOST;
		lost = ((const struct lost_record *)record)->count;
		break;
	}
	if (err)
		return err;
	*out = event;
	*lost_count = lost;
	return 0;
}
