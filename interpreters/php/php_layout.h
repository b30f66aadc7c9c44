/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where things lie in the structs of each version of PHP that is known. From Zend/zend_compile.h, zend_globals.h and
 * zend_generators.h of each version (7.4.33, 8.2.32, 8.4.27, 8.5.7), by offsetof() of a program compiled with them. What all
 * versions have in common is in ebpf/abi/php.h.
 */
#ifndef INTERPRETERS_PHP_PHP_LAYOUT_H
#define INTERPRETERS_PHP_PHP_LAYOUT_H

#include <stdint.h>

#define PHP_ENGINE_VERSION(major, minor) ((major) << 8 | (minor))

/** Offsets in bytes. */
struct php_layout {
	/** Version of the Zend Engine: 3.4 is that of PHP 7.4, 4.2 that of 8.2. */
	uint16_t engine;
	const char *version;

	/** zend_executor_globals: current_execute_data, opline_before_exception */
	uint16_t current;
	uint16_t before_exception;
	/** zend_op_array: last, filename */
	uint16_t last;
	uint16_t file;
	/** num_dynamic_func_defs, dynamic_func_defs, which are the closures that it has; 0 before 8.1, where it has none. */
	uint16_t closure_count;
	uint16_t closures;
	/** zend_generator: execute_data, the type of values, node.parent, execute_fake */
	uint16_t generator_frame;
	uint16_t generator_values;
	uint16_t generator_parent;
	uint16_t generator_fake;
};

/** The layout of a version of the engine, PHP_ENGINE_VERSION(); NULL if it is not known. */
const struct php_layout *php_layout_of(uint16_t engine);

#endif
