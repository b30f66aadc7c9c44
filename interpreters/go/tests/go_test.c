/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the runtime in files that have little more than its functions, and g in processes. */
#include "interpreters/go/go.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "ebpf/abi/go.h"
#include "interpreters/go/tests/runtime_bytes.h"
#include "lib/elf/tests/go_table_builder.h"

enum {
	FUNCTION_BYTES = 128,
	/* Distance from the code of the c-shared file to the slot that it refers to. */
	TEXT = MADE_GO_ADDRESS + MADE_GO_TEXT,
	SYSTEMSTACK_SLOT = 0x87ed8 + 16,
	BIAS = 0x10000,
};

static struct made_go go;
static const struct made_value sizes[] = { { 0, FUNCTION_BYTES }, { 0, 0 } };

struct code {
	const char *name;
	const uint8_t *bytes;
	size_t size;
};

#define CODE(name, bytes) name, bytes, sizeof(bytes)

static const struct code executable[] = {
	{ CODE("runtime.asmcgocall", asmcgocall_wrapper_27) },
	{ CODE("runtime.systemstack", systemstack_27) },
	{ CODE("runtime.asmcgocall", asmcgocall_27) },
	{ CODE("runtime.nanotime1", nanotime_27) },
};

static const struct code shared[] = {
	{ CODE("runtime.systemstack", systemstack_21_shared) },
	{ CODE("runtime.asmcgocall", asmcgocall_16) },
	{ CODE("runtime.nanotime1", nanotime_16) },
};

static const struct code arm64[] = {
	{ CODE("runtime.nanotime1", arm64_nanotime_27) },
	{ CODE("runtime.asmcgocall", arm64_asmcgocall_27) },
	{ CODE("runtime.systemstack", arm64_systemstack_27) },
	{ CODE("runtime.load_g", arm64_load_g_27) },
	{ CODE("runtime.mcall", arm64_mcall_27) },
};

static const struct code arm64_plugin[] = {
	{ CODE("runtime.load_g", arm64_load_g_27_plugin) },
	{ CODE("runtime.nanotime1", arm64_nanotime_27) },
	{ CODE("runtime.asmcgocall", arm64_asmcgocall_27) },
	{ CODE("runtime.systemstack", arm64_systemstack_27) },
	{ CODE("runtime.mcall", arm64_mcall_27) },
};

static int probe(uint16_t machine, const struct code *codes, uint32_t count,
		 struct runtime_file **file)
{
	struct made_function functions[MADE_GO_FUNCTIONS_MAX] = { 0 };
	struct elf_image image;
	int err;

	memset(&go, 0, sizeof(go));
	go.version = GO_TABLE_1_20;
	go.minor = 27;
	go.machine = machine;
	go.section_name = ".gopclntab";
	go.functions = functions;
	go.function_count = count;
	for (uint32_t i = 0; i < count; i++) {
		functions[i] = (struct made_function){ .name = codes[i].name,
						       .bytes = FUNCTION_BYTES,
						       .sizes = sizes };
		memcpy(go.bytes + MADE_GO_TEXT + i * FUNCTION_BYTES, codes[i].bytes, codes[i].size);
	}
	made_go_make(&go);
	assert_int_equal(elf_image_init_memory(&image, go.bytes, sizeof(go.bytes)), 0);
	err = go_language.ops->probe(&image, "/program", file);
	elf_image_deinit(&image);
	return err;
}

struct made_process {
	struct remote_memory memory;
	int64_t slot;
	int error;
	/* arm64: address of the flag of C, or of the pointer to it. Then address of g's slot. */
	uint64_t flag_address;
	uint64_t flag_slot_address;
	uint64_t slot_address;
	uint64_t flag_slot;
	uint8_t has_c;
};

