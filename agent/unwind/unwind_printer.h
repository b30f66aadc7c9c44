/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Prints stacks as text, for build/walk_core and build/walk_process. Per thread, with fields separated by tabs:
 *
 *	thread	TID
 *	#0	PC	ADDRESS	FILE	FUNCTION	FLAGS
 *	...
 *	end	  or  error	PC	WHY
 *
 * and between them, if interpreted frames are requested,
 *
 *	#1	LANGUAGE	LINE	FILE	FUNCTION	FLAGS
 *	missing	PC	WHY
 *
 * The second means that the interpreted frames of the next native frame are missing. If inlined functions are
 * requested (with_inlined), a frame's line is preceded by
 *
 *	#1	-	-	FILE	FUNCTION	inlined
 *
 * and likewise for inlined interpreted functions, in lines like theirs.
 *
 * PC is the address in the process, ADDRESS the file's ELF virtual address; both are 16 hexadecimal digits.
 * Unknown fields are `-`. FLAGS are separated by commas: `return` (PC is a return address) and `guess`;
 * with_inlined also `inlined`, and `wrapper` and `panic` for the function's role in Go's stacks
 * (lib/model/symbol_lookup.h). For interpreted frames they are `guess`, `inlined` and `approximate`
 * (interpreters/language.h).
 */
#ifndef AGENT_UNWIND_UNWIND_PRINTER_H
#define AGENT_UNWIND_UNWIND_PRINTER_H

#include <stdbool.h>
#include <stdio.h>

#include "agent/unwind/address_space.h"
#include "agent/unwind/space_runtimes.h"
#include "agent/unwind/user_unwind.h"
#include "lib/host/register_set.h"

struct symbol_store;

struct unwind_printer {
	/** Borrowed. */
	FILE *file;
	struct user_unwind *unwind;
	/** NULL where names are not wanted. */
	struct symbol_store *symbols;
	/** Borrowed; NULL: native frames only. */
	const struct space_runtimes *runtimes;
	/** Set by the owner, as runtimes is. */
	bool with_inlined;
	struct emulated_trace trace;
};

/** -ENOMEM. */
int unwind_printer_init(struct unwind_printer *printer, FILE *file, bool with_names);
void unwind_printer_deinit(struct unwind_printer *printer);

/** Unwinds and prints the thread @tid from its registers; -E2BIG: too much is mapped. */
int unwind_printer_print(struct unwind_printer *printer, uint32_t tid,
			 const struct register_set *set, struct address_space *space,
			 user_unwind_read_function *read, void *read_context);

#endif
