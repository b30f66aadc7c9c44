/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that the dynamic linker has not bound, from a module with a slot for `wanted` to a module that
 * exports it. Both modules are made here, and so is the code of both machines that jumps through the slot.
 */
#include "interpreters/unbound_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpreters/thread_local.h"
#include "lib/base/clock.h"
#include "lib/elf/fuzz/made_elf.h"

#define CALLER_BIAS 0x200000ULL
#define EXPORTER_BIAS 0x400000ULL
#define FAR_BIAS 0x600000ULL
#define SLOT (CALLER_BIAS + MADE_ADDRESS(content))
#define FUNCTION (EXPORTER_BIAS + MADE_START + 0x100)

enum {
	CODE = 0x1000,
	CODE_BYTES = 256,
	/* Offset in CODE of the next instructions of the PLT, which the slot still points to. */
	BINDER = 0x80,
	THREAD_OFFSET = -0x28,
	/* More than can be searched within the limit of CPU time. */
	MANY_MODULES = 3000000,
};

static int make_module(bool is_exporter)
{
	const struct made_symbol symbol = { .name = "wanted",
					    .address = MADE_START + 0x100,
					    .is_undefined = !is_exporter };
	static struct made_elf elf;
	int fd = memfd_create("module", MFD_CLOEXEC);

	made_elf_init(&elf, EM_X86_64);
	made_elf_set_symbols(&elf, &symbol, 1, 1, true);
	if (!is_exporter)
		elf.slots[0] = (Elf64_Rela){ .r_offset = MADE_ADDRESS(content),
					     .r_info = ELF64_R_INFO(1ULL, R_X86_64_JUMP_SLOT) };
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &elf, MADE_ELF_BYTES), MADE_ELF_BYTES);
	return fd;
}

/* The caller, which has the slot, and the exporter. */
static struct attach_module modules[2] = { { .path = "caller", .bias = CALLER_BIAS },
					   { .path = "exporter", .bias = EXPORTER_BIAS } };

static int make_modules(void **state)
{
	(void)state;
	modules[0].fd = make_module(false);
	modules[1].fd = make_module(true);
	return 0;
}

static int drop_modules(void **state)
{
	(void)state;
	close(modules[0].fd);
	close(modules[1].fd);
	return 0;
}

struct code_memory {
	struct remote_memory memory;
	uint8_t code[CODE_BYTES];
	uint8_t function[CODE_BYTES];
};

static int read_code(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct code_memory *code = (struct code_memory *)memory;
	const uint64_t slot_word = CODE + BINDER;

	if (address == SLOT && bytes == sizeof(slot_word))
		memcpy(buffer, &slot_word, bytes);
	else if (address >= CODE && address + bytes <= CODE + CODE_BYTES)
		memcpy(buffer, code->code + (address - CODE), bytes);
	else if (address >= FUNCTION && address + bytes <= FUNCTION + CODE_BYTES)
		memcpy(buffer, code->function + (address - FUNCTION), bytes);
	else
		return -EFAULT;
	return 0;
}

static const struct remote_memory_ops code_ops = { .read = read_code };

/* jmp *SLOT, which leads to push $0; jmp to the binder; and mov %fs:THREAD_OFFSET,%rax; ret. */
static struct code_memory code_of_x86(void)
{
	const uint8_t jump[] = { 0xff, 0x24, 0x25, SLOT & 0xff, SLOT >> 8 & 0xff, SLOT >> 16, 0 };
	const uint8_t binder[] = { 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0 };
	const uint8_t function[] = { 0x64, 0x48, 0x8b, 0x04, 0x25, THREAD_OFFSET & 0xff,
				     0xff, 0xff, 0xff, 0xc3 };
	struct code_memory code = { .memory = { .ops = &code_ops } };

	memcpy(code.code, jump, sizeof(jump));
	memcpy(code.code + BINDER, binder, sizeof(binder));
	memcpy(code.function, function, sizeof(function));
	return code;
}

