/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/side_band.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { TIME = 123456 };

/* A record put together field by field, the way perf_event_open(2) lists them. */
struct builder {
	_Alignas(8) uint8_t bytes[512];
	uint16_t size;
};

static void add(struct builder *builder, const void *bytes, size_t count)
{
	memcpy(builder->bytes + builder->size, bytes, count);
	builder->size = (uint16_t)(builder->size + count);
}

static void add_u32(struct builder *builder, uint32_t value)
{
	add(builder, &value, sizeof(value));
}

static void add_u64(struct builder *builder, uint64_t value)
{
	add(builder, &value, sizeof(value));
}

static struct builder begin(void)
{
	return (struct builder){ .size = sizeof(struct perf_event_header) };
}

static const struct perf_event_header *finish(struct builder *builder, uint32_t type)
{
	struct perf_event_header header = { .type = type };

	add_u64(builder, TIME);
	header.size = builder->size;
	memcpy(builder->bytes, &header, sizeof(header));
	return (const void *)builder->bytes;
}

static struct builder mmap2_of(uint32_t pid, uint32_t protection, const char path[16])
{
	struct builder builder = begin();

	add_u32(&builder, pid);
	add_u32(&builder, 11);
	add_u64(&builder, 0x7f0000001000);
	add_u64(&builder, 0x5000);
	add_u64(&builder, 0x1000);
	add_u32(&builder, 8);
	add_u32(&builder, 1);
	add_u64(&builder, 4711);
	add_u64(&builder, 1);
	add_u32(&builder, protection);
	add_u32(&builder, MAP_PRIVATE);
	add(&builder, path, 16);
	return builder;
}

static struct builder mmap2(uint32_t pid, uint32_t protection)
{
	return mmap2_of(pid, protection, "/lib/x.so\0\0\0\0\0\0");
}

static struct builder ksymbol(uint16_t type, uint16_t flags, const char name[16])
{
	struct builder builder = begin();

	add_u64(&builder, 0xffffffffc0c00000);
	add_u32(&builder, 0x123);
	add(&builder, &type, sizeof(type));
	add(&builder, &flags, sizeof(flags));
	add(&builder, name, 16);
	return builder;
}

static void code_that_the_kernel_loads_is_read(void **state)
{
	struct builder builder = ksymbol(PERF_RECORD_KSYMBOL_TYPE_BPF, 0, "bpf_prog_1_x\0\0\0");
	struct side_band_event event;
	uint64_t lost_count;

	(void)state;
	assert_int_equal(side_band_record_parse(finish(&builder, PERF_RECORD_KSYMBOL), &event,
						&lost_count),
			 0);
	assert_int_equal(event.type, SIDE_BAND_KERNEL_CODE);
	assert_int_equal(event.time_ns, TIME);
	assert_int_equal(event.start, 0xffffffffc0c00000);
	assert_int_equal(event.length, 0x123);
	assert_string_equal(event.path, "bpf_prog_1_x");
	builder = ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL, 0, "ftrace_trampoli");
	assert_int_equal(side_band_record_parse(finish(&builder, PERF_RECORD_KSYMBOL), &event,
						&lost_count),
			 0);
	assert_string_equal(event.path, "");
	builder = ksymbol(PERF_RECORD_KSYMBOL_TYPE_BPF, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
			  "bpf_prog_1_x\0\0\0");
	assert_int_equal(side_band_record_parse(finish(&builder, PERF_RECORD_KSYMBOL), &event,
						&lost_count),
			 -ENOENT);
	builder = ksymbol(PERF_RECORD_KSYMBOL_TYPE_BPF, 0, "bpf_prog_1_xxxxx");
	assert_int_equal(side_band_record_parse(finish(&builder, PERF_RECORD_KSYMBOL), &event,
						&lost_count),
			 -EBADMSG);
}

static void an_executable_mapping_is_read(void **state)
{
	struct builder builder = mmap2(10, PROT_READ | PROT_EXEC);
	struct side_band_event event;
	uint64_t lost = 1;

	(void)state;
	assert_int_equal(side_band_record_parse(finish(&builder, PERF_RECORD_MMAP2), &event, &lost),
			 0);
	assert_int_equal(event.type, SIDE_BAND_MAPPING);
	assert_int_equal(event.time_ns, TIME);
	assert_int_equal(event.pid, 10);
	assert_int_equal(event.start, 0x7f0000001000);
	assert_int_equal(event.length, 0x5000);
	assert_int_equal(event.offset, 0x1000);
	assert_int_equal(event.device_major, 8);
	assert_int_equal(event.device_minor, 1);
	assert_int_equal(event.inode, 4711);
	assert_string_equal(event.path, "/lib/x.so");
	assert_int_equal(lost, 0);
}

static void a_path_without_an_end_is_refused(void **state)
{
	struct builder builder = mmap2_of(10, PROT_EXEC, "/lib/xxxxxxxxxxxxxxx");
	struct side_band_event event;
	uint64_t lost;

	(void)state;
	assert_int_equal(side_band_record_parse(finish(&builder, PERF_RECORD_MMAP2), &event, &lost),
			 -EBADMSG);
}

static void what_nobody_asks_for_is_left_out(void **state)
{
	struct builder data = mmap2(10, PROT_READ | PROT_WRITE);
	struct builder outside = mmap2(UINT32_MAX, PROT_EXEC);
	struct builder idle = mmap2(0, PROT_EXEC);
	struct builder leave = begin();
	struct side_band_event event;
	uint64_t lost;

	(void)state;
	assert_int_equal(side_band_record_parse(finish(&data, PERF_RECORD_MMAP2), &event, &lost),
			 -ENOENT);
	assert_int_equal(side_band_record_parse(finish(&outside, PERF_RECORD_MMAP2), &event, &lost),
			 -ENOENT);
	assert_int_equal(side_band_record_parse(finish(&idle, PERF_RECORD_MMAP2), &event, &lost),
			 -ENOENT);
	assert_int_equal(side_band_record_parse(finish(&leave, PERF_RECORD_EXIT), &event, &lost),
			 -ENOENT);
}

static void a_loss_is_counted(void **state)
{
	struct builder builder = begin();
	struct side_band_event event;
	uint64_t lost = 0;

	(void)state;
	add_u64(&builder, 5);
	add_u64(&builder, 42);
	assert_int_equal(side_band_record_parse(finish(&builder, PERF_RECORD_LOST), &event, &lost),
			 0);
	assert_int_equal(event.type, SIDE_BAND_LOST);
	assert_int_equal(lost, 42);
}

static void a_record_cut_short_is_refused(void **state)
{
	static const uint32_t types[] = { PERF_RECORD_MMAP2, PERF_RECORD_LOST };
	struct side_band_event event = { .pid = 7 };
	uint64_t lost;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct builder builder = begin();

		assert_int_equal(side_band_record_parse(finish(&builder, types[i]), &event, &lost),
				 -EBADMSG);
	}
	assert_int_equal(event.pid, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_that_the_kernel_loads_is_read),
		cmocka_unit_test(an_executable_mapping_is_read),
		cmocka_unit_test(a_path_without_an_end_is_refused),
		cmocka_unit_test(what_nobody_asks_for_is_left_out),
		cmocka_unit_test(a_loss_is_counted),
		cmocka_unit_test(a_record_cut_short_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
