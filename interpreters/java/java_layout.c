/* SPDX-License-Identifier: Apache-2.0 */
#include "interpreters/java/java_layout.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "ebpf/abi/java.h"
#include "lib/base/error.h"

enum {
	FIRST_VERSION = 8,
	/*
	 * Later versions are refused, because nobody has checked the meaning of their fields. Tests run JDKs 8, 11, 17,
	 * 21 and 25 to 27. The versions between are known from their source; where it is unclear when a field was
	 * moved, both of its names are looked up.
	 */
	LAST_VERSION = 27,
	/**
	 * No table of 21 has this size. It follows from the frame of enterSpecial(), which has 10 words, 2 of them for
	 * the call. The first word is never written, so it may be an address of code.
	 */
	CONTINUATION_ENTRY_BYTES_OF_21 = 64,
	/** HotSpot of Java 8 has version numbers of its own; the last one is 25. */
	HOTSPOT_OF_JAVA_8 = 25,
};

/*
 * A fact is an entry of HotSpot's tables that sets a member of struct java_layout, with the versions that may
 * have it. If a version may have facts for a member, at least one of them must be found.
 */
enum fact_kind {
	/** Sets a struct vm_field. */
	FACT_FIELD,
	/** Sets a uint64_t to the address of a static field. */
	FACT_STATIC,
	/** Sets a uint16_t. */
	FACT_SIZE,
	/** Sets a uint32_t. */
	FACT_CONSTANT,
};

struct fact {
	enum fact_kind kind;
	/** Offset of the member in struct java_layout. */
	uint16_t member;
	uint8_t first_version;
	uint8_t last_version;
	/** The fact may be missing, since another member has the same information. */
	bool is_optional;
	const char *type;
	const char *name;
};

#define FIELD(first, last, member, type, name)                                                     \
	{                                                                                          \
		FACT_FIELD, offsetof(struct java_layout, member), first, last, false, type, name   \
	}
#define OPTIONAL_FIELD(first, last, member, type, name)                                            \
	{                                                                                          \
		FACT_FIELD, offsetof(struct java_layout, member), first, last, true, type, name    \
	}
#define STATIC(first, last, member, type, name)                                                    \
	{                                                                                          \
		FACT_STATIC, offsetof(struct java_layout, member), first, last, false, type, name  \
	}
#define SIZE(first, member, type)                                                                  \
	{                                                                                          \
		FACT_SIZE, offsetof(struct java_layout, member), first, LAST_VERSION, false, type, \
			NULL                                                                       \
	}
#define CONSTANT(first, last, member, name)                                                        \
	{                                                                                          \
		FACT_CONSTANT, offsetof(struct java_layout, member), first, last, false, "", name  \
	}

