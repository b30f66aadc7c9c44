/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Functions of Go's table: found by address, and what the table has for the addresses within them,
 * above all the size of the frame (pcsp).
 * Formats: runtime/runtime2.go (_func) and runtime/symtab.go (pcvalue(), step()) of Go 1.2 to 1.27.
 */
#ifndef LIB_ELF_GO_FUNCTION_H
#define LIB_ELF_GO_FUNCTION_H

#include "lib/elf/go_table.h"

enum {
	/** Further into a table of values no address is looked for. */
	GO_VALUES_MAX_STEPS = 1 << 23,
};

/** Flags of a function (internal/abi/symtab.go), from Go 1.17 on. */
enum {
	/** Ends its stack: goexit, mstart, rt0_go, ... */
	GO_FUNCTION_TOP_FRAME = 1,
	/** Writes to the stack pointer what no table tells. */
	GO_FUNCTION_SP_WRITE = 2,
	/** Written in assembly; from 1.18 on. */
	GO_FUNCTION_ASSEMBLY = 4,
};

/** What is special about a function for the runtime (FuncID), whichever number a version gives it. */
enum go_function_kind {
	GO_FUNCTION_ORDINARY,
	GO_FUNCTION_GOPANIC,
	GO_FUNCTION_PANICWRAP,
	GO_FUNCTION_SIGPANIC,
	/** Made by the compiler: calls a method, compares, ... Stacks are shown without them. */
	GO_FUNCTION_WRAPPER,
};

struct go_function {
	/** ELF virtual addresses; the end is where the next function starts. */
	uint64_t start;
	uint64_t end;
	/** Of the struct, in the file. */
	uint64_t offset;
	/** In names; 0 for no name. */
	uint32_t name;
	/** Bytes of arguments and results on the stack; INT32_MIN if that is unknown. */
	int32_t argument_bytes;
	/** Of the call of deferreturn, from start; 0 if there is none. From 1.12 on. */
	uint32_t defer_return;
	/** pc-value tables, in values; 0 if there is none. Bytes of the frame, number of file, line. */
	uint32_t pcsp;
	uint32_t pcfile;
	uint32_t pcln;
	uint32_t pcdata_count;
	uint32_t funcdata_count;
	/** First of the compilation unit's numbers of files. From 1.16 on. */
	uint32_t unit;
	/** From 1.20 on. */
	int32_t start_line;
	/** FuncID, which each version numbers anew. From 1.12 on. */
	uint8_t id;
	/** From 1.17 on; bits that no version names may be set. */
	uint8_t flags;
};

/** Function @index, below the header's function_count. -EBADMSG. */
int go_function_read(struct go_table *table, uint32_t index, struct go_function *function);

/**
 * The function that ELF virtual address @address is in or, in gaps, that stands before it, as
 * runtime.FuncForPC() has it. -ENOENT outside of Go's code, -EBADMSG.
 */
int go_function_find(struct go_table *table, uint64_t address, struct go_function *function);

/** GO_FUNCTION_ORDINARY also for kinds that are not listed, and if the version of Go is not known. */
enum go_function_kind go_function_kind(const struct go_table *table, uint8_t id);

/**
 * Copies the first @capacity bytes of the function's name as it stands in the table, followed by NULs if
 * it is shorter; only NULs if it has none, or a damaged one.
 */
void go_function_name_start(struct go_table *table, const struct go_function *function, char *name,
			    size_t capacity);

/** The pc-value table of PCDATA @pcdata, in values; 0 if there is none. -EBADMSG. */
int go_function_pcdata(struct go_table *table, const struct go_function *function, uint32_t pcdata,
		       uint32_t *values);

/** File offset and available bytes of FUNCDATA @funcdata. -ENOENT if there is none, -EBADMSG. */
int go_function_funcdata(struct go_table *table, const struct go_function *function,
			 uint32_t funcdata, uint64_t *offset, uint64_t *bytes);

/** Addresses with one value. */
struct go_value {
	uint64_t start;
	uint64_t end;
	int32_t value;
};

/** A walk through one pc-value table of a function. */
struct go_values {
	struct go_table *table;
	/** Of the function. */
	uint64_t end;
	/** In the file: the next bytes to be read into the buffer. */
	uint64_t offset;
	uint64_t offset_end;
	uint64_t address;
	int32_t value;
	bool is_started;
	/** Steps left that may be without an address of their own. */
	uint32_t empty_left;
	uint32_t position;
	uint32_t filled;
	uint8_t buffer[64];
};

/** Starts with the table at @values of @function's, which must not be 0. */
void go_values_init(struct go_values *values, struct go_table *table,
		    const struct go_function *function, uint32_t offset);

/**
 * The next addresses, in their order and without gaps, to the end of the function at most. 1 if there
 * were some, 0 at the end, -EBADMSG for a damaged table.
 */
int go_values_next(struct go_values *values, struct go_value *value);

/**
 * The value at @address by the table at @offset of @function's; -1 without a table, or if it has none
 * for the address, as the runtime has it. -EBADMSG, -E2BIG beyond GO_VALUES_MAX_STEPS.
 */
int go_function_value(struct go_table *table, const struct go_function *function, uint32_t offset,
		      uint64_t address, int32_t *value);

#endif
