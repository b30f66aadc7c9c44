/* SPDX-License-Identifier: Apache-2.0 */
/**
 * HotSpot's description of itself: tables of its types, of the offsets of their fields, and of
 * constants, which libjvm.so exports for the serviceability agent. They are read from a process, where the
 * dynamic linker has filled in the addresses. The tables have 1,300 to 2,100 entries; only requested ones are kept.
 *
 * Source: share/runtime/vmStructs.hpp and vmStructs.cpp of OpenJDK 8 to 27. The offsets within an entry are
 * exported as well (gHotSpotVMStructEntryTypeNameOffset, ...), so no layout is assumed here.
 *
 * The tables are hostile: entries, strides, strings and the time to read them are bounded, and the caller
 * checks the values.
 */
#ifndef INTERPRETERS_JAVA_VM_STRUCTS_H
#define INTERPRETERS_JAVA_VM_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/elf/elf_image.h"
#include "lib/host/remote_memory.h"

enum {
	/** Limit for each table; the largest has 837. */
	VM_STRUCTS_MAX_ENTRIES = 4096,
	/** Limit of an entry's size in bytes; entries have 16 to 48. */
	VM_STRUCTS_MAX_STRIDE = 128,
	/** Limit of a name with its NUL; entries with longer names are skipped. */
	VM_STRUCTS_NAME_BYTES = 128,
	/** Limit of bytes that one call reads from the process. */
	VM_STRUCTS_MAX_READ_BYTES = 8 << 20,
};

/** Symbols that libjvm.so exports; each is a word of 8 bytes. */
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

/** ELF virtual addresses, indexed by enum vm_symbol. */
struct vm_symbols {
	/** EM_X86_64 or EM_AARCH64. */
	uint16_t machine;
	uint64_t addresses[VM_SYMBOL_COUNT];
};

/** -ENOENT: not HotSpot; -EOPNOTSUPP: HotSpot without some of the tables; -EBADMSG. */
int vm_symbols_find(const struct elf_image *image, struct vm_symbols *symbols);

enum vm_question_kind {
	/** The offset of the field @name of @type, or for a static field its address in the process. */
	VM_FIELD,
	/** The size of @type. */
	VM_SIZE,
	/** The value of the constant @name; @type is not used. */
	VM_CONSTANT,
};

struct vm_question {
	enum vm_question_kind kind;
	const char *type;
	const char *name;
};

struct vm_answer {
	bool is_found;
	/** Valid for a field. */
	bool is_static;
	/** For a field, the size of its type in bytes; 0: a struct, or a type that is not known here. */
	uint8_t bytes;
	uint64_t value;
};

/**
 * Answers @count questions from the process's tables, whose symbols are at @symbols plus @bias. An entry that the
 * tables lack is not found, which is no error. -EAGAIN: the tables are not initialized yet; -EBADMSG: they are
 * invalid; -EFAULT, -ESRCH, -ENOMEM.
 */
int vm_structs_read(const struct vm_symbols *symbols, uint64_t bias, struct remote_memory *memory,
		    const struct vm_question *questions, size_t count, struct vm_answer *answers);

#endif
