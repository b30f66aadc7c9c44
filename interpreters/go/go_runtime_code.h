/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds the offsets that ebpf/go/go_step.bpf.h needs in the instructions of runtime functions that use them. No
 * version is looked up: nearly each version moves the fields of struct m, but these functions, a few lines of
 * assembly, hardly change. A function with unexpected instructions is refused; nothing is guessed.
 *
 * Source: systemstack(), mcall() and asmcgocall() in runtime/asm_{amd64,arm64}.s, nanotime1() in
 * runtime/sys_linux_{amd64,arm64}.s, load_g() in runtime/tls_arm64.s, of Go 1.16 to 1.27.
 */
#ifndef INTERPRETERS_GO_GO_RUNTIME_CODE_H
#define INTERPRETERS_GO_GO_RUNTIME_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/go.h"

enum {
	/** The longest of these functions has 330. */
	GO_RUNTIME_CODE_BYTES = 512,
};

/** Where a thread keeps its g. */
enum go_g_location {
	/** At an offset from the thread pointer: `offset`. */
	GO_G_AT_OFFSET = 1,
	/** The same, but the offset is in a word of the file that the linker sets: `slot`. */
	GO_G_AT_SLOT,
};

struct go_runtime_code {
	enum go_g_location location;
	int32_t offset;
	/** ELF virtual address. */
	uint64_t slot;
	/**
	 * arm64: ELF virtual address of a byte that is set if the program has C, or of a pointer to that byte
	 * (has_c_flag_slot). g is in memory only in such a program, because C uses g's register otherwise.
	 */
	uint64_t c_flag;
	bool has_c_flag_slot;
	/** All fields except g are set. */
	struct go_process process;
	/** The functions that were read: a bit for each value of enum go_runtime_function. */
	uint32_t found;
};

enum go_runtime_function {
	GO_RUNTIME_SYSTEMSTACK,
	GO_RUNTIME_ASMCGOCALL,
	GO_RUNTIME_NANOTIME,
	GO_RUNTIME_MCALL,
	GO_RUNTIME_LOAD_G,
	GO_RUNTIME_FUNCTION_COUNT,
};

/** The function's name in Go's table. */
const char *go_runtime_function_name(enum go_runtime_function function);

/** The functions that are required, as bits of `found`. */
uint32_t go_runtime_needed(uint16_t machine);

/**
 * Reads @function from its @size bytes of @code at ELF virtual address @address. True if it has the expected
 * instructions; a wrapper of the same name does not.
 */
bool go_runtime_code_read(struct go_runtime_code *runtime, uint16_t machine,
			  enum go_runtime_function function, uint64_t address, const uint8_t *code,
			  size_t size);

#endif
