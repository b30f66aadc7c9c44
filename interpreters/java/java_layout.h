/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where HotSpot of one version keeps what is read of it: out of its own tables (vm_structs.h), so that
 * builds of a version may differ. What each version calls otherwise, or leaves out of its tables,
 * stands in java_layout.c and nowhere else. A version that is not known is refused.
 */
#ifndef INTERPRETERS_JAVA_JAVA_LAYOUT_H
#define INTERPRETERS_JAVA_JAVA_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "interpreters/java/vm_structs.h"

/** A field of an object. */
struct vm_place {
	/** JAVA_NO_PLACE: this version has no such field. */
	uint16_t offset;
	/** 1, 2, 4 or 8; 0: an object within the object. */
	uint8_t bytes;
};

enum {
	JAVA_NO_PLACE = UINT16_MAX,
	/** No object has a field further behind; InstanceKlass is the largest, with 500. */
	JAVA_MAX_OFFSET = 4096,
	JAVA_POINTER_BYTES = 8,
};

struct java_layout {
	/** EM_X86_64 or EM_AARCH64. */
	uint16_t machine;
	/** Of the language: 8, 11, ... */
	uint32_t version;

	/**
	 * Addresses in the process of static fields. CodeCache: up to 8 one heap, `heap`; later an array
	 * of them, `heaps`. 0 for what the version does not have.
	 */
	uint64_t heap;
	uint64_t heaps;
	/** StubRoutines: the address of call_stub to which Java functions return. */
	uint64_t call_stub_return_address;
	/** AbstractInterpreter: its StubQueue. */
	uint64_t interpreter_code;
	/** Abstract_VM_Version: a string. */
	uint64_t vm_release;
	/** Of the same: a string, such as "OpenJDK 64-Bit Server VM (25.0.3+9) for linux-amd64". */
	uint64_t vm_info;
	/** PerfMemory: where the JVM's counters are. */
	uint64_t counters;

	struct vm_place array_length, array_data;
	struct vm_place heap_memory, heap_segment_map, heap_log2_segment_size;
	struct vm_place space_low, space_high, space_low_boundary, space_high_boundary;
	struct vm_place block_used;
	uint16_t block_bytes;
	/** Of 21, and from 25 on; else 0: its words are looked through. */
	uint16_t continuation_entry_bytes;
	struct vm_place queue_buffer, queue_buffer_limit;

	/** Of CodeBlob: where code begins is a pointer in 9 to 22, else an offset. */
	struct vm_place blob_name, blob_size, blob_header_size, blob_frame_size;
	struct vm_place blob_frame_complete, blob_data_offset, blob_code_begin, blob_code_offset;
	/** A pointer to the set, and in that how many it has. */
	struct vm_place blob_oop_maps, oop_map_count;
	/** An nmethod is a CodeBlob with a header of this size. */
	uint16_t nmethod_bytes;
	struct vm_place nmethod_method, nmethod_compile_id, nmethod_comp_level, nmethod_entry_bci;
	/**
	 * Where callees of its frames return that it has given up, in two kinds of calls, addresses in 9 to 22, else
	 * offsets, of which 26 and later have one; and where in such a frame the place is kept that it was at. Of no
	 * bytes: not told.
	 */
	struct vm_place nmethod_deopt_handler, nmethod_deopt_mh_handler, nmethod_original_pc;
	struct vm_place nmethod_state;
	/**
	 * Debug information: records of places in the code (PcDesc), scopes, and the methods that these
	 * name. Up to 22 all of it lies behind the code; then records and scopes are in memory of their own
	 * (immutable), and from 25 on the methods as well (mutable), which in 23 and 24 are counted from the
	 * blob's data on. The data of scopes is a pointer in 9 to 22, else an offset.
	 */
	struct vm_place nmethod_scopes_pcs, nmethod_scopes_pcs_end;
	struct vm_place nmethod_scopes_data, nmethod_immutable_data;
	struct vm_place nmethod_metadata, blob_mutable_data, blob_relocation_size;
	uint16_t pc_desc_bytes;
	struct vm_place pc_desc_offset, pc_desc_scope;

	struct vm_place method_const_method;
	/** The bytecodes stand behind the ConstMethod. */
	uint16_t const_method_bytes;
	struct vm_place const_method_constants, const_method_code_size;
	struct vm_place const_method_name, const_method_signature;
	/** In words, with all that stands behind it. */
	struct vm_place const_method_size;
	struct vm_place const_method_flags;
	/** The bit of that which says that there is a table of lines behind the bytecodes. */
	uint32_t has_lines_flag;
	/** The entries stand behind the ConstantPool, a pointer each. */
	uint16_t constant_pool_bytes;
	struct vm_place constant_pool_holder, constant_pool_length;
	/** How often its class was redefined before it was made; of no bytes: not known. */
	struct vm_place constant_pool_version;
	/** The name of the source file: of the class up to 16. */
	struct vm_place constant_pool_source_file, klass_source_file;
	struct vm_place klass_name, symbol_length, symbol_body;
};

/**
 * Reads the layout of the HotSpot whose symbols lie @bias above @symbols. -EAGAIN: it has not set
 * itself up yet; -EOPNOTSUPP: a version that is not known, or one whose tables lack something;
 * -EBADMSG, -EFAULT, -ESRCH, -ENOMEM.
 */
int java_layout_read(const struct vm_symbols *symbols, uint64_t bias, struct remote_memory *memory,
		     struct java_layout *layout);

#endif
