/* SPDX-License-Identifier: Apache-2.0 */
/** Makes the kernel side's data for a V8 (ebpf/abi/javascript.h) from its layout and its builtins. */
#ifndef INTERPRETERS_JAVASCRIPT_JAVASCRIPT_DESCRIBE_H
#define INTERPRETERS_JAVASCRIPT_JAVASCRIPT_DESCRIBE_H

#include "ebpf/abi/javascript.h"
#include "interpreters/javascript/v8_builtins.h"
#include "interpreters/javascript/v8_layout.h"

/**
 * Fills @process except dispatch_table. jit_pages is still an ELF virtual address; the caller adds the bias.
 * -EOPNOTSUPP: the kernel side cannot read this layout.
 */
int javascript_describe(const struct v8_layout *layout, const struct v8_builtins *builtins,
			struct javascript_process *process);

/**
 * Finds javascript_process.dispatch_table of the V8 in @image, in the code of its interpreter, which loads the table
 * (builtins-x64.cc, Generate_InterpreterEntryTrampoline). -EOPNOTSUPP: the load was not found.
 */
int javascript_find_dispatch_table(const struct elf_image *image,
				   const struct v8_builtins *builtins, uint32_t *offset);

#endif
