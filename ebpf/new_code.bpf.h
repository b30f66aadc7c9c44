/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * Code that a process has just generated, which user space does not know yet: compilers of runtimes map
 * memory for each chunk of code, and run it at once. The kernel is asked for its mapping with
 * bpf_find_vma(), only where there is bpf_loop(), which is as old. It is asked once in an unwind, since it
 * has to lock the process's mappings. The call fails while they are being changed.
 */
#ifndef EBPF_NEW_CODE_BPF_H
#define EBPF_NEW_CODE_BPF_H

#include "ebpf/abi/frame.h"
#include "ebpf/kernel_types.bpf.h"
#include "ebpf/state.bpf.h"

struct new_code {
	__u64 start;
	__u64 end;
};

static long take_anonymous_code(struct task_struct *task, struct vm_area_struct *area,
				void *context)
{
	struct new_code *code = context;

	(void)task;
	/* Mappings of files and of the kernel, such as its page of uprobes, have operations. */
	if (area->vm_ops || !(area->vm_flags & AREA_EXECUTABLE))
		return 0;
	code->start = area->vm_start;
	code->end = area->vm_end;
	return 0;
}

/** True if @address is in anonymous code, whose mapping is then cached for find_mapping(). */
static __always_inline bool find_new_code(struct unwind_state *state, __u64 address)
{
	struct new_code code = { 0 };
	struct cached_mapping *mapping;

	if (state->asked_for_code)
		return false;
	state->asked_for_code = 1;
	bpf_find_vma(bpf_get_current_task_btf(), address, take_anonymous_code, &code, 0);
	if (!code.end)
		return false;
	mapping = &state->mappings[state->next_mapping % MAPPING_CACHE_COUNT];
	mapping->start = code.start;
	mapping->size_bytes = code.end - code.start;
	mapping->bias = 0;
	mapping->executable_id = EXECUTABLE_ID_ANONYMOUS;
	mapping->rows_id = EXECUTABLE_ID_ANONYMOUS;
	mapping->page_count = 0;
	mapping->error = UNWIND_ANONYMOUS;
	state->next_mapping++;
	return true;
}

#endif