/* x16 = SLOT; then the beginning of the PLT, which calls that are not bound reach. */
static struct code_memory code_of_arm64(void)
{
	const uint32_t words[] = { 0xd2800010 | (uint32_t)(SLOT & 0xffff) << 5,
				   0xf2a00010 | (uint32_t)(SLOT >> 16) << 5, 0xa9bf7bf0 };
	/* mrs x0, tpidr_el0; ldr x0, [x0, #40]; ret */
	const uint32_t function[] = { 0xd53bd040, 0xf9401400, 0xd65f03c0 };
	struct code_memory code = { .memory = { .ops = &code_ops } };

	memcpy(code.code, words, sizeof(words));
	memcpy(code.function, function, sizeof(function));
	return code;
}

static int follow(uint16_t machine, const struct attach_module *looked_at, uint32_t count,
		  struct thread_local_path *path)
{
	struct code_memory code = machine == EM_X86_64 ? code_of_x86() : code_of_arm64();
	const struct attach_target target = {
		.memory = &code.memory,
		.modules = looked_at,
		.module_count = count,
	};

	return thread_local_path_of_call(&target, machine, CODE, 0, path);
}

static void it_is_followed_to_the_module_that_exports_the_function(void **state)
{
	struct thread_local_path path;

	(void)state;
	assert_int_equal(follow(EM_X86_64, modules, 2, &path), 0);
	assert_int_equal(path.depth, 1);
	assert_int_equal(path.offsets[0], THREAD_OFFSET);
	assert_int_equal(follow(EM_AARCH64, modules, 2, &path), 0);
	assert_int_equal(path.depth, 1);
	assert_int_equal(path.offsets[0], -THREAD_OFFSET);
}

static void what_no_module_has_yet_is_tried_again(void **state)
{
	const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };
	struct thread_local_path path;

	(void)state;
	for (int i = 0; i < 2; i++) {
		/* Nothing exports it; nothing has the slot; nothing is mapped. */
		assert_int_equal(follow(machines[i], modules, 1, &path), -EAGAIN);
		assert_int_equal(follow(machines[i], modules + 1, 1, &path), -EAGAIN);
		assert_int_equal(follow(machines[i], modules, 0, &path), -EAGAIN);
	}
}

static int find(const struct attach_module *looked_at, uint64_t deadline_ns, uint64_t *function)
{
	const struct attach_target target = { .modules = looked_at, .module_count = 2 };

	return unbound_call_find(&target, SLOT, deadline_ns, function);
}

static void a_deadline_of_cpu_time_is_kept(void **state)
{
	const uint64_t start_ns = clock_thread_cpu_ns();
	uint64_t function = 1;

	(void)state;
	assert_int_equal(find(modules, start_ns, &function), -EOPNOTSUPP);
	assert_int_equal(function, 1);
	assert_int_equal(find(modules, start_ns + 60 * NS_PER_SECOND, &function), 0);
	assert_int_equal(function, FUNCTION);
}

/* Being over the limit is not -EAGAIN, which would be retried for ever. */
static void modules_that_take_too_long_are_refused(void **state)
{
	struct attach_module *many = calloc(MANY_MODULES, sizeof(*many));
	struct thread_local_path path;

	(void)state;
	assert_non_null(many);
	for (uint32_t i = 0; i < MANY_MODULES; i++)
		many[i] = (struct attach_module){ .path = "far",
						  .fd = modules[0].fd,
						  .bias = FAR_BIAS };
	assert_int_equal(follow(EM_X86_64, many, MANY_MODULES, &path), -EOPNOTSUPP);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_followed_to_the_module_that_exports_the_function),
		cmocka_unit_test(what_no_module_has_yet_is_tried_again),
		cmocka_unit_test(a_deadline_of_cpu_time_is_kept),
		cmocka_unit_test(modules_that_take_too_long_are_refused),
	};

	return cmocka_run_group_tests(tests, make_modules, drop_modules);
}