static const struct fact facts[] = {
	STATIC(8, 8, heap, "CodeCache", "_heap"),
	STATIC(9, LAST_VERSION, heaps, "CodeCache", "_heaps"),
	STATIC(8, LAST_VERSION, call_stub_return_address, "StubRoutines",
	       "_call_stub_return_address"),
	STATIC(8, LAST_VERSION, interpreter_code, "AbstractInterpreter", "_code"),
	STATIC(8, LAST_VERSION, vm_release, "Abstract_VM_Version", "_s_vm_release"),
	STATIC(8, LAST_VERSION, vm_info, "Abstract_VM_Version", "_s_internal_vm_info_string"),
	STATIC(8, LAST_VERSION, counters, "PerfMemory", "_start"),

	FIELD(9, 16, array_length, "GenericGrowableArray", "_len"),
	FIELD(12, LAST_VERSION, array_length, "GrowableArrayBase", "_len"),
	FIELD(9, LAST_VERSION, array_data, "GrowableArray<int>", "_data"),
	FIELD(8, LAST_VERSION, heap_memory, "CodeHeap", "_memory"),
	FIELD(8, LAST_VERSION, heap_segment_map, "CodeHeap", "_segmap"),
	FIELD(8, LAST_VERSION, heap_log2_segment_size, "CodeHeap", "_log2_segment_size"),
	FIELD(8, LAST_VERSION, space_low, "VirtualSpace", "_low"),
	FIELD(8, LAST_VERSION, space_high, "VirtualSpace", "_high"),
	FIELD(8, LAST_VERSION, space_low_boundary, "VirtualSpace", "_low_boundary"),
	FIELD(8, LAST_VERSION, space_high_boundary, "VirtualSpace", "_high_boundary"),
	FIELD(8, LAST_VERSION, block_used, "HeapBlock::Header", "_used"),
	SIZE(8, block_bytes, "HeapBlock"),
	SIZE(25, continuation_entry_bytes, "ContinuationEntry"),
	FIELD(8, LAST_VERSION, queue_buffer, "StubQueue", "_stub_buffer"),
	FIELD(8, LAST_VERSION, queue_buffer_limit, "StubQueue", "_buffer_limit"),

	FIELD(8, LAST_VERSION, blob_name, "CodeBlob", "_name"),
	FIELD(8, LAST_VERSION, blob_size, "CodeBlob", "_size"),
	FIELD(8, LAST_VERSION, blob_header_size, "CodeBlob", "_header_size"),
	FIELD(8, LAST_VERSION, blob_frame_size, "CodeBlob", "_frame_size"),
	FIELD(8, LAST_VERSION, blob_frame_complete, "CodeBlob", "_frame_complete_offset"),
	FIELD(8, LAST_VERSION, blob_data_offset, "CodeBlob", "_data_offset"),
	FIELD(9, 22, blob_code_begin, "CodeBlob", "_code_begin"),
	FIELD(8, 8, blob_code_offset, "CodeBlob", "_code_offset"),
	FIELD(23, LAST_VERSION, blob_code_offset, "CodeBlob", "_code_offset"),
	FIELD(8, LAST_VERSION, blob_oop_maps, "CodeBlob", "_oop_maps"),
	FIELD(8, 8, oop_map_count, "OopMapSet", "_om_count"),
	FIELD(9, LAST_VERSION, oop_map_count, "ImmutableOopMapSet", "_count"),
	SIZE(8, nmethod_bytes, "nmethod"),
	FIELD(8, 8, nmethod_method, "nmethod", "_method"),
	FIELD(9, 22, nmethod_method, "CompiledMethod", "_method"),
	FIELD(23, LAST_VERSION, nmethod_method, "nmethod", "_method"),
	FIELD(8, LAST_VERSION, nmethod_compile_id, "nmethod", "_compile_id"),
	FIELD(8, LAST_VERSION, nmethod_comp_level, "nmethod", "_comp_level"),
	FIELD(8, LAST_VERSION, nmethod_entry_bci, "nmethod", "_entry_bci"),
	OPTIONAL_FIELD(8, 8, nmethod_deopt_handler, "nmethod", "_deoptimize_offset"),
	OPTIONAL_FIELD(9, 22, nmethod_deopt_handler, "CompiledMethod", "_deopt_handler_begin"),
	OPTIONAL_FIELD(23, LAST_VERSION, nmethod_deopt_handler, "nmethod", "_deopt_handler_offset"),
	OPTIONAL_FIELD(23, LAST_VERSION, nmethod_deopt_handler, "nmethod",
		       "_deopt_handler_entry_offset"),
	OPTIONAL_FIELD(8, 8, nmethod_deopt_mh_handler, "nmethod", "_deoptimize_mh_offset"),
	OPTIONAL_FIELD(9, 22, nmethod_deopt_mh_handler, "CompiledMethod",
		       "_deopt_mh_handler_begin"),
	OPTIONAL_FIELD(23, LAST_VERSION, nmethod_deopt_mh_handler, "nmethod",
		       "_deopt_mh_handler_offset"),
	OPTIONAL_FIELD(8, LAST_VERSION, nmethod_original_pc, "nmethod", "_orig_pc_offset"),
	FIELD(8, LAST_VERSION, nmethod_state, "nmethod", "_state"),
	FIELD(8, LAST_VERSION, nmethod_scopes_pcs, "nmethod", "_scopes_pcs_offset"),
	FIELD(8, 22, nmethod_scopes_pcs_end, "nmethod", "_dependencies_offset"),
	FIELD(23, LAST_VERSION, nmethod_scopes_pcs_end, "nmethod", "_scopes_data_offset"),
	FIELD(8, 8, nmethod_scopes_data, "nmethod", "_scopes_data_offset"),
	FIELD(9, 22, nmethod_scopes_data, "CompiledMethod", "_scopes_data_begin"),
	FIELD(23, LAST_VERSION, nmethod_scopes_data, "nmethod", "_scopes_data_offset"),
	FIELD(23, LAST_VERSION, nmethod_immutable_data, "nmethod", "_immutable_data"),
	FIELD(8, 24, nmethod_metadata, "nmethod", "_metadata_offset"),
	FIELD(25, LAST_VERSION, blob_mutable_data, "CodeBlob", "_mutable_data"),
	FIELD(25, LAST_VERSION, blob_relocation_size, "CodeBlob", "_relocation_size"),
	SIZE(8, pc_desc_bytes, "PcDesc"),
	FIELD(8, LAST_VERSION, pc_desc_offset, "PcDesc", "_pc_offset"),
	FIELD(8, LAST_VERSION, pc_desc_scope, "PcDesc", "_scope_decode_offset"),

	FIELD(8, LAST_VERSION, method_const_method, "Method", "_constMethod"),
	SIZE(8, const_method_bytes, "ConstMethod"),
	FIELD(8, LAST_VERSION, const_method_constants, "ConstMethod", "_constants"),
	FIELD(8, LAST_VERSION, const_method_code_size, "ConstMethod", "_code_size"),
	FIELD(8, LAST_VERSION, const_method_name, "ConstMethod", "_name_index"),
	FIELD(8, LAST_VERSION, const_method_signature, "ConstMethod", "_signature_index"),
	FIELD(8, LAST_VERSION, const_method_size, "ConstMethod", "_constMethod_size"),
	FIELD(8, 20, const_method_flags, "ConstMethod", "_flags"),
	FIELD(18, LAST_VERSION, const_method_flags, "ConstMethod", "_flags._flags"),
	CONSTANT(8, 20, has_lines_flag, "ConstMethod::_has_linenumber_table"),
	CONSTANT(18, LAST_VERSION, has_lines_flag, "ConstMethodFlags::_misc_has_linenumber_table"),
	SIZE(8, constant_pool_bytes, "ConstantPool"),
	FIELD(8, LAST_VERSION, constant_pool_holder, "ConstantPool", "_pool_holder"),
	FIELD(8, LAST_VERSION, constant_pool_length, "ConstantPool", "_length"),
	FIELD(17, LAST_VERSION, constant_pool_source_file, "ConstantPool",
	      "_source_file_name_index"),
	OPTIONAL_FIELD(12, 16, constant_pool_source_file, "ConstantPool",
		       "_source_file_name_index"),
	OPTIONAL_FIELD(12, 16, klass_source_file, "InstanceKlass", "_source_file_name_index"),
	FIELD(8, 11, klass_source_file, "InstanceKlass", "_source_file_name_index"),
	FIELD(8, LAST_VERSION, klass_name, "Klass", "_name"),
	FIELD(8, LAST_VERSION, symbol_length, "Symbol", "_length"),
	FIELD(8, LAST_VERSION, symbol_body, "Symbol", "_body"),
};

