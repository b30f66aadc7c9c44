/* SPDX-License-Identifier: Apache-2.0 */
/**
 * interpreters/ knows language runtimes: how the kernel side finds the frames of their functions,
 * and what those are called. One folder a language; this is the contract that all of them keep.
 *
 *	probe		once per executable: is it the runtime? which version, where is its loop?
 *	attach		once per process that maps it: what the kernel side needs there
 *	symbolize	a frame that the kernel side sent -> functions, inlined ones too, file, line
 *	detach		the process is gone
 *
 * Files and memory belong to the processes under profile: every byte read is hostile, every length
 * and pointer bounded. A version that is not known is refused (-EOPNOTSUPP), never guessed; its
 * processes keep their native frames.
 */
#ifndef INTERPRETERS_LANGUAGE_H
#define INTERPRETERS_LANGUAGE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ebpf/abi/frame.h"
#include "ebpf/abi/runtime.h"
#include "lib/elf/elf_image.h"
#include "lib/host/remote_memory.h"
#include "lib/model/flag_ranges.h"
#include "lib/model/languages.h"
#include "lib/model/program_facts.h"
#include "lib/model/stack_deltas.h"

enum {
	LOOP_RANGES_MAX = 8,
	/** Longer names and file names are cut. */
	FRAME_NAME_MAX_BYTES = 4096,
	/** Of a language's data for the kernel side, with tables. */
	RUNTIME_DATA_MAX_BYTES = 1 << 20,
	/** Functions that one frame stands for; HotSpot inlines 100 deep at most. */
	INTERPRETED_FRAMES_MAX = 128,
};

/**
 * What probe found in an executable. Immutable from then on, so threads may share it. The languages put it
 * first into a struct of their own; freed by language_ops.release.
 */
struct runtime_file {
	const struct language *language;
	/** Such as "CPython 3.13 (free-threaded)", for the log. */
	char version[64];
	/** Code whose rows get RULE_LOOP: the loop with its cold parts. Sorted. */
	struct code_range ranges[LOOP_RANGES_MAX];
	uint32_t range_count;
	/** The language's step on the kernel side finds the callers of that code where it has no rules. */
	bool steps_without_rules;
	/** attach reads neither memory, which is NULL then, nor files, so it need not wait for a load thread. */
	bool attaches_at_once;
	/** Names of methods are to have the types of arguments and result, where a language overloads them. */
	bool with_signatures;
};

/** A file that the process has mapped. Borrowed. */
struct attach_module {
	const char *path;
	/** Open for pread. */
	int fd;
	/** Address in the process minus ELF virtual address. */
	uint64_t bias;
};

/** Machine code that a runtime has made for itself, of which no table tells. All borrowed. */
struct runtime_code {
	/** Of the first byte, in the process. */
	uint64_t address;
	const uint8_t *bytes;
	size_t size;
	/** Sorted: where functions are known to start in it. */
	const uint64_t *starts;
	size_t start_count;
	/** Nothing in it moves the stack pointer: it is not looked at. */
	bool is_flat;
	/**
	 * Nothing calls its first byte; where it goes back to is in a register there (x86-64: rdx), or in what the
	 * JVM has of the thread, if it begins with the push of another register.
	 */
	bool is_thrown_to;
	/** Its first byte is jumped to from within a frame of this size, kept by rbp; 0: it is called. */
	uint32_t frame_bytes;
};

/**
 * Of the direct jumps and branches from the instruction at @bytes on, of @size, the first that goes to @low to
 * @high, both counted from @bytes and below 0: where it goes, counted so. 0: there is none before a place that
 * nothing goes on behind, or that is not known. @machine is EM_X86_64 or EM_AARCH64. Any thread.
 */
typedef int64_t runtime_find_jump(uint16_t machine, const uint8_t *bytes, size_t size, int64_t low,
				  int64_t high);

/** The process to attach to. All borrowed for the call, but functions. */
struct attach_target {
	uint32_t pid;
	struct remote_memory *memory;
	/** Of the executable that was probed. */
	uint64_t bias;
	/** All files with executable mappings, the probed one among them. */
	const struct attach_module *modules;
	uint32_t module_count;
	/**
	 * Makes rows, by addresses in the process, of @count pieces of code, sorted and not overlapping,
	 * by their instructions; what is not believed is flagged as a guess or has none. -ENOMEM, -E2BIG.
	 * NULL: nobody can. HotSpot's ways are assumed (code_analysis.h). @machine is EM_X86_64 or EM_AARCH64.
	 */
	int (*analyse)(uint16_t machine, const struct runtime_code *code, size_t count,
		       struct stack_deltas *deltas);
	/** NULL: nobody can. */
	runtime_find_jump *find_jump;
};

