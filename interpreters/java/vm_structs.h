/* SPDX-License-Identifier: Apache-2.0 */
/**
 * HotSpot's description of itself: tables of its types, of the places of their fields, and of
 * constants, which libjvm.so exports for the serviceability agent. Read from a process, where the
 * dynamic linker has put in the addresses. Only what is asked for is kept: the tables have 1,300 to
 * 2,100 entries.
 *
 * Source: share/runtime/vmStructs.hpp and vmStructs.cpp of OpenJDK 8 to 27; where an entry has what is
 * exported as well (gHotSpotVMStructEntryTypeNameOffset, ...), so no layout is assumed here.
 *
 * The tables are hostile: entries, strides, strings and the time to read them are bounded, and what
 * they say is for the caller to check.
 */
#ifndef INTERPRETERS_JAVA_VM_STRUCTS_H
#define INTERPRETERS_JAVA_VM_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/elf/elf_image.h"
#include "lib/host/remote_memory.h"

enum {
	/** Of each table; the largest has 837. */
	VM_STRUCTS_MAX_ENTRIES = 4096,
	/** Of an entry; they have 16 to 48. */
	VM_STRUCTS_MAX_STRIDE = 128,
	/** Of names, with their NUL; entries with longer ones are passed over. */
	VM_STRUCTS_NAME_BYTES = 128,
	/** What one reading may take from the process. */
	VM_STRUCTS_MAX_READ_BYTES = 8 << 20,
};

/** What libjvm.so exports, 8 bytes each. */
enum vm_symbol {
	VM_STRUCTS,
	VM_STRUCT_TYPE_NAME,
	VM_STRUCT_FIELD_NAME,
	VM_STRUCT_TYPE_STRING,
	VM_STRUCT_IS_STATIC,
	VM_STRUCT_OFFSET,
	VM_STRUCT_ADDRESS,
	VM_STRUCT_STRIDE,
	VM_TYPES,
	VM_TYPE_TYPE_NAME,
	VM_TYPE_SIZE,
	VM_TYPE_STRIDE,
	VM_INT_CONSTANTS,
	VM_INT_CONSTANT_NAME,
	VM_INT_CONSTANT_VALUE,
	VM_INT_CONSTANT_STRIDE,
	VM_SYMBOL_COUNT,
};

/** ELF virtual addresses by enum vm_symbol. */
struct vm_symbols {
	/** EM_X86_64 or EM_AARCH64. */
	uint16_t machine;
	uint64_t addresses[VM_SYMBOL_COUNT];
};

/** -ENOENT: not HotSpot; -EOPNOTSUPP: it is, without some of the tables; -EBADMSG. */
int vm_symbols_find(const struct elf_image *image, struct vm_symbols *symbols);

enum vm_question_kind {
	/** The offset of the field, or the address in the process of a static one. */
	VM_FIELD,
	/** The size of @type. */
	VM_SIZE,
	/** The constant @name; no type. */
	VM_CONSTANT,
};

struct vm_question {
	enum vm_question_kind kind;
	const char *type;
	const char *name;
};

struct vm_answer {
	bool is_found;
	/** Of a field. */
	bool is_static;
	/** Of a field: how many bytes it has, as its type says; 0: a struct, or a type not known here. */
	uint8_t bytes;
	uint64_t value;
};

/**
 * Answers @count questions from the process's tables, whose symbols lie @bias above @symbols. What
 * the tables do not have is not found, which is no error. -EAGAIN: the tables have not been set up yet;
 * -EBADMSG: they are none; -EFAULT, -ESRCH, -ENOMEM.
 */
int vm_structs_read(const struct vm_symbols *symbols, uint64_t bias, struct remote_memory *memory,
		    const struct vm_question *questions, size_t count, struct vm_answer *answers);

#endif
