/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/side_band.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/tracing/cpu_events.h"
#include "agent/tracing/perf_ring.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/model/metrics.h"

/*
 * A busy build maps a few thousand files per second and CPU, at some 130 bytes each: enough for a
 * tenth of a second without a reader, which is woken when a ring is a quarter full.
 */
enum {
	RING_BYTES = 128 * 1024,
	WAKE_UP_BYTES = RING_BYTES / 4,
};

struct side_band {
	struct cpu_events events;
	int epoll_fd;
	/* A ring was added since the last tick. */
	bool has_new_cpu;
	/* Buffer for records that wrap. */
	struct perf_ring_record scratch;
	/*
	 * The previous record, if it is not larger than usual; size 0: none. is_repeated: it came again after
	 * it was handed out.
	 */
	struct last_record {
		uint16_t size;
		bool is_repeated;
		_Alignas(uint64_t) uint8_t bytes[256];
	} last;
};

/* --- records --- */

/* Layout of the record; the time at its end is not listed. */
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

struct ksymbol_record {
	struct perf_event_header header;
	uint64_t start;
	uint32_t length;
	uint16_t type;
	uint16_t flags;
	char name[];
};

_Static_assert(sizeof(struct ksymbol_record) == 24, "as in PERF_RECORD_KSYMBOL");

struct lost_record {
	struct perf_event_header header;
	uint64_t id;
	uint64_t count;
};

/* The kernel reports 0 or -1 for tasks that have no pid in our namespace. */
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

