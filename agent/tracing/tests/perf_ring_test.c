/* SPDX-License-Identifier: Apache-2.0 */
/* The perf ring over memory of our own, written as the kernel writes it. */
#include "agent/tracing/perf_ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DATA_BYTES = 4096 };

struct fake {
	struct perf_event_mmap_page page;
	uint8_t data[DATA_BYTES];
	struct perf_ring ring;
	struct perf_ring_record scratch;
	uint64_t written;
};

static int set_up(void **state)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	fake->ring = (struct perf_ring){
		.page = &fake->page,
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

/* A record of @size bytes whose bytes behind the header all are @fill. */
static void write_record(struct fake *fake, uint16_t size, uint8_t fill)
{
	struct perf_event_header header = { .type = 77, .size = size };

	for (uint16_t i = 0; i < size; i++) {
		uint8_t byte = i < sizeof(header) ? ((const uint8_t *)&header)[i] : fill;

		fake->data[(fake->written + i) % DATA_BYTES] = byte;
	}
	fake->written += size;
	__atomic_store_n(&fake->page.data_head, fake->written, __ATOMIC_RELEASE);
}

static void check_next(struct fake *fake, uint16_t size, uint8_t fill)
{
	const struct perf_event_header *record =
		perf_ring_next(&fake->ring, perf_ring_end(&fake->ring), &fake->scratch);

	assert_non_null(record);
	assert_int_equal(record->type, 77);
	assert_int_equal(record->size, size);
	for (size_t i = sizeof(*record); i < size; i++)
		assert_int_equal(((const uint8_t *)record)[i], fill);
	perf_ring_advance(&fake->ring, record);
}

static void an_empty_ring_has_no_record(void **state)
{
	struct fake *fake = *state;

	assert_null(perf_ring_next(&fake->ring, perf_ring_end(&fake->ring), &fake->scratch));
}

static void records_come_in_order_around_the_wrap(void **state)
{
	struct fake *fake = *state;

	/* 4096 is no multiple of the sizes, so that borders fall everywhere. */
	for (uint32_t i = 0; i < 1000; i++) {
		uint16_t size = (uint16_t)(8 + i % 37 * 8);

		write_record(fake, size, (uint8_t)i);
		write_record(fake, 24, (uint8_t)~i);
		check_next(fake, size, (uint8_t)i);
		check_next(fake, 24, (uint8_t)~i);
		assert_int_equal(fake->page.data_tail, fake->written);
	}
}

static void records_behind_the_end_wait(void **state)
{
	struct fake *fake = *state;
	const struct perf_event_header *record;
	uint64_t end;

	write_record(fake, 16, 1);
	end = perf_ring_end(&fake->ring);
	write_record(fake, 16, 2);
	record = perf_ring_next(&fake->ring, end, &fake->scratch);
	assert_non_null(record);
	perf_ring_advance(&fake->ring, record);
	assert_null(perf_ring_next(&fake->ring, end, &fake->scratch));
	check_next(fake, 16, 2);
}

static void a_size_that_makes_no_sense_skips_what_is_there(void **state)
{
	static const uint16_t sizes[] = { 0, 7, 12, 4088, 65528 };
	struct fake *fake = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct perf_event_header *header =
			(void *)(fake->data + fake->written % DATA_BYTES);

		write_record(fake, 64, 1);
		header->size = sizes[i];
		assert_null(
			perf_ring_next(&fake->ring, perf_ring_end(&fake->ring), &fake->scratch));
		assert_int_equal(fake->page.data_tail, fake->written);
		write_record(fake, 32, 9);
		check_next(fake, 32, 9);
	}
}

#define RING_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING_TEST(an_empty_ring_has_no_record),
		RING_TEST(records_come_in_order_around_the_wrap),
		RING_TEST(records_behind_the_end_wait),
		RING_TEST(a_size_that_makes_no_sense_skips_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
