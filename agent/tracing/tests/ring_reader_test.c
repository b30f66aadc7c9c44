/* SPDX-License-Identifier: Apache-2.0 */
/* The ring buffer reader over memory of our own, written as kernel/bpf/ringbuf.c writes it. */
#include "agent/tracing/ring_reader.h"

#include <errno.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/tracing/tests/live_maps.h"

enum { DATA_BYTES = 1024 };

struct fake {
	uint64_t consumer;
	uint64_t producer;
	/* Both halves are kept equal, as the kernel's double mapping makes them. */
	uint8_t data[2 * DATA_BYTES];
	struct ring_reader reader;
	/* Records seen by the callback: the fill byte and the size of each. */
	uint8_t fills[4096];
	uint32_t sizes[4096];
	uint32_t count;
};

static int set_up(void **state)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	fake->reader = (struct ring_reader){
		.consumer_position = &fake->consumer,
		.producer_position = &fake->producer,
		.data = fake->data,
		.data_bytes = DATA_BYTES,
	};
	*state = fake;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void put_bytes(struct fake *fake, uint64_t position, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t offset = (position + i) % DATA_BYTES;

		fake->data[offset] = ((const uint8_t *)bytes)[i];
		fake->data[offset + DATA_BYTES] = ((const uint8_t *)bytes)[i];
	}
}

static uint64_t write_record(struct fake *fake, uint32_t bytes, uint8_t fill, uint32_t flags)
{
	uint64_t position = fake->producer;
	uint32_t header[2] = { bytes | flags, 0 };
	uint8_t body[DATA_BYTES];

	memset(body, fill, sizeof(body));
	put_bytes(fake, position, header, sizeof(header));
	put_bytes(fake, position + sizeof(header), body, bytes);
	__atomic_store_n(&fake->producer, position + (bytes + sizeof(header) + 7) / 8 * 8,
			 __ATOMIC_RELEASE);
	return position;
}

static void on_record(void *context, const void *record, size_t bytes)
{
	struct fake *fake = context;
	const uint8_t *body = record;

	for (size_t i = 1; i < bytes; i++)
		assert_int_equal(body[i], body[0]);
	fake->fills[fake->count] = body[0];
	fake->sizes[fake->count++] = (uint32_t)bytes;
}

static uint32_t consume(struct fake *fake, uint64_t end)
{
	return ring_reader_consume(&fake->reader, end, on_record, fake);
}

static void records_come_in_order_around_the_wrap(void **state)
{
	struct fake *fake = *state;

	for (uint32_t i = 0; i < 1000; i++) {
		write_record(fake, 1 + i % 300, (uint8_t)i, 0);
		write_record(fake, 5, (uint8_t)~i, 0);
		assert_int_equal(consume(fake, ring_reader_end(&fake->reader)), 2);
		assert_int_equal(fake->sizes[2 * i], 1 + i % 300);
		assert_int_equal(fake->fills[2 * i], (uint8_t)i);
		assert_int_equal(fake->fills[2 * i + 1], (uint8_t)~i);
		assert_int_equal(fake->consumer, fake->producer);
	}
}

static void a_record_that_is_not_finished_holds_back_those_behind_it(void **state)
{
	struct fake *fake = *state;
	const uint32_t finished = 16;
	uint64_t busy;

	write_record(fake, 16, 1, 0);
	busy = write_record(fake, 16, 2, BPF_RINGBUF_BUSY_BIT);
	write_record(fake, 16, 3, 0);
	assert_int_equal(consume(fake, ring_reader_end(&fake->reader)), 1);
	assert_int_equal(fake->consumer, busy);
	assert_int_equal(consume(fake, ring_reader_end(&fake->reader)), 0);
	put_bytes(fake, busy, &finished, sizeof(finished));
	assert_int_equal(consume(fake, ring_reader_end(&fake->reader)), 2);
	assert_int_equal(fake->fills[1], 2);
	assert_int_equal(fake->fills[2], 3);
}

static void discarded_records_are_passed_over(void **state)
{
	struct fake *fake = *state;

	write_record(fake, 16, 1, BPF_RINGBUF_DISCARD_BIT);
	write_record(fake, 16, 2, 0);
	assert_int_equal(consume(fake, ring_reader_end(&fake->reader)), 1);
	assert_int_equal(fake->fills[0], 2);
	assert_int_equal(fake->consumer, fake->producer);
}

static void records_behind_the_end_wait(void **state)
{
	struct fake *fake = *state;
	uint64_t end;

	write_record(fake, 16, 1, 0);
	end = ring_reader_end(&fake->reader);
	write_record(fake, 16, 2, 0);
	assert_int_equal(consume(fake, end), 1);
	assert_int_equal(consume(fake, end), 0);
	assert_int_equal(consume(fake, ring_reader_end(&fake->reader)), 1);
	assert_int_equal(fake->fills[1], 2);
}

static void only_a_ring_buffer_is_mapped(void **state)
{
	struct ring_reader reader;
	int array = live_array(8, 1, 0), ring = live_ring(1 << 16);

	(void)state;
	if (array < 0 || ring < 0) {
		print_message("bpf(2) is refused here\n");
		skip();
	}
	assert_int_equal(ring_reader_init(&reader, array), -EINVAL);
	assert_int_equal(ring_reader_init(&reader, ring), 0);
	assert_int_equal(reader.data_bytes, 1 << 16);
	assert_int_equal(ring_reader_end(&reader), 0);
	assert_int_equal(ring_reader_consume(&reader, 0, on_record, NULL), 0);
	ring_reader_deinit(&reader);
	ring_reader_deinit(&reader);
	close(array);
	close(ring);
}

#define RING_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING_TEST(records_come_in_order_around_the_wrap),
		RING_TEST(a_record_that_is_not_finished_holds_back_those_behind_it),
		RING_TEST(discarded_records_are_passed_over),
		RING_TEST(records_behind_the_end_wait),
		cmocka_unit_test(only_a_ring_buffer_is_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
