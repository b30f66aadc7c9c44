/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The layout of HotSpot's objects: offsets, sizes and addresses that its own tables state (vm_structs.h), so that
 * builds of a version may differ. Only java_layout.c knows what versions name differently or leave out of their
 * tables. An unknown version is refused.
 */
#ifndef INTERPRETERS_JAVA_JAVA_LAYOUT_H
#define INTERPRETERS_JAVA_JAVA_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "interpreters/java/vm_structs.h"

/** A field of an object. */
struct vm_field {
	/** JAVA_NO_FIELD if this version has no such field. */
	uint16_t offset;
	/** 1, 2, 4 or 8; 0 for an object within the object. */
	uint8_t bytes;
};

enum {
	JAVA_NO_FIELD = UINT16_MAX,
	/** Limit of offsets; the largest object is InstanceKlass with 500 bytes. */
	JAVA_MAX_OFFSET = 4096,
	JAVA_POINTER_BYTES = 8,
};

struct java_layout {
	/** EM_X86_64 or EM_AARCH64. */
	uint16_t machine;
	/** Version of Java: 8, 11, ... */
	uint32_t version;

	/**
	 * Addresses of static fields in the process; 0 for a field that the version does not have. CodeCache has one
	 * heap (`heap`) up to 8, and an array of heaps (`heaps`) later.
	 */
	uint64_t heap;
	uint64_t heaps;
	/** StubRoutines: the address in call_stub to which Java functions return. */
	uint64_t call_stub_return_address;
	/** AbstractInterpreter: its StubQueue. */
	uint64_t interpreter_code;
	/** Abstract_VM_Version: a string. */
	uint64_t vm_release;
	/** Abstract_VM_Version: a string, such as "OpenJDK 64-Bit Server VM (25.0.3+9) for linux-amd64". */
	uint64_t vm_info;
	/** PerfMemory: the address of the JVM's counters. */
	uint64_t counters;

	struct vm_field array_length, array_data;
	struct vm_field heap_memory, heap_segment_map, heap_log2_segment_size;
	struct vm_field space_low, space_high, space_low_boundary, space_high_boundary;
	struct vm_field block_used;
	uint16_t block_bytes;
	/** Size of a ContinuationEntry in 21 and from 25 on. Else 0, and its words are searched. */
	uint16_t continuation_entry_bytes;
	struct vm_field queue_buffer, queue_buffer_limit;

	/** Fields of CodeBlob. The start of the code is a pointer in 9 to 22, else an offset. */
	struct vm_field blob_name, blob_size, blob_header_size, blob_frame_size;
	struct vm_field blob_frame_complete, blob_data_offset, blob_code_begin, blob_code_offset;
	/** A pointer to the set of maps, and the number of maps in the set. */
	struct vm_field blob_oop_maps, oop_map_count;
	/** An nmethod is a CodeBlob with a header of this size. */
	uint16_t nmethod_bytes;
	struct vm_field nmethod_method, nmethod_compile_id, nmethod_comp_level, nmethod_entry_bci;
	/**
	 * The deoptimization handlers, to which callees of a deoptimized frame return, for two kinds of calls. They are
	 * addresses in 9 to 22, else offsets; 26 and later have only the first. nmethod_original_pc: offset in such
	 * a frame of the pc that it was at. Fields of 0 bytes are unknown.
	 */
	struct vm_field nmethod_deopt_handler, nmethod_deopt_mh_handler, nmethod_original_pc;
	struct vm_field nmethod_state;
	/**
	 * Debug information: records for pcs in the code (PcDesc), scopes, and the methods that scopes refer to. Up to
	 * 22 all of it follows the code. From 23 on records and scopes are in memory of their own (immutable), and
	 * from 25 on the methods too (mutable); in 23 and 24 the offset of the methods starts at the blob's data. The
	 * data of scopes is a pointer in 9 to 22, else an offset.
	 */
	struct vm_field nmethod_scopes_pcs, nmethod_scopes_pcs_end;
	struct vm_field nmethod_scopes_data, nmethod_immutable_data;
	struct vm_field nmethod_metadata, blob_mutable_data, blob_relocation_size;
	uint16_t pc_desc_bytes;
	struct vm_field pc_desc_offset, pc_desc_scope;

	struct vm_field method_const_method;
	/** Size of a ConstMethod; the bytecodes follow it. */
	uint16_t const_method_bytes;
	struct vm_field const_method_constants, const_method_code_size;
	struct vm_field const_method_name, const_method_signature;
	/** Size in words of the ConstMethod and everything that follows it. */
	struct vm_field const_method_size;
	struct vm_field const_method_flags;
	/** Bit of const_method_flags: a table of lines follows the bytecodes. */
	uint32_t has_lines_flag;
	/** Size of a ConstantPool; its entries follow it, a pointer each. */
	uint16_t constant_pool_bytes;
	struct vm_field constant_pool_holder, constant_pool_length;
	/** How often its class had been redefined when it was created; 0 bytes: unknown. */
	struct vm_field constant_pool_version;
	/** The name of the source file; up to 16 it is a field of the class. */
	struct vm_field constant_pool_source_file, klass_source_file;
	struct vm_field klass_name, symbol_length, symbol_body;
};

/**
 * Reads the layout of the HotSpot whose symbols are at @symbols plus @bias. -EAGAIN: it has not initialized
 * itself yet; -EOPNOTSUPP: the version is unknown, or its tables lack something; -EBADMSG, -EFAULT, -ESRCH,
 * -ENOMEM.
 */
int java_layout_read(const struct vm_symbols *symbols, uint64_t bias, struct remote_memory *memory,
		     struct java_layout *layout);

#endif
