/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Code ranges in the C library whose unwind information is wrong or missing, recognised by their
 * bytes, and their rules:
 *
 * - clone and clone3 (sysdeps/unix/sysv/linux/{x86_64,aarch64}/{clone,clone3}.S of glibc 2.36)
 *   behind the system call, up to the branch that separates the child, which has another stack, from
 *   its parent. On x86-64 no table describes them, on arm64 the table describes only the parent.
 * - swapcontext on x86-64 (sysdeps/unix/sysv/linux/x86_64/swapcontext.S), whose unwind information
 *   is wrong between its switch to the new stack and the push of the address at which that resumes.
 *
 * The text is not searched for them: only functions whose unwind information looks like theirs are
 * read.
 */
#ifndef STACKDELTAS_KNOWN_RANGES_H
#define STACKDELTAS_KNOWN_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/slab.h"

struct elf_image;
struct fde_record;
struct fde_table;

enum {
	/** clone, clone3, and two paths through swapcontext, with and without shadow stacks. */
	KNOWN_RANGES_MAX = 8,
};

struct known_range {
	/** ELF virtual addresses; in a gap between FDEs, or in one with a single row. */
	uint64_t start;
	uint64_t end;
	struct unwind_rule rule;
};

/**
 * Finds the known ranges of @image, whose FDEs are in @table, and returns their number. They are
 * sorted and not adjacent. Code that cannot be read has none.
 */
uint32_t known_ranges_find(const struct elf_image *image, const struct fde_table *table,
			   struct known_range ranges[KNOWN_RANGES_MAX]);

/** True if @fde has only one row. */
bool known_ranges_has_one_row(const struct fde_table *table, const struct fde_record *fde);

/**
 * Finds in @size bytes of @bytes, from offset @from on, the end of a clone for EM_X86_64 or
 * EM_AARCH64: from the system call up to the branches behind it.
 */
bool known_ranges_next_clone(uint16_t machine, const uint8_t *bytes, size_t size, size_t from,
			     size_t *start, size_t *end);

/** As known_ranges_next_clone() for swapcontext on x86-64: where it has the new stack and has not pushed yet. */
bool known_ranges_next_switch(const uint8_t *bytes, size_t size, size_t from, size_t *start,
			      size_t *end);

#endif
