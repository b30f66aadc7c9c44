/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * PHP's data for the kernel side: struct php_process, one for each process. attach() in interpreters/php fills it, and it is
 * published as abi/runtime.h describes. Nothing here depends on a version: versions differ in offsets.
 *
 * Zend's executor has a list of execute_data, the innermost first. execute_ex(), the pending native frame, runs the PHP
 * functions on it up to the first one that is flagged ZEND_CALL_TOP. C functions have an execute_data as well, but run in
 * native frames of their own.
 *
 * A frame has two words (abi/frame.h):
 *
 *	word 0	frame_word(FRAME_PHP, 0, address): the address of the function (zend_function). For code of a file, which
 *		has no name, the address of the file's name (zend_string): PHP frees such a function after it has run, but
 *		not the name.
 *	word 1	position << 32 | fingerprint
 *	word 2	only in the innermost frame, if code that the JIT has generated runs it: frame_word(FRAME_NONE, flags, the
 *		address in that code). From the code user space finds the line (interpreters/php/php_jit.h); if it does not,
 *		the line in word 1 is used.
 *
 * position: the line in bits 0 to 24, and flags (enum php_position).
 *
 * fingerprint: fingerprint_end() of the following, or 0: the function could not be read.
 *	- its type, and its words function_name and scope
 *	- for a PHP function the words with last, opcodes, filename and line_start, and the string of its file's name
 *	- the strings of its name and of its class's name, where it has them
 *	- for code of a file only the string of the file's name
 * A string is mixed as its length, its beginning, and its end if it is longer than PHP_TEXT_BYTES (php_text_part()). No field
 * that changes while a function runs is included.
 */
#ifndef EBPF_ABI_PHP_H
#define EBPF_ABI_PHP_H

#include <linux/types.h>

#include "ebpf/abi/fingerprint.h"
#include "ebpf/abi/runtime.h"

enum php_position {
	PHP_LINE_MASK = (1 << 25) - 1,
	/** How the code of a file was included, an enum php_include. */
	PHP_INCLUDE_SHIFT = 25,
	PHP_INCLUDE_MASK = 7,
	/** The line may be that of another instruction of the function. */
	PHP_IS_APPROXIMATE = 1 << 28,
	/** A C function. */
	PHP_IS_INTERNAL = 1 << 29,
	/** Code of a file, which has no name: the address is that of the file's name. */
	PHP_IS_FILE = 1 << 30,
};

enum php_include {
	/** The program's main file. */
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
	/** Size of the part of a string that is mixed at once; a shorter string is mixed whole. */
	PHP_TEXT_WORDS = 4,
	PHP_TEXT_BYTES = 8 * PHP_TEXT_WORDS,
	/** In a zend_string: its length, its bytes. */
	PHP_STRING_LENGTH = 16,
	PHP_STRING_BYTES = 24,
	/** In a zend_class_entry. */
	PHP_CLASS_NAME = 8,
	/** In a zend_fiber_context: its stack, which begins with its lowest address and its size. */
	PHP_FIBER_STACK = 32,
	/** From the zend_fiber_context of a zend_fiber on: the context that has resumed it. */
	PHP_FIBER_RESUMER = 104,
	/** In a zend_op; size of a zend_op. */
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
	/**
	 * Addresses of EG(current_execute_data) and EG(opline_before_exception) in the process. With threads (ZTS) their offsets
	 * from the thread's memory, to which `thread` leads.
	 */
	__u64 current;
	__u64 before_exception;
	/** An address in the process minus this is an ELF virtual address of the runtime. */
	__u64 bias;
	/** The path to what tsrm_get_ls_cache() returns; depth 0: a build without threads. */
	struct thread_local_path thread;

	/** The end of execute_ex(), from the instruction on that begins to restore its registers. */
	struct php_code_range end;
	/** zend_objects_store_del(), by which generated code releases a closure when its execute_data has been popped. */
	struct php_code_range releasing;
	/** zend_fiber_switch_context(), which changes stacks. */
	struct php_code_range switching;
	/** Code in which the innermost execute_data belongs to an execute_ex() yet to be called. {0, 0} ends the list. */
	struct php_code_range entering[PHP_ENTERING_MAX];
	/** Code in which the innermost execute_data, if it is a generator's, is left from an execute_ex() that has returned. */
	struct php_code_range resumed[PHP_RESUMED_MAX];
	/** Functions that have another execute_data in the register of VM code: they prepare it, or call execute_ex() for it. */
	struct php_code_range preparing[PHP_PREPARING_MAX];
	/** Return addresses in execute_ex() and its callees at which the last execute_data has been popped. */
	__u32 left[PHP_LEFT_MAX];

	/** In a PHP function: the word with `last`, which opcodes follows; filename, which line_start follows. */
	__u16 code;
	__u16 file;
	/** Number of bits below `last` in its word. */
	__u8 last_shift;
	/** In a zend_generator: execute_data, the type of values, node.parent, execute_fake. */
	__u8 generator_frame;
	__u8 generator_values;
	__u8 generator_parent;
	__u8 generator_fake;
	/** Bytes that generated code subtracts from the stack pointer of execute_ex() when it is entered. */
	__u8 code_bytes;
	/** EG(main_fiber_context) minus `current`; EG(current_fiber_context) follows. 0 before 8.1, which has no fibers. */
	__u16 fibers;
	__u8 reserved[2];
	/** Size of the frame of execute_ex(), from its stack pointer up to its caller's. */
	__u16 frame_bytes;
};

_Static_assert(sizeof(struct php_process) == 688, "struct php_process is 43 cells");

/** Address of the first part (@part 0) or the last part of a string. @length is more than PHP_TEXT_BYTES. */
static inline __u64 php_text_part(__u64 string, __u64 length, int part)
{
	return string + PHP_STRING_BYTES + (part ? length - PHP_TEXT_BYTES : 0);
}

#endif
