/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Offsets in the structs of each known version of PHP. They come from offsetof() in a program that was compiled with
 * Zend/zend_compile.h, zend_globals.h, zend_generators.h and zend_fibers.h of each version (7.4.33, 8.2.32, 8.4.27, 8.5.7), with
 * threads (ZTS) and without, which have the same. Offsets that are equal in all versions are in ebpf/abi/php.h.
 */
#ifndef INTERPRETERS_PHP_PHP_LAYOUT_H
#define INTERPRETERS_PHP_PHP_LAYOUT_H

#include <stdint.h>

#define PHP_ENGINE_VERSION(major, minor) ((major) << 8 | (minor))

/** Offsets in bytes. */
struct php_layout {
	/** Version of the Zend Engine: PHP 7.4 has 3.4, 8.2 has 4.2. */
	uint16_t engine;
	const char *version;

	/** zend_executor_globals: current_execute_data, opline_before_exception */
	uint16_t current;
	uint16_t before_exception;
	/** zend_op_array: last, filename */
	uint16_t last;
	uint16_t file;
	/** num_dynamic_func_defs and dynamic_func_defs: the function's closures; 0 before 8.1, which lacks them. */
	uint16_t closure_count;
	uint16_t closures;
	/** zend_generator: execute_data, the type of values, node.parent, execute_fake */
	uint16_t generator_frame;
	uint16_t generator_values;
	uint16_t generator_parent;
	uint16_t generator_fake;
	/** zend_executor_globals: main_fiber_context, which current_fiber_context follows; 0 before 8.1, which has no fibers */
	uint16_t fibers;
	/** php_process.code_bytes: ZEND_VM_HYBRID_JIT_RED_ZONE_SIZE, or HYBRID_SPAD of zend_jit_x86.dasc. */
	uint8_t code_bytes;
	/** Sizes of zend_jit_trace_info and zend_jit_trace_exit_info (zend_jit_internal.h); 0: unknown, or without a JIT. */
	uint8_t trace_bytes;
	uint8_t exit_bytes;
};

/** The layout of a version of the engine, PHP_ENGINE_VERSION(); NULL if it is unknown. */
const struct php_layout *php_layout_of(uint16_t engine);

#endif
