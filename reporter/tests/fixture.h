/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the tests of the outputs share (to be included behind cmocka.h): two binaries, a lookup that knows some addresses of the
 * first, and a store to put samples in.
 *
 *	0x1000 main   0x2000 foo;bar   0x3000 outer with middle and tiny inlined   else nothing
 */
#ifndef REPORTER_TESTS_FIXTURE_H
#define REPORTER_TESTS_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reporter/sample_store.h"
#include "reporter/stack_counts.h"
#include "reporter/stack_text.h"

struct fixture {
	struct symbol_lookup lookup;
	int lookups;
	struct binary *prog;
	struct binary *stripped;
	struct binary *kernel;
	struct binary *ext4;
	struct sample_store *store;
	/** What fixture_snapshot() took. */
	struct sample_snapshot snapshot;
};

static inline uint32_t fixture_resolve(struct symbol_lookup *lookup, struct binary *binary,
				       uint64_t address, struct symbol *symbols, uint32_t capacity)
{
	struct fixture *fixture = (struct fixture *)lookup;

	fixture->lookups++;
	if (strcmp(binary->path, "/opt/prog") || capacity < 3)
		return 0;
	switch (address) {
	case 0x1000:
		symbols[0] = (struct symbol){ .function = "main" };
		return 1;
	case 0x2000:
		symbols[0] = (struct symbol){ .function = "foo;bar\nbaz" };
		return 1;
	case 0x3000:
		symbols[0] = (struct symbol){ .function = "tiny", .file = "t.c", .line = 7 };
		symbols[1] = (struct symbol){ .function = "middle" };
		symbols[2] = (struct symbol){ .function = "outer" };
		return 3;
	}
	return 0;
}

static const struct symbol_lookup_ops fixture_lookup_ops = {
	.resolve = fixture_resolve,
};

static inline void fixture_init(struct fixture *fixture)
{
	*fixture = (struct fixture){
		.lookup.ops = &fixture_lookup_ops,
		.prog = binary_create(&(struct binary){
			.executable_id = 0x10001,
			.fd = -1,
			.path = "/opt/prog",
			.build_id = { 0xab, 0x0c },
			.build_id_bytes = 2,
			.memory_start = 0x1000,
			.memory_limit = 0x9000,
			.file_offset = 0x400,
		}),
		.stripped = binary_create(&(struct binary){
			.executable_id = 0x10002,
			.fd = -1,
			.path = "/lib/lib;x.so",
			.memory_start = 0x4000,
			.memory_limit = 0x8000,
		}),
		.kernel = binary_create(&(struct binary){
			.fd = -1,
			.path = "vmlinux",
			.is_kernel = true,
		}),
		.ext4 = binary_create(&(struct binary){
			.fd = -1,
			.path = "ext4",
			.is_kernel = true,
		}),
		.store = sample_store_create(&(struct sample_store_options){ 0 }),
	};
}

static inline void fixture_deinit(struct fixture *fixture)
{
	sample_snapshot_deinit(&fixture->snapshot);
	sample_store_destroy(fixture->store);
	binary_unref(fixture->prog);
	binary_unref(fixture->stripped);
	binary_unref(fixture->kernel);
	binary_unref(fixture->ext4);
}

/** For tests whose state is a fixture. */
static inline int fixture_setup(void **state)
{
	static struct fixture fixture;

	fixture_init(&fixture);
	*state = &fixture;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	fixture_deinit(*state);
	return 0;
}

static inline struct frame native_frame(struct binary *binary, uint64_t address, uint8_t flags)
{
	return (struct frame){
		.kind = FRAME_NATIVE,
		.flags = flags,
		.address = address,
		.binary = binary,
	};
}

/* BPF programs ("bpf") have no binary. */
static inline struct frame kernel_frame(const struct fixture *fixture, uint64_t address,
					const char *function, const char *module)
{
	struct frame frame = {
		.kind = FRAME_KERNEL,
		.address = 0xffffffff81000000 + address,
		.function = function,
		.file = module,
	};

	if (!strcmp(module, "vmlinux"))
		frame.binary = fixture->kernel;
	else if (!strcmp(module, "ext4"))
		frame.binary = fixture->ext4;
	return frame;
}

