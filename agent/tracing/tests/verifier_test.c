/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live: the unwinders of both architectures pass a verifier, which is this kernel's. It says how much it has looked at,
 * and how much of the stack functions need. What reads the context cannot be shown to another machine's kernel
 * (sample_entry). For arm64 one name among the kernel's types is put right.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ebpf/abi/config.h"
#include "ebpf/abi/languages.h"
#include "lib/base/cleanup.h"

/* Generated; they need struct agent_config. */
#include "build/ebpf/allframes.skel.h"
#include "build/ebpf/allframes_arm64.skel.h"

enum {
	LOG_BYTES = 1 << 20,
	/* Instead of all that the verifier does: what it has looked at. */
	LOG_STATISTICS = 4,
	LOG_STEPS = 1,
	/* Bytes of the end of a log, which has the reason. */
	REASON_BYTES = 1500,
	KERNEL_STACK_BYTES = 16 << 10,
	/* MAX_BPF_STACK; that of each function is rounded up, up to Linux 6.7 to so much. */
	STACK_BYTES = 512,
	STACK_ROUNDING_BYTES = 32,
};

static const char *const unwinders[] = { "native_unwind", "unwind_stop",
#define X(kind, NAME, name, type, frames, files) #name "_unwind",
					 LANGUAGES(X)
#undef X
};

static const char *const chains[] = { "native_unwind_chain", "unwind_stop_chain",
#define X(kind, NAME, name, type, frames, files) #name "_unwind_chain",
				      LANGUAGES(X)
#undef X
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char types_path[] = "/tmp/allframes-types-XXXXXX";
static bool has_types_file;

/*
 * Renames thread.fsbase of x86-64 to the field with the same meaning on arm64, thread.uw.tp_value. libbpf looks
 * for that name, and the verifier finds a word at its offset.
 */
static bool rename_thread_pointer(struct btf *types)
{
	int thread = btf__find_by_name_kind(types, "thread_struct", BTF_KIND_STRUCT);
	int word = btf__find_by_name_kind(types, "long unsigned int", BTF_KIND_INT);
	int registers = btf__add_struct(types, "thread_registers", sizeof(long));
	int name = btf__add_str(types, "uw");
	struct btf_type *type;

	if (thread < 0 || word < 0 || registers < 0 || name < 0 ||
	    btf__add_field(types, "tp_value", word, 0, 0))
		return false;
	type = (struct btf_type *)btf__type_by_id(types, (uint32_t)thread);
	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		struct btf_member *member = &btf_members(type)[i];

		if (strcmp(btf__name_by_offset(types, member->name_off), "fsbase") != 0)
			continue;
		member->name_off = (uint32_t)name;
		member->type = (uint32_t)registers;
		return true;
	}
	return false;
}

/* Writes this kernel's types to types_path, as programs of arm64 would have them. */
static int write_types(void **state)
{
	struct btf *types = btf__load_vmlinux_btf();
	const void *bytes;
	uint32_t size;
	int fd;

	(void)state;
	if (!types)
		return 0;
	if (rename_thread_pointer(types)) {
		bytes = btf__raw_data(types, &size);
		fd = mkstemp(types_path);
		has_types_file = fd >= 0 && bytes && write(fd, bytes, size) == (ssize_t)size;
		close(fd);
	}
	btf__free(types);
	return 0;
}

static int remove_types(void **state)
{
	(void)state;
	unlink(types_path);
	return 0;
}

/* The programs for an architecture. */
struct programs {
	const void *(*elf_bytes)(size_t *size);
	/* The configuration begins here in the constants. */
	size_t config_offset;
	/* The kernel's types are those of the machine that it is, or a file has them. */
	bool has_own_types;
};

static const struct programs x86_64 = {
	.elf_bytes = allframes__elf_bytes,
	.config_offset = offsetof(struct allframes__rodata, config),
	.has_own_types = true,
};

static const struct programs arm64 = {
	.elf_bytes = allframes_arm64__elf_bytes,
	.config_offset = offsetof(struct allframes_arm64__rodata, config),
};

static void close_object(struct bpf_object **object)
{
	bpf_object__close(*object);
}

static struct bpf_object *open_programs(const struct programs *programs)
{
	LIBBPF_OPTS(bpf_object_open_opts, options,
		    .btf_custom_path = has_types_file && !programs->has_own_types ? types_path :
										    NULL);
	size_t size;
	const void *bytes = programs->elf_bytes(&size);
	struct bpf_object *object = bpf_object__open_mem(bytes, size, &options);

	assert_non_null(object);
	return object;
}

