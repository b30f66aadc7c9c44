/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of Go's runtime with changes, and code of any bytes, at any address. Whatever is found has offsets that the
 * kernel side can use. The code ends where its memory does, so that reading beyond it shows.
 *
 * covers: go_runtime_code.c
 */
#include "interpreters/go/go_runtime_code.h"

#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "interpreters/go/tests/runtime_bytes.h"
#include "lib/base/fuzz/edit_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct function {
	const uint8_t *code;
	size_t size;
	uint16_t machine;
	enum go_runtime_function function;
};

static const struct function functions[] = {
#define BYTES(name) name, sizeof(name)
	{ BYTES(systemstack_16), EM_X86_64, GO_RUNTIME_SYSTEMSTACK },
	{ BYTES(systemstack_21_pie), EM_X86_64, GO_RUNTIME_SYSTEMSTACK },
	{ BYTES(systemstack_21_shared), EM_X86_64, GO_RUNTIME_SYSTEMSTACK },
	{ BYTES(systemstack_27), EM_X86_64, GO_RUNTIME_SYSTEMSTACK },
	{ BYTES(asmcgocall_16), EM_X86_64, GO_RUNTIME_ASMCGOCALL },
	{ BYTES(asmcgocall_27), EM_X86_64, GO_RUNTIME_ASMCGOCALL },
	{ BYTES(asmcgocall_wrapper_27), EM_X86_64, GO_RUNTIME_ASMCGOCALL },
	{ BYTES(nanotime_16), EM_X86_64, GO_RUNTIME_NANOTIME },
	{ BYTES(nanotime_27), EM_X86_64, GO_RUNTIME_NANOTIME },
	{ BYTES(arm64_systemstack_21), EM_AARCH64, GO_RUNTIME_SYSTEMSTACK },
	{ BYTES(arm64_systemstack_27), EM_AARCH64, GO_RUNTIME_SYSTEMSTACK },
	{ BYTES(arm64_asmcgocall_27), EM_AARCH64, GO_RUNTIME_ASMCGOCALL },
	{ BYTES(arm64_asmcgocall_wrapper_27), EM_AARCH64, GO_RUNTIME_ASMCGOCALL },
	{ BYTES(arm64_nanotime_21), EM_AARCH64, GO_RUNTIME_NANOTIME },
	{ BYTES(arm64_nanotime_27), EM_AARCH64, GO_RUNTIME_NANOTIME },
	{ BYTES(arm64_mcall_21), EM_AARCH64, GO_RUNTIME_MCALL },
	{ BYTES(arm64_mcall_27), EM_AARCH64, GO_RUNTIME_MCALL },
	{ BYTES(arm64_load_g_16), EM_AARCH64, GO_RUNTIME_LOAD_G },
	{ BYTES(arm64_load_g_27), EM_AARCH64, GO_RUNTIME_LOAD_G },
	{ BYTES(arm64_load_g_27_pie), EM_AARCH64, GO_RUNTIME_LOAD_G },
	{ BYTES(arm64_load_g_27_shared), EM_AARCH64, GO_RUNTIME_LOAD_G },
	{ BYTES(arm64_load_g_27_plugin), EM_AARCH64, GO_RUNTIME_LOAD_G },
#undef BYTES
};

enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static void check(const struct go_runtime_code *runtime)
{
	const struct go_process *process = &runtime->process;

	assert(process->m_curg % 8 == 0 && process->m_vdso_pc % 8 == 0 &&
	       process->m_vdso_sp % 8 == 0);
	assert(process->call_g % 8 == 0 && process->g_sched_lr % 8 == 0);
	assert(!(runtime->found & 1 << GO_RUNTIME_SYSTEMSTACK) || process->m_curg);
	assert(!(runtime->found & 1 << GO_RUNTIME_NANOTIME) ||
	       (process->m_vdso_pc && process->m_vdso_sp));
}

static void read_code(const struct function *of, uint64_t address, const uint8_t *code, size_t size)
{
	uint8_t *exact = malloc(size + !size);

	assert(exact && go_runtime_function_name(of->function));
	memcpy(exact, code, size);
	for (int function = 0; function <= GO_RUNTIME_FUNCTION_COUNT; function++) {
		struct go_runtime_code runtime = { 0 };

		if (go_runtime_code_read(&runtime, of->machine, function, address, exact, size)) {
			assert(runtime.found == 1U << function);
			check(&runtime);
		} else {
			assert(!runtime.found);
		}
	}
	assert(go_runtime_needed(of->machine));
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t code[GO_RUNTIME_CODE_BYTES];
	const struct function *of;
	struct byte_reader reader;
	uint64_t address;
	size_t bytes;

	if (size < 2)
		return 0;
	byte_reader_init(&reader, data, size);
	of = &functions[byte_reader_u8(&reader) % FUNCTIONS];
	/* Near one of the ends of the address space, or in the middle. */
	address = (uint64_t)byte_reader_u8(&reader) << 56 | 0xfffff8;
	memcpy(code, of->code, of->size);
	read_code(of, address, code, of->size);
	edit_bytes(&reader, code, of->size);
	read_code(of, address, code, of->size);
	bytes = byte_reader_left(&reader) < sizeof(code) ? byte_reader_left(&reader) : sizeof(code);
	read_code(of, address, reader.position, bytes);
	return 0;
}
