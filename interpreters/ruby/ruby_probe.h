/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Recognizes Ruby in a file, and finds what attach needs: libruby, or a statically linked ruby. A file is Ruby if it
 * exports ruby_version and rb_iseq_eval(), as all do for extensions; a few small reads exclude other files.
 *
 * The loop is found in code, since 3.2 and later do not export it: rb_iseq_eval() ends with a jump to vm_exec(), and
 * the largest function that vm_exec() calls executes instructions. Layouts are checked against code as well.
 */
#ifndef INTERPRETERS_RUBY_RUBY_PROBE_H
#define INTERPRETERS_RUBY_RUBY_PROBE_H

#include "ebpf/abi/ruby.h"
#include "interpreters/language.h"
#include "interpreters/ruby/ruby_layout.h"
#include "interpreters/ruby/ruby_loop.h"

enum {
	/** Limit of the text of a version, such as "3.3.8", with its NUL. */
	RUBY_VERSION_TEXT_BYTES = 16,
};

/** Addresses are ELF virtual addresses. */
struct ruby_file {
	struct runtime_file file;
	uint16_t machine;
	const struct ruby_layout *layout;
	/** The text at version_address in the file; the process must have the same. */
	uint64_t version_address;
	char version_text[RUBY_VERSION_TEXT_BYTES];
	/** rb_thread_current() */
	uint64_t thread_function;
	/** ruby_global_symbols: last_id, a table, ids. */
	uint64_t symbols;
	/** The pointer to the execution context, in versions whose threads share one. */
	struct ruby_pointer context;
	/** Its pointer is unknown if rb_during_gc() has another shape. */
	struct ruby_collector collector;
	/** coroutine_transfer() saves registers as struct ruby_process assumes. */
	bool saves_registers;
	/** Size of a jump buffer. */
	uint16_t jump_buffer;
	/** As in struct ruby_process. */
	struct ruby_code_range loop;
	struct ruby_code_range core;
	struct ruby_code_range returning[RUBY_RETURNING_MAX];
	struct ruby_code_range code_returns[RUBY_CODE_RETURNS_MAX];
	struct ruby_code_range entering[RUBY_ENTERING_MAX];
};

/** As language_ops.probe, for @language. */
int ruby_probe(const struct language *language, const struct elf_image *image,
	       struct ruby_file **file);
void ruby_file_release(struct ruby_file *file);

#endif