enum {
	FACT_COUNT = sizeof(facts) / sizeof(facts[0]),
	/** The question for the version follows those for the facts. */
	QUESTION_MAJOR_VERSION = FACT_COUNT,
	QUESTION_COUNT,
};

static const char *name_of(const struct fact *fact)
{
	return fact->name ? fact->name : "size";
}

static int take_fact(const struct fact *fact, const struct vm_answer *answer,
		     struct java_layout *layout)
{
	void *member = (uint8_t *)layout + fact->member;

	if (!answer->is_found || answer->is_static != (fact->kind == FACT_STATIC))
		return fail(-EOPNOTSUPP, "HotSpot of Java %u does not tell %s::%s", layout->version,
			    fact->type, name_of(fact));
	if (fact->kind == FACT_STATIC) {
		*(uint64_t *)member = answer->value;
		return 0;
	}
	if (fact->kind == FACT_CONSTANT) {
		*(uint32_t *)member = (uint32_t)answer->value;
		return 0;
	}
	if (answer->value > JAVA_MAX_OFFSET)
		return fail(-EBADMSG, "%s::%s at %llu", fact->type, name_of(fact),
			    (unsigned long long)answer->value);
	if (fact->kind == FACT_SIZE)
		*(uint16_t *)member = (uint16_t)answer->value;
	else
		*(struct vm_field *)member = (struct vm_field){
			.offset = (uint16_t)answer->value,
			.bytes = answer->bytes,
		};
	return 0;
}

