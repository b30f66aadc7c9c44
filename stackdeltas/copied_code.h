/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rows of a copy of code that a process has made at run time, which no table describes, and which may keep no frame pointer
 * (ebpf/abi/code_copy.h). A row that the analysis of instructions does not consider certain is left out: without it the frame is an
 * error, and with a wrong one the stack would be wrong.
 */
#ifndef STACKDELTAS_COPIED_CODE_H
#define STACKDELTAS_COPIED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/stack_deltas.h"

enum {
	/** Limit of a copy, and the unit of its address and size. */
	COPIED_CODE_MAX_BYTES = 256 << 10,
	COPIED_CODE_UNIT_BYTES = 4096,
};

/** Whether a copy may have this address and size. */
bool copied_code_is_range(uint64_t address, uint64_t size);

/**
 * Makes the rows of the @size bytes at @bytes, which are a process's code at @address, and their checks. -EINVAL for another
 * range than copied_code_is_range() allows; -EOPNOTSUPP for another machine than EM_X86_64 and EM_AARCH64; -E2BIG, -ENOMEM.
 * The caller deinits @deltas.
 */
int copied_code_analyse(uint16_t machine, uint64_t address, const uint8_t *bytes, size_t size,
			struct stack_deltas *deltas);

#endif