/* Records of unloaded code are irrelevant: if other code runs there later, that has a record of its own. */
static int parse_ksymbol(const struct ksymbol_record *record, size_t name_bytes,
			 struct side_band_event *event)
{
	if (record->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
		return -ENOENT;
	if (strnlen(record->name, name_bytes) == name_bytes)
		return fail(-EBADMSG, "ksymbol record without an end");
	event->type = SIDE_BAND_KERNEL_CODE;
	event->start = record->start;
	event->length = record->length;
	event->path = record->type == PERF_RECORD_KSYMBOL_TYPE_BPF ? record->name : "";
	return 0;
}

/* Size of the fields that are read, without the time; 0: the record is irrelevant. */
static size_t fixed_bytes(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP2:
		return sizeof(struct mmap2_record);
	case PERF_RECORD_KSYMBOL:
		return sizeof(struct ksymbol_record);
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
	case PERF_RECORD_KSYMBOL:
		err = parse_ksymbol((const void *)record, behind, &event);
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

/* --- rings --- */

static int event_opened(void *context, struct cpu_event *event)
{
	struct side_band *side_band = context;
	/*
	 * Edge-triggered, because the event of an offline CPU reports a hang-up for ever. No record is missed,
	 * since a wake-up makes us read all rings to their ends.
	 */
	struct epoll_event wanted = { .events = EPOLLIN | EPOLLET };
	struct perf_ring *ring = calloc(1, sizeof(*ring));
	int err;

	if (!ring)
		return -ENOMEM;
	err = perf_ring_init(ring, event->fd, RING_BYTES);
	if (!err && epoll_ctl(side_band->epoll_fd, EPOLL_CTL_ADD, event->fd, &wanted))
		err = fail_errno(-errno, "cannot make the epoll descriptor of the side-band");
	if (err) {
		perf_ring_deinit(ring);
		free(ring);
		return err;
	}
	event->data = ring;
	side_band->has_new_cpu = true;
	return 0;
}

static void event_closing(void *context, struct cpu_event *event)
{
	struct side_band *side_band = context;

	epoll_ctl(side_band->epoll_fd, EPOLL_CTL_DEL, event->fd, NULL);
	perf_ring_deinit(event->data);
	free(event->data);
}

static const struct cpu_events_ops event_ops = {
	.opened = event_opened,
	.closing = event_closing,
};

int side_band_create(struct side_band **out)
{
	struct side_band *side_band = calloc(1, sizeof(*side_band));
	int err = 0;

	if (!side_band)
		return -ENOMEM;
	side_band->events.ops = &event_ops;
	side_band->events.context = side_band;
	side_band->events.is_running = true;
	side_band->events.attributes = (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		/*
		 * Without mmap_data, only executable mappings are reported. The kernel adds records of tasks that begin
		 * and end, whether they are wanted or not.
		 */
		.mmap = 1,
		.mmap2 = 1,
		.ksymbol = 1,
		/* Waking the reader for each record would slow down processes that map files. */
		.watermark = 1,
		.wakeup_watermark = WAKE_UP_BYTES,
	};
	side_band->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (side_band->epoll_fd < 0)
		err = fail_errno(-errno, "epoll");
	if (!err)
		err = cpu_events_follow(&side_band->events);
	if (err) {
		side_band_destroy(side_band);
		return err;
	}
	side_band->has_new_cpu = false;
	*out = side_band;
	return 0;
}

void side_band_destroy(struct side_band *side_band)
{
	if (!side_band)
		return;
	cpu_events_deinit(&side_band->events);
	if (side_band->epoll_fd >= 0)
		close(side_band->epoll_fd);
	free(side_band);
}

int side_band_fd(const struct side_band *side_band)
{
	return side_band->epoll_fd;
}

static uint32_t hand_out(const struct perf_event_header *record,
			 const struct event_handler *handler)
{
	struct side_band_event event;
	uint64_t lost_count;

	if (side_band_record_parse(record, &event, &lost_count))
		return 0;
	metrics_add(METRIC_SIDE_BAND_LOST, lost_count);
	handler->side_band(handler->context, &event);
	return 1;
}

/* Hands out the last of several equal records. */
static uint32_t hand_out_repeated(struct last_record *last, const struct event_handler *handler)
{
	if (!last->is_repeated)
		return 0;
	last->is_repeated = false;
	return hand_out((const void *)last->bytes, handler);
}

/* Whether @record equals the previous one except the time, which is at its end. */
static bool repeats(const struct last_record *last, const struct perf_event_header *record)
{
	return last->size == record->size && record->type == PERF_RECORD_MMAP2 &&
	       !memcmp(last->bytes, record, record->size - sizeof(uint64_t));
}

/*
 * A program that maps and unmaps the same file, or changes protections, as fast as it can, produces equal
 * records. Of consecutive equal records the first and the last are handed out.
 */
static uint32_t take_record(struct side_band *side_band, const struct perf_event_header *record,
			    const struct event_handler *handler)
{
	struct last_record *last = &side_band->last;
	bool is_repeated = repeats(last, record);
	uint32_t count = is_repeated ? 0 : hand_out_repeated(last, handler);

	last->is_repeated = is_repeated;
	last->size = record->size <= sizeof(last->bytes) ? record->size : 0;
	memcpy(last->bytes, record, last->size);
	return is_repeated ? 0 : count + hand_out(record, handler);
}

static uint32_t drain_ring(struct side_band *side_band, struct perf_ring *ring,
			   const struct event_handler *handler)
{
	uint64_t end = perf_ring_end(ring);
	const struct perf_event_header *record;
	uint64_t record_count = 0, bytes = 0;
	uint32_t count = 0;

	/* Records of an earlier round may have been handled already. */
	side_band->last.size = 0;
	while ((record = perf_ring_next(ring, end, &side_band->scratch))) {
		record_count++;
		bytes += record->size;
		count += take_record(side_band, record, handler);
		perf_ring_advance(ring, record);
	}
	metrics_add(METRIC_SIDE_BAND_RECORDS, record_count);
	metrics_add(METRIC_SIDE_BAND_READ, bytes);
	return count + hand_out_repeated(&side_band->last, handler);
}

uint32_t side_band_drain(struct side_band *side_band, const struct event_handler *handler)
{
	const struct cpu_event_vector *events = &side_band->events.events;
	struct epoll_event ready[64];
	uint32_t count = 0;

	/*
	 * This only clears edges of the epoll. All rings are read, at the cost of one load each, so an edge
	 * that remains means no unread record.
	 */
	(void)epoll_wait(side_band->epoll_fd, ready, sizeof(ready) / sizeof(ready[0]), 0);
	for (size_t i = 0; i < events->count; i++)
		count += drain_ring(side_band, events->items[i].data, handler);
	metrics_add(METRIC_SIDE_BAND_EVENTS, count);
	return count;
}

int side_band_tick(struct side_band *side_band, const struct event_handler *handler)
{
	int err;

	/* Drains the rings before those of offline CPUs are unmapped. */
	side_band_drain(side_band, handler);
	err = cpu_events_follow(&side_band->events);
	if (side_band->has_new_cpu) {
		struct side_band_event lost = {
			.type = SIDE_BAND_LOST,
			.time_ns = clock_monotonic_ns(),
		};

		handler->side_band(handler->context, &lost);
		side_band->has_new_cpu = false;
	}
	return err;
}