/* Java 8 and Java 25 both have the number 25; only Java 8 has a single heap for all code. */
static int find_version(const struct vm_answer *answers, struct remote_memory *memory,
			uint32_t *version)
{
	const struct vm_answer *major = &answers[QUESTION_MAJOR_VERSION];
	uint32_t number;
	int err;

	if (!major->is_found || !major->is_static)
		return fail(-EOPNOTSUPP, "HotSpot that does not tell its version");
	err = remote_memory_read(memory, major->value, &number, sizeof(number));
	if (err)
		return err;
	if (!number)
		return fail(-EAGAIN, "HotSpot has no version yet");
	/* The first fact is CodeCache::_heap. */
	if (number == HOTSPOT_OF_JAVA_8 && answers[0].is_found)
		number = 8;
	if (number < FIRST_VERSION || number > LAST_VERSION)
		return fail(-EOPNOTSUPP, "HotSpot of Java %u is not known", number);
	*version = number;
	return 0;
}

static enum vm_question_kind question_of(enum fact_kind kind)
{
	switch (kind) {
	case FACT_SIZE:
		return VM_SIZE;
	case FACT_CONSTANT:
		return VM_CONSTANT;
	default:
		return VM_FIELD;
	}
}

static void ask(struct vm_question questions[QUESTION_COUNT])
{
	for (size_t i = 0; i < FACT_COUNT; i++)
		questions[i] = (struct vm_question){
			.kind = question_of(facts[i].kind),
			.type = facts[i].type,
			.name = facts[i].name,
		};
	questions[QUESTION_MAJOR_VERSION] =
		(struct vm_question){ VM_FIELD, "Abstract_VM_Version", "_vm_major_version" };
}

static void clear(struct java_layout *layout)
{
	memset(layout, 0, sizeof(*layout));
	for (size_t i = 0; i < FACT_COUNT; i++)
		if (facts[i].kind == FACT_FIELD)
			((struct vm_field *)((uint8_t *)layout + facts[i].member))->offset =
				JAVA_NO_FIELD;
}

static bool is_of_version(const struct fact *fact, uint32_t version)
{
	return fact->first_version <= version && version <= fact->last_version;
}

/* True if the fact may be missing: it is optional, or another fact for the member was found. */
static bool is_dispensable(const struct fact *fact, const struct vm_answer *answers,
			   uint32_t version)
{
	if (fact->is_optional)
		return true;
	for (size_t i = 0; i < FACT_COUNT; i++)
		if (facts[i].member == fact->member && is_of_version(&facts[i], version) &&
		    answers[i].is_found)
			return true;
	return false;
}

static int take_facts(const struct vm_answer *answers, struct java_layout *layout)
{
	for (size_t i = 0; i < FACT_COUNT; i++) {
		int err;

		if (!is_of_version(&facts[i], layout->version) ||
		    (!answers[i].is_found && is_dispensable(&facts[i], answers, layout->version)))
			continue;
		err = take_fact(&facts[i], &answers[i], layout);
		if (err)
			return err;
	}
	return 0;
}

/*
 * ConstantPool::_saved, a number of 4 bytes that is in no table, follows _length. It is the version of the class; for
 * a class of the JVM's archive it is another number, which does not change. It is read together with the class.
 * Source: oops/constantPool.hpp of 8 to 27.
 */
static void take_saved(struct java_layout *layout)
{
	uint32_t offset = layout->constant_pool_length.offset + layout->constant_pool_length.bytes;

	layout->constant_pool_version = (struct vm_field){ 0 };
	if (offset >= layout->constant_pool_holder.offset &&
	    offset - layout->constant_pool_holder.offset <= JAVA_CONSTANTS_BYTES - sizeof(uint32_t))
		layout->constant_pool_version =
			(struct vm_field){ .offset = offset, .bytes = sizeof(uint32_t) };
}

int java_layout_read(const struct vm_symbols *symbols, uint64_t bias, struct remote_memory *memory,
		     struct java_layout *layout)
{
	struct vm_question questions[QUESTION_COUNT];
	struct vm_answer answers[QUESTION_COUNT];
	struct java_layout found;
	int err;

	ask(questions);
	clear(&found);
	err = vm_structs_read(symbols, bias, memory, questions, QUESTION_COUNT, answers);
	if (!err)
		err = find_version(answers, memory, &found.version);
	if (!err)
		err = take_facts(answers, &found);
	if (err)
		return err;
	found.machine = symbols->machine;
	take_saved(&found);
	if (found.version == 21)
		found.continuation_entry_bytes = CONTINUATION_ENTRY_BYTES_OF_21;
	*layout = found;
	return 0;
}