/**
 * A runtime in a process. The languages put it first into a struct of their own; freed by
 * language_ops.detach. Owned by one thread at a time, but data never changes.
 */
struct runtime {
	const struct language *language;
	/** For the kernel side (ebpf/abi), a multiple of CELL_BYTES; the language's own, as this is. */
	uint32_t data_bytes;
	const void *data;
	/** While the runtime starts there may be more to find: it is attached to again a few times. */
	bool may_grow;
};

/** What a frame is called. */
struct interpreted_frame {
	/** UTF-8; never NULL. */
	const char *function;
	/** NULL if unknown. */
	const char *file;
	/** 0 if unknown. */
	uint32_t line;
	/** Into the next one. */
	bool is_inlined;
	/**
	 * The runtime knows of no such place: the frame is that of the nearest one of which it does, in the
	 * same physical function. What calls that is not in doubt, so the stack is as good as any.
	 */
	bool is_approximate;
	/** The whole stack is what the language's mark says (language_mark()): what it calls is a virtual thread's. */
	bool marks_trace;
};

/**
 * The functions that a frame of the kernel side stands for. Strings are borrowed from the
 * runtime until its next call.
 */
struct interpreted_frames {
	/** At least one: innermost inlined function first, the physical function last. */
	uint32_t count;
	struct interpreted_frame items[INTERPRETED_FRAMES_MAX];
};

/** True of what another try may have: such an error is no answer that something is not there. */
static inline bool is_passing(int err)
{
	return err == -EAGAIN || err == -ESRCH || err == -ENOMEM;
}

struct language_ops {
	/**
	 * -ENOENT: not this runtime, the normal case, which must be cheap; -EOPNOTSUPP: it is, but of a
	 * version that is not known; -EBADMSG, -ENOMEM.
	 */
	int (*probe)(const struct elf_image *image, const char *path, struct runtime_file **file);
	void (*release)(struct runtime_file *file);
	/**
	 * Adds what the file of a program says of itself to *@facts. Asked of every executable when it is met, whatever
	 * -tracers says: it refuses by the names of sections, and takes some ten us otherwise. NULL: it says nothing.
	 */
	void (*describe)(const struct elf_image *image, struct program_facts *facts);
	/**
	 * -EAGAIN: the runtime has not set itself up yet, try again later; -EOPNOTSUPP: what is in
	 * memory is not what the file said, or a C library that is not known; -ESRCH, -EFAULT, -ENOMEM.
	 */
	int (*attach)(const struct runtime_file *file, const struct attach_target *target,
		      struct runtime **process);
	/**
	 * Names the frame of @words, two or three as frame_word_count() says of the first, reading from @memory, that of
	 * the process or of a fork of it, what is not in the cache yet. -ENOENT: the frame is the runtime's own, of no
	 * function of the program, and is to be left out; -ESTALE: the function's object is not there
	 * any more (the fingerprint is another one); -ESRCH, -EFAULT, -EBADMSG, -ENOMEM.
	 *
	 * Forks that make objects apart from each other make different ones of the same words. So
	 * *@object, if not 0, is what an earlier call for these words and the same process left there
	 * (also with -ENOENT); with 0 nothing in the cache is believed before @memory was looked at. What is
	 * said with an object holds for all later calls with these words and the same process.
	 *
	 * NULL for a language without frames of its own (LANGUAGE_NATIVE).
	 */
	int (*symbolize)(struct runtime *process, struct remote_memory *memory,
			 const uint64_t *words, uint32_t *object,
			 struct interpreted_frames *frames);
	void (*detach)(struct runtime *process);
};

/**
 * A language. If its functions are run by a loop (LANGUAGE_LOOP), native frames of the runtime's executable that stand
 * between its interpreted ones only run these, and -fold-runtime-frames leaves them out. Not so of Java: libjvm.so is
 * between Java's frames where it works for the program (classes are loaded, exceptions filled, methods called from
 * C), and what runs these lies in memory of its own.
 */
struct language {
	const struct language_id *id;
	const struct language_ops *ops;
};

#endif
