/* SPDX-License-Identifier: Apache-2.0 */
/** What the kernel side is told of a V8 (ebpf/abi/javascript.h), from its layout and its builtins. */
#ifndef INTERPRETERS_JAVASCRIPT_JAVASCRIPT_DESCRIBE_H
#define INTERPRETERS_JAVASCRIPT_JAVASCRIPT_DESCRIBE_H

#include "ebpf/abi/javascript.h"
#include "interpreters/javascript/v8_builtins.h"
#include "interpreters/javascript/v8_layout.h"

/**
 * Fills @process but for dispatch_table, and for what depends on where the file is mapped: jit_pages is an ELF virtual
 * address. -EOPNOTSUPP: the layout does not fit.
 */
int javascript_describe(const struct v8_layout *layout, const struct v8_builtins *builtins,
			struct javascript_process *process);

/**
 * Finds javascript_process.dispatch_table of the V8 in @image in the code of its interpreter, which loads the table
 * (builtins-x64.cc, Generate_InterpreterEntryTrampoline). -EOPNOTSUPP: it does not.
 */
int javascript_find_dispatch_table(const struct elf_image *image,
				   const struct v8_builtins *builtins, uint32_t *offset);

#endif