static int read_made(struct remote_memory *memory, uint64_t address, void *buffer, size_t bytes)
{
	struct made_process *process = (struct made_process *)memory;

	if (process->error)
		return process->error;
	if (process->flag_address && address == process->flag_address) {
		assert_int_equal(bytes, sizeof(process->has_c));
		memcpy(buffer, &process->has_c, bytes);
		return 0;
	}
	assert_int_equal(bytes, sizeof(process->slot));
	if (process->flag_slot_address && address == process->flag_slot_address) {
		memcpy(buffer, &process->flag_slot, bytes);
		return 0;
	}
	assert_int_equal(address, process->slot_address ? process->slot_address :
							  BIAS + TEXT + SYSTEMSTACK_SLOT);
	memcpy(buffer, &process->slot, bytes);
	return 0;
}

static const struct remote_memory_ops memory_ops = { .read = read_made };

static int attach(const struct runtime_file *file, struct made_process *made,
		  struct go_process *data)
{
	const struct attach_target target = { .memory = &made->memory, .bias = BIAS };
	struct runtime *process;
	int err = go_language.ops->attach(file, &target, &process);

	if (err)
		return err;
	assert_ptr_equal(process->language, &go_language);
	assert_int_equal(process->data_bytes, sizeof(*data));
	memcpy(data, process->data, sizeof(*data));
	go_language.ops->detach(process);
	return 0;
}

static void an_executable_has_all_in_its_code(void **state)
{
	struct made_process made = { .memory = { .ops = &memory_ops }, .error = -EFAULT };
	struct runtime_file *file;
	struct go_process data;

	(void)state;
	assert_int_equal(probe(EM_X86_64, executable, 4, &file), 0);
	assert_string_equal(file->version, "Go 1.27");
	assert_ptr_equal(file->language, &go_language);
	assert_int_equal(attach(file, &made, &data), 0);
	assert_int_equal(data.g.depth, 1);
	assert_int_equal(data.g.offsets[0], -8);
	assert_int_equal(data.m_curg, 184);
	assert_int_equal(data.m_vdso_pc, 904);
	assert_int_equal(data.m_vdso_sp, 896);
	assert_int_equal(data.call_g, 8);
	assert_int_equal(data.call_depth, 0);
	go_language.ops->release(file);
}

static void the_linker_says_where_a_shared_object_has_g(void **state)
{
	struct made_process made = { .memory = { .ops = &memory_ops } };
	struct runtime_file *file;
	struct go_process data = { .m_curg = 1 };

	(void)state;
	assert_int_equal(probe(EM_X86_64, shared, 3, &file), 0);
	/* The dynamic linker has not set the slot yet. */
	assert_int_equal(attach(file, &made, &data), -EAGAIN);
	assert_int_equal(data.m_curg, 1);
	made.slot = -0x78;
	assert_int_equal(attach(file, &made, &data), 0);
	assert_int_equal(data.g.depth, 1);
	assert_int_equal(data.g.offsets[0], -0x78);
	assert_int_equal(data.m_curg, 192);
	assert_int_equal(data.call_depth, 0x28);
	made.slot = INT32_MIN;
	assert_int_equal(attach(file, &made, &data), 0);
	assert_int_equal(data.g.offsets[0], INT32_MIN);
	made.slot = INT32_MIN - 1LL;
	assert_int_equal(attach(file, &made, &data), -EOPNOTSUPP);
	made.slot = INT32_MAX + 1LL;
	assert_int_equal(attach(file, &made, &data), -EOPNOTSUPP);
	made.error = -ESRCH;
	assert_int_equal(attach(file, &made, &data), -ESRCH);
	go_language.ops->release(file);
}

/* The result of adrp with @pages in function @index. */
static uint64_t page_from(uint32_t index, uint32_t pages)
{
	uint64_t address = TEXT + index * FUNCTION_BYTES;

	return (address & ~0xfffULL) + ((uint64_t)pages << 12);
}

