/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * What the kernel side knows of PHP in a process: struct php_process, filled by attach in interpreters/php and published as
 * abi/runtime.h says. Nothing here names a version: what differs between them are offsets.
 *
 * Zend's executor has a list of execute_data, the innermost first. execute_ex(), the held native frame, runs those of
 * functions in PHP up to the first one that is flagged ZEND_CALL_TOP. Functions in C have an execute_data as well, but run
 * in native frames of their own.
 *
 * A frame, two words (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_PHP, 0, address of the function (zend_function), or of the name of the file (zend_string) whose
 *		code has no name of its own: what runs it frees the function, but not the text)
 *	word 1	position << 32 | fingerprint
 *
 * position: the line in bits 0 to 24, and flags (enum php_position).
 *
 * fingerprint: fingerprint_end() of what was mixed, or 0: the function could not be read. These are its type, and its words
 * function_name and scope; of a function in PHP the words with last, opcodes, filename and line_start, and the text of its
 * file; the text of its name and that of the name of its class, where it has them. Of code without a name it is the text of
 * its file alone. Of a text these are its length, its
 * beginning, and its end if it is longer than PHP_TEXT_BYTES (php_text_part()). What changes while a function runs is
 * not among them.
 */
#ifndef EBPF_ABI_PHP_H
#define EBPF_ABI_PHP_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"
#include "ebpf/abi/runtime.h"

enum php_position {
	PHP_LINE_MASK = (1 << 25) - 1,
	/** What included the code of a file, an enum php_include. */
	PHP_INCLUDE_SHIFT = 25,
	PHP_INCLUDE_MASK = 7,
	/** The line may be that of another instruction of the function. */
	PHP_IS_APPROXIMATE = 1 << 28,
	/** A function in C. */
	PHP_IS_INTERNAL = 1 << 29,
	/** Code of a file, which has no name: the address is that of the file's name. */
	PHP_IS_FILE = 1 << 30,
};

enum php_include {
	/** The program itself. */
	PHP_INCLUDE_NONE,
	PHP_INCLUDE_EVAL,
	PHP_INCLUDE_INCLUDE,
	PHP_INCLUDE_INCLUDE_ONCE,
	PHP_INCLUDE_REQUIRE,
	PHP_INCLUDE_REQUIRE_ONCE,
	PHP_INCLUDE_COUNT,
};

enum {
	PHP_LEFT_MAX = 48,
	PHP_ENTERING_MAX = 32,
	PHP_RESUMED_MAX = 8,
	PHP_PREPARING_MAX = 12,
	/** A function begins with these: type and flags, function_name, scope. */
	PHP_FUNCTION_WORDS = 3,
	/** Parts of a text that are mixed: shorter ones are mixed whole. */
	PHP_TEXT_WORDS = 4,
	PHP_TEXT_BYTES = 8 * PHP_TEXT_WORDS,
	/** In a zend_string: its length, its bytes. */
	PHP_STRING_LENGTH = 16,
	PHP_STRING_BYTES = 24,
	/** In a zend_class_entry. */
	PHP_CLASS_NAME = 8,
	/** In a zend_op, and the size of one. */
	PHP_OPCODE_EXTENDED = 20,
	PHP_OPCODE_LINE = 24,
	PHP_OPCODE_BYTES = 32,
	/** Values of zend_function.type. */
	PHP_FUNCTION_INTERNAL = 1,
	PHP_FUNCTION_USER = 2,
	PHP_FUNCTION_EVAL = 4,
};

/** ELF virtual addresses [start, end). */
struct php_code_range {
	__u32 start;
	__u32 end;
};

struct php_process {
	/** EG(current_execute_data) and EG(opline_before_exception) in the process. */
	__u64 current;
	__u64 before_exception;
	/** An address in the process minus this is an ELF virtual address of the runtime. */
	__u64 bias;

	/** The end of execute_ex(), from where it takes its registers back. */
	struct php_code_range end;
	/** Where the innermost execute_data is that of an execute_ex() yet to be called. {0, 0} where there are no more. */
	struct php_code_range entering[PHP_ENTERING_MAX];
	/** The same if it is a generator's: where that of an execute_ex() that has returned is not yet taken away. */
	struct php_code_range resumed[PHP_RESUMED_MAX];
	/** Functions that have another execute_data in the register of VM code: they prepare it, or call execute_ex() for it. */
	struct php_code_range preparing[PHP_PREPARING_MAX];
	/** Return addresses in execute_ex() and what it calls, where the last execute_data has been taken away. */
	__u32 left[PHP_LEFT_MAX];

	/** In a function in PHP: the word that `last` is in, behind which is opcodes; filename, behind which is line_start. */
	__u16 code;
	__u16 file;
	/** Bits of the word that are below `last`. */
	__u8 last_shift;
	/** In a zend_generator: execute_data, the type of values, node.parent, execute_fake. */
	__u8 generator_frame;
	__u8 generator_values;
	__u8 generator_parent;
	__u8 generator_fake;
	__u8 reserved[7];
};

_Static_assert(sizeof(struct php_process) == 656, "struct php_process is 41 cells");

/** Where a part of a text begins: the first (@part 0), or the last. @length is more than PHP_TEXT_BYTES. */
static inline __u64 php_text_part(__u64 string, __u64 length, int part)
{
	return string + PHP_STRING_BYTES + (part ? length - PHP_TEXT_BYTES : 0);
}

#endif
