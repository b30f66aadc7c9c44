/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/side_band_record.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/error.h"

/* Behind the header; the time, which is last, is not listed. */
struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
	uint64_t start;
	uint64_t length;
	uint64_t file_offset;
	uint32_t device_major;
	uint32_t device_minor;
	uint64_t inode;
	uint64_t inode_generation;
	uint32_t protection;
	uint32_t flags;
	char path[];
};

_Static_assert(sizeof(struct mmap2_record) == 72, "as in PERF_RECORD_MMAP2");

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

static int parse_mmap2(const struct mmap2_record *record, size_t path_bytes,
		       struct side_band_event *event)
{
	if (!(record->protection & PROT_EXEC))
		return -ENOENT;
	if (strnlen(record->path, path_bytes) == path_bytes)
		return fail(-EBADMSG, "mmap record without an end");
	event->type = SIDE_BAND_MAPPING;
	event->pid = record->pid;
	event->start = record->start;
	event->length = record->length;
	event->offset = record->file_offset;
	event->device_major = record->device_major;
	event->device_minor = record->device_minor;
	event->inode = record->inode;
	event->path = record->path;
	return check_pid(record->pid);
}

/* Bytes of the parts that are read, the time apart; 0: the record is not for us. */
static size_t fixed_bytes(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP2:
		return sizeof(struct mmap2_record);
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
		err = parse_mmap2((const void *)record, behind, &event);
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
