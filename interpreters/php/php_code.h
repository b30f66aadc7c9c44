/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Finds in PHP's code what no symbol has: the ranges of execute_ex() and its cold parts, and the instructions at which
 * the list of execute_data and the native frames of execute_ex() do not agree (ebpf/abi/php.h).
 *
 * execute_ex() of a HYBRID VM has a single return, at the handler of an artificial instruction, hybrid_halt_op
 * (Zend/zend_vm_execute.skl, ZEND_VM_RETURN()). A function that it calls makes it return by leaving that instruction in
 * r15. Before execute_ex() returns, it runs code from which all paths lead to that handler. The calls in that code that
 * come after a store to EG(current_execute_data) are the ones to find.
 */
#ifndef INTERPRETERS_PHP_PHP_CODE_H
#define INTERPRETERS_PHP_PHP_CODE_H

#include "ebpf/abi/php.h"
#include "interpreters/import_slots.h"
#include "interpreters/language.h"
#include "lib/elf/elf_image.h"
#include "lib/model/flag_ranges.h"

enum {
	/** Limit of a function's size; execute_ex() of 8.4 has 43 KB. */
	PHP_CODE_MAX_BYTES = 128 << 10,
	PHP_CODE_MAX_TEXT_BYTES = 64 << 20,
	/** Limit of functions that make execute_ex() return. */
	PHP_CODE_MAX_LEAVING = 64,
};

/** ELF virtual addresses of the file's symbols. */
struct php_symbols {
	uint64_t execute;
	/** The variable zend_execute_ex. */
	uint64_t execute_pointer;
	/** zend_init_func_execute_data(), zend_init_code_execute_data(), which put an execute_data into the list. */
	uint64_t init[2];
	/** zend_call_function() and zend_execute(), which call execute_ex() through the variable. */
	uint64_t calling[2];
	/** zend_generator_resume(), which does the same for generators. */
	uint64_t resume;
	/** zend_objects_store_del() */
	uint64_t releasing;
	/** zend_fiber_switch_context(); 0 before 8.1 */
	uint64_t switching;
	/** The struct executor_globals, which code of a program names; with threads 0. The offset of EG(current_execute_data). */
	uint64_t globals;
	uint16_t current;
	/** The slots of these symbols in a library. */
	struct import_slots slots;
};

struct php_code {
	/** execute_ex() and its cold parts, sorted. */
	struct code_range ranges[LOOP_RANGES_MAX];
	uint32_t range_count;
	struct php_code_range end;
	uint16_t frame_bytes;
	struct php_code_range releasing;
	struct php_code_range switching;
	struct php_code_range entering[PHP_ENTERING_MAX];
	struct php_code_range resumed[PHP_RESUMED_MAX];
	struct php_code_range preparing[PHP_PREPARING_MAX];
	uint32_t left[PHP_LEFT_MAX];
};

/** -EOPNOTSUPP if the code has another shape, -EBADMSG, -ENOENT, -ENOMEM. */
int php_code_find(const struct elf_image *image, const struct php_symbols *symbols,
		  struct php_code *code);

/** True if the beginning of the function at @address has an instruction with the bytes @bytes. */
bool php_code_has_bytes(const struct elf_image *image, uint64_t address, const uint8_t *bytes,
			size_t size);

#endif
