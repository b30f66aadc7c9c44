/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/ring_reader.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/error.h"

int ring_reader_init(struct ring_reader *reader, int map_fd)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct bpf_map_info info = { 0 };
	uint32_t info_bytes = sizeof(info);
	void *consumer, *producer;
	int err;

	if (bpf_obj_get_info_by_fd(map_fd, &info, &info_bytes))
		return fail_errno(-errno, "cannot read the size of a ring buffer");
	if (info.type != BPF_MAP_TYPE_RINGBUF)
		return fail(-EINVAL, "map %u is no ring buffer", info.id);
	consumer = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (consumer == MAP_FAILED)
		return fail_errno(-errno, "cannot map a ring buffer");
	/* The kernel maps the data twice, so that a record that wraps can be read in one chunk. */
	producer = mmap(NULL, page_bytes + 2 * (size_t)info.max_entries, PROT_READ, MAP_SHARED,
			map_fd, (off_t)page_bytes);
	if (producer == MAP_FAILED) {
		err = -errno;
		munmap(consumer, page_bytes);
		return fail_errno(err, "cannot map a ring buffer");
	}
	*reader = (struct ring_reader){
		.consumer_position = consumer,
		.producer_position = producer,
		.data = (const uint8_t *)producer + page_bytes,
		.data_bytes = info.max_entries,
		.page_bytes = page_bytes,
	};
	return 0;
}

void ring_reader_deinit(struct ring_reader *reader)
{
	if (!reader->consumer_position)
		return;
	munmap((void *)reader->producer_position, reader->page_bytes + 2 * reader->data_bytes);
	munmap(reader->consumer_position, reader->page_bytes);
	*reader = (struct ring_reader){ 0 };
}

uint64_t ring_reader_end(const struct ring_reader *reader)
{
	return __atomic_load_n(reader->producer_position, __ATOMIC_ACQUIRE);
}

uint32_t ring_reader_consume(struct ring_reader *reader, uint64_t end,
			     ring_reader_callback callback, void *context)
{
	/* Only we write it. */
	uint64_t position = __atomic_load_n(reader->consumer_position, __ATOMIC_RELAXED);
	uint32_t count = 0;

	while (position < end) {
		const uint8_t *header = reader->data + (position & (reader->data_bytes - 1));
		/* The kernel finishes a record by storing its length without the busy bit. */
		uint32_t length = __atomic_load_n((const uint32_t *)header, __ATOMIC_ACQUIRE);
		uint32_t bytes = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (length & BPF_RINGBUF_BUSY_BIT)
			break;
		if (!(length & BPF_RINGBUF_DISCARD_BIT)) {
			callback(context, header + BPF_RINGBUF_HDR_SZ, bytes);
			count++;
		}
		position += (bytes + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
		__atomic_store_n(reader->consumer_position, position, __ATOMIC_RELEASE);
	}
	return count;
}