static void arm64_without_c_has_g_in_a_register(void **state)
{
	struct made_process made = { .memory = { .ops = &memory_ops } };
	struct runtime_file *file;
	struct go_process data;

	(void)state;
	made.flag_address = BIAS + page_from(3, 0xa8) + 0x8e4;
	assert_int_equal(probe(EM_AARCH64, arm64, 5, &file), 0);
	assert_int_equal(attach(file, &made, &data), 0);
	assert_int_equal(data.g.depth, 0);
	assert_int_equal(data.m_curg, 184);
	assert_int_equal(data.g_sched_lr, 88);
	assert_int_equal(data.call_depth, 8);
	made.has_c = 1;
	assert_int_equal(attach(file, &made, &data), 0);
	assert_int_equal(data.g.depth, 1);
	assert_int_equal(data.g.offsets[0], 16);
	made.error = -ESRCH;
	assert_int_equal(attach(file, &made, &data), -ESRCH);
	go_language.ops->release(file);
	/* Frames of arm64's morestack() need the offset from mcall(). */
	assert_int_equal(probe(EM_AARCH64, arm64, 4, &file), -EOPNOTSUPP);
}

static void a_plugin_of_arm64_has_its_words_from_the_dynamic_linker(void **state)
{
	struct made_process made = { .memory = { .ops = &memory_ops }, .slot = 48, .has_c = 1 };
	struct runtime_file *file;
	struct go_process data;

	(void)state;
	made.flag_slot_address = BIAS + page_from(0, 0xb7) + 0x628;
	made.slot_address = BIAS + page_from(0, 0xb7) + 0x578;
	assert_int_equal(probe(EM_AARCH64, arm64_plugin, 5, &file), 0);
	/* The dynamic linker has not set the words yet. */
	assert_int_equal(attach(file, &made, &data), -EAGAIN);
	made.flag_slot = made.flag_address = 0x7f0012345678;
	assert_int_equal(attach(file, &made, &data), 0);
	assert_int_equal(data.g.depth, 1);
	assert_int_equal(data.g.offsets[0], 48);
	made.slot = 0;
	assert_int_equal(attach(file, &made, &data), -EAGAIN);
	made.has_c = 0;
	assert_int_equal(attach(file, &made, &data), 0);
	assert_int_equal(data.g.depth, 0);
	go_language.ops->release(file);
}

static void a_runtime_that_is_not_known_is_refused(void **state)
{
	struct code codes[4];
	struct runtime_file *file;

	(void)state;
	assert_int_equal(probe(EM_X86_64, executable, 3, &file), -EOPNOTSUPP);
	/* A longer name is another function. */
	memcpy(codes, executable, sizeof(codes));
	codes[3].name = "runtime.nanotime1x";
	assert_int_equal(probe(EM_X86_64, codes, 4, &file), -EOPNOTSUPP);
	codes[3].name = "runtime.nanotime1";
	codes[3].size -= 16;
	assert_int_equal(probe(EM_X86_64, codes, 4, &file), -EOPNOTSUPP);
}

static void files_without_a_runtime_are_none(void **state)
{
	const struct code codes[] = { { CODE("main.main", systemstack_27) } };
	struct runtime_file *file;
	struct elf_image image;

	(void)state;
	assert_int_equal(probe(EM_X86_64, codes, 1, &file), -ENOENT);
	/* A file without Go's section is not searched. */
	assert_int_equal(probe(EM_X86_64, executable, 4, &file), 0);
	go_language.ops->release(file);
	memcpy(memmem(go.bytes, sizeof(go.bytes), ".gopclntab", 10), ".something", 10);
	assert_int_equal(elf_image_init_memory(&image, go.bytes, sizeof(go.bytes)), 0);
	assert_int_equal(go_language.ops->probe(&image, "/program", &file), -ENOENT);
	elf_image_deinit(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_executable_has_all_in_its_code),
		cmocka_unit_test(the_linker_says_where_a_shared_object_has_g),
		cmocka_unit_test(arm64_without_c_has_g_in_a_register),
		cmocka_unit_test(a_plugin_of_arm64_has_its_words_from_the_dynamic_linker),
		cmocka_unit_test(a_runtime_that_is_not_known_is_refused),
		cmocka_unit_test(files_without_a_runtime_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