static inline struct frame error_frame(uint8_t error)
{
	return (struct frame){ .kind = FRAME_ERROR, .error = error, .address = 0x77 };
}

/* Puts @count samples of the stack (leaf first) into the store. */
static inline void fixture_report(struct fixture *fixture, const char *comm, uint32_t pid,
				  uint64_t count, const struct frame *frames, uint32_t frame_count)
{
	struct reporter *reporter = sample_store_reporter(fixture->store);
	struct process_info *process = process_info_create(
		&(struct process_info){ .pid = pid, .executable_path = "/opt/prog" });
	struct sample_context context = {
		.pid = pid,
		.tid = pid + 1,
		.process_comm = comm,
		.thread_comm = "thread",
		.process = process,
		.was_known = true,
	};
	struct trace *trace = trace_create(frames, frame_count, true, false);

	while (count-- > 0)
		reporter->ops->report(reporter, trace, &context);
	trace_unref(trace);
	process_info_unref(process);
}

#define REPORT(fixture, comm, pid, count, ...)                                                     \
	do {                                                                                       \
		const struct frame frames[] = { __VA_ARGS__ };                                     \
		fixture_report(fixture, comm, pid, count, frames,                                  \
			       sizeof(frames) / sizeof(frames[0]));                                \
	} while (0)

/* A bit of everything, 17 samples in all. */
static inline void fixture_report_all_kinds(struct fixture *fixture)
{
	const uint8_t ret = FRAME_RETURN_ADDRESS;

	REPORT(fixture, "prog", 10, 5, native_frame(fixture->prog, 0x3000, 0),
	       native_frame(fixture->prog, 0x1001, ret));
	/* Another process and another address of the same function: the same text. */
	REPORT(fixture, "prog", 20, 2, native_frame(fixture->prog, 0x3001, ret),
	       native_frame(fixture->prog, 0x1001, ret));
	REPORT(fixture, "prog", 10, 3, kernel_frame(fixture, 0x10, "do_sys;call", "vmlinux"),
	       kernel_frame(fixture, 0x20, "ext4_read", "ext4"),
	       kernel_frame(fixture, 0x30, "bpf_prog_1", "bpf"),
	       kernel_frame(fixture, 0x40, NULL, "ext4"), native_frame(fixture->prog, 0x2000, 0),
	       native_frame(fixture->prog, 0x1001, ret));
	REPORT(fixture, "a;b", 30, 4, native_frame(fixture->stripped, 0x5000, 0),
	       native_frame(fixture->stripped, 0x6001, ret | FRAME_GUESS),
	       error_frame(UNWIND_NO_INFO));
	REPORT(fixture, "", 0, 2, native_frame(NULL, 0x7f0000001000, 0),
	       native_frame(fixture->prog, 0x1000, FRAME_GUESS), error_frame(UNWIND_TRUNCATED));
	REPORT(fixture, "kworker/0:1", 40, 1, kernel_frame(fixture, 0x50, "worker", "vmlinux"));
}

/* All that was reported; borrowed from the fixture, and the same at every call. */
static inline const struct sample_snapshot *fixture_snapshot(struct fixture *fixture)
{
	if (!fixture->snapshot.contents)
		assert_int_equal(sample_store_take(fixture->store, &fixture->snapshot), 0);
	return &fixture->snapshot;
}

/* The output of @write over all that was reported; the caller frees it. */
static inline char *fixture_output(struct fixture *fixture,
				   void (*write)(FILE *, const struct stack_counts *))
{
	struct stack_counts counts;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	assert_int_equal(
		stack_counts_init(&counts, fixture_snapshot(fixture), &fixture->lookup, false), 0);
	write(out, &counts);
	fclose(out);
	stack_counts_deinit(&counts);
	return text;
}

#endif