static struct agent_config *config_of(const struct bpf_object *object,
				      const struct programs *programs)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	size_t size = 0;
	char *constants = map ? (char *)bpf_map__initial_value(map, &size) : NULL;

	assert_non_null(constants);
	assert_true(programs->config_offset + sizeof(struct agent_config) <= size);
	return (struct agent_config *)(constants + programs->config_offset);
}

/* Loads only @name, as where bpf_loop() is; @log gets what the verifier says. */
static int load_program(const struct programs *programs, const char *name, uint32_t log_level,
			char *log)
{
	_cleanup_(close_object) struct bpf_object *object = open_programs(programs);
	struct agent_config *config = config_of(object, programs);
	struct bpf_program *program;

	config->have_task_pt_regs = 1;
	config->kernel_stack_bytes = KERNEL_STACK_BYTES;
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), name));
	program = bpf_object__find_program_by_name(object, name);
	assert_non_null(program);
	bpf_program__set_log_level(program, log_level);
	bpf_program__set_log_buf(program, log, LOG_BYTES);
	log[0] = '\0';
	return bpf_object__load(object);
}

/*
 * The maximum stack of a chain of calls: "stack depth 40+376+56+0" for the program, its callback of bpf_loop(),
 * and the function that the callback calls, which calls nothing. 0: the log does not have it.
 */
static uint32_t stack_bytes(const char *log)
{
	const char *position = strstr(log, "stack depth ");
	uint32_t program = 0, most = 0, second = 0;

	if (!position)
		return 0;
	position += strlen("stack depth ");
	for (uint32_t i = 0; *position >= '0' && *position <= '9'; i++) {
		char *end;
		uint32_t bytes = (uint32_t)strtoul(position, &end, 10);

		bytes = (bytes + STACK_ROUNDING_BYTES - 1) & ~(STACK_ROUNDING_BYTES - 1U);
		if (!i) {
			program = bytes;
		} else if (bytes > most) {
			second = most;
			most = bytes;
		} else if (bytes > second) {
			second = bytes;
		}
		position = *end == '+' ? end + 1 : end;
	}
	return program + most + second;
}

static void print_reason(const struct programs *programs, const char *name, char *log)
{
	size_t length;

	load_program(programs, name, LOG_STEPS, log);
	length = strlen(log);
	print_message("%s\n", log + (length > REASON_BYTES ? length - REASON_BYTES : 0));
}

static void check_unwinders(const struct programs *programs)
{
	static char log[LOG_BYTES];

	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) != 1)
		skip();
	for (size_t i = 0; i < COUNT(unwinders); i++) {
		int err = load_program(programs, unwinders[i], LOG_STATISTICS, log);
		const char *processed = strstr(log, "processed ");
		int length = processed ? (int)strcspn(processed, "(") : 0;

		if (err == -EPERM)
			skip();
		print_message("%s: %u bytes of stack, %.*s\n", unwinders[i], stack_bytes(log),
			      length, processed ? processed : "");
		if (err)
			print_reason(programs, unwinders[i], log);
		assert_int_equal(err, 0);
		/* Some kernels give functions stacks of their own, and do not look at this. */
		assert_in_range(stack_bytes(log), 1, STACK_BYTES);
	}
}

static void unwinders_of_x86_64_pass_the_verifier_of_this_kernel(void **state)
{
	(void)state;
#ifndef __x86_64__
	skip();
#endif
	check_unwinders(&x86_64);
}

static void unwinders_of_arm64_pass_the_verifier_of_this_kernel(void **state)
{
	(void)state;
	check_unwinders(&arm64);
}

/* Functions that program @name calls itself, or has bpf_loop() call. */
static uint32_t count_calls(const char *name)
{
	_cleanup_(close_object) struct bpf_object *object = open_programs(&arm64);
	const struct bpf_program *program = bpf_object__find_program_by_name(object, name);
	const struct bpf_insn *code;
	uint32_t count = 0;

	assert_non_null(program);
	code = bpf_program__insns(program);
	for (size_t i = 0; i < bpf_program__insn_cnt(program); i++)
		count += code[i].code == (BPF_JMP | BPF_CALL) &&
			 (code[i].src_reg == BPF_PSEUDO_CALL || code[i].imm == BPF_FUNC_loop);
	return count;
}

/* Kernels of arm64 before 6.0, which chains are for, refuse them beside tail calls. */
static void chains_of_arm64_call_no_functions(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(chains); i++)
		assert_int_equal(count_calls(chains[i]), 0);
	assert_true(count_calls("java_unwind") > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unwinders_of_x86_64_pass_the_verifier_of_this_kernel),
		cmocka_unit_test(unwinders_of_arm64_pass_the_verifier_of_this_kernel),
		cmocka_unit_test(chains_of_arm64_call_no_functions),
	};

	return cmocka_run_group_tests(tests, write_types, remove_types);
}
