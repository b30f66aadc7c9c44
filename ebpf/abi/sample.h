/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/**
 * The record: one element of the ring `samples`, for one sample.
 *
 * RECORD_TRACE: struct trace_record, then word_count words of frames (abi/frame.h), kernel frames
 * first, leaf first, then label_bytes of labels, each a struct sample_label.
 *
 * RECORD_DEFERRED: struct deferred_sample, cut after stack_bytes of its stack. It is a deferred sample: user
 * space continues the unwind, with the same unwinder source, once it has the missing tables. The record has
 * the frames so far, the registers there and the top of the stack. It is sent for samples of a process
 * without a valid entry, except for forks that are unwound with their parent's entry
 * (RECORD_PARENT_ENTRY). It is also sent for samples that reached a file whose rows are not loaded yet,
 * or an address that was mapped lately (RECORD_RESUMED).
 *
 * A record is copied to the ring from the state of its CPU. User space trusts its layout, since the
 * kernel side wrote it, but nothing that came from the process (stack, registers, comm).
 */
#ifndef EBPF_ABI_SAMPLE_H
#define EBPF_ABI_SAMPLE_H

#include "ebpf/abi/frame.h"
#include "ebpf/abi/origins.h"
#include "ebpf/abi/process.h"

enum {
	KERNEL_FRAMES_MAX = 128,
	USER_FRAMES_MAX = 3584,
	/** Words of the longest trace: kernel frames, native user frames, one error frame. */
	TRACE_MAX_WORDS = KERNEL_FRAMES_MAX + 2 * USER_FRAMES_MAX + 1,
	/** Limit of the copy of a stack, and the limit where the kernel has no bpf_loop(). */
	DEFERRED_STACK_MAX_BYTES = 49152,
	DEFERRED_CHAIN_STACK_BYTES = 16384,
	/** Parts of the copy that are there or not, at multiples of this size in the process. */
	DEFERRED_PAGE_BYTES = 4096,
	/** Words of kernel frames, and of user frames of an unwind that user space continues. */
	DEFERRED_MAX_WORDS = KERNEL_FRAMES_MAX + 2 * 256,
	/** Words of the native frame whose rows were missing. */
	RESUMED_FRAME_WORDS = 2,
	/**
	 * Least size of the part of the stack copy below sp. A function that is about to return has restored
	 * registers from there, and its unwind rules still refer to it. It is x86-64's red zone, in which
	 * no signal handler writes.
	 */
	DEFERRED_BELOW_BYTES = 128,
	LABELS_MAX = 8,
	/** One more label for the runtime's id of the work. */
	LABEL_SLOTS_MAX = LABELS_MAX + 1,
	/** Limits; longer keys and values are cut. */
	LABEL_KEY_MAX_BYTES = 62,
	LABEL_VALUE_MAX_BYTES = 128,
	REGISTER_COUNT_X86 = 17,
	REGISTER_COUNT_MAX = 33,
};

enum record_type {
	RECORD_TRACE = 1,
	RECORD_DEFERRED = 2,
};

enum record_flag {
	/** A kernel thread or io worker: it has no user frames. */
	RECORD_KERNEL_THREAD = 1 << 0,
	/** The user unwind reached an outermost frame (CFA_END). */
	RECORD_REACHED_END = 1 << 1,
	/** The CPU was in kernel mode. */
	RECORD_IN_KERNEL = 1 << 2,
	/**
	 * In a system call. The leaf's pc is behind the system call instruction, where another function
	 * may begin (exit, rt_sigreturn), so it is treated as a return address.
	 */
	RECORD_IN_SYSTEM_CALL = 1 << 3,
	/**
	 * A fork without a valid entry, unwound with its parent's. The trace is valid only if its maps,
	 * once they are read, are the same as its parent's.
	 */
	RECORD_PARENT_ENTRY = 1 << 4,
	/** With RECORD_DEFERRED: the unwind has begun, and stopped because rows or mappings were missing. */
	RECORD_RESUMED = 1 << 5,
	/** The code of an anonymous frame differs from user space's copy of it (abi/code_copy.h). */
	RECORD_CODE_CHANGED = 1 << 6,
};

/** Values that are not known where user space continues the unwind. */
enum deferred_unknown {
	/** All registers except pc, sp, fp and rbx. */
	DEFERRED_UNKNOWN_REGISTERS = 1 << 0,
	DEFERRED_UNKNOWN_FP = 1 << 1,
	DEFERRED_UNKNOWN_RBX = 1 << 2,
	/** The mapping at the pc, which did not exist when the maps were read. */
	DEFERRED_UNKNOWN_MAPPING = 1 << 3,
};

struct trace_record {
	/** CLOCK_MONOTONIC, ns. */
	__u64 time_ns;
	/** In the unit of the origin; 1 for an origin with ORIGIN_COUNTED. */
	__u64 value;
	__u32 pid;
	__u32 tid;
	struct process_identity identity;
	__u32 cpu;
	__u16 word_count;
	__u16 label_bytes;
	/** enum record_type, enum origin, enum record_flag */
	__u8 type;
	__u8 origin;
	__u8 flags;
	__u8 reserved;
	/** Of word_count, how many are kernel frames. */
	__u32 kernel_word_count;
	/** Names of the thread and of its process's leader: texts, bytes behind their ends mean nothing. */
	char comm[COMM_BYTES];
	char process_comm[COMM_BYTES];
};

_Static_assert(sizeof(struct trace_record) == 88, "the record header is 88 bytes");

/**
 * A label that the program has given to its work (Go's pprof.Do()). Bytes behind the lengths are undefined; the
 * strings may contain any byte.
 */
struct sample_label {
	/** 0: the value is an id of 8 bytes, which the runtime of the language key[0] (enum frame_kind) has given the work. */
	__u8 key_bytes;
	__u8 value_bytes;
	char key[LABEL_KEY_MAX_BYTES];
	char value[LABEL_VALUE_MAX_BYTES];
};

enum {
	LABEL_WORDS_MAX = LABEL_SLOTS_MAX * sizeof(struct sample_label) / 8,
};

_Static_assert(sizeof(struct sample_label) == 192, "struct sample_label is whole words");

struct deferred_sample {
	/**
	 * Header with type RECORD_DEFERRED. word_count words of frames follow it, as in a trace. With
	 * RECORD_RESUMED and without DEFERRED_UNKNOWN_MAPPING, the frame whose rows were missing follows these;
	 * the unwind continues with it.
	 */
	struct trace_record record;
	__u64 words[DEFERRED_MAX_WORDS];
	/** By DWARF number: x86-64 0..15 and the pc at 16; arm64 0..30, sp at 31, pc at 32. */
	__u64 registers[REGISTER_COUNT_MAX];
	/** Size of the stack copy; size of its part below sp. */
	__u32 stack_bytes;
	__u16 below_bytes;
	/** enum deferred_unknown; enum frame_flag of the next frame. */
	__u8 unknown;
	__u8 frame_flags;
	/**
	 * A bit for each page of the copy that could not be read, the lowest for that of the copy's first byte. Such bytes of
	 * the copy mean nothing.
	 */
	__u32 missing_pages;
	__u32 reserved;
	__u8 stack[DEFERRED_STACK_MAX_BYTES];
};

_Static_assert(sizeof(struct deferred_sample) == 88 + 640 * 8 + 33 * 8 + 16 + 49152,
	       "struct deferred_sample is ABI");

/** Room for any record. */
union longest_record {
	struct trace_record record;
	struct deferred_sample first;
	__u64 words[sizeof(struct trace_record) / 8 + TRACE_MAX_WORDS + LABEL_WORDS_MAX];
};

#endif
