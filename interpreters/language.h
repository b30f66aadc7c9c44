/* SPDX-License-Identifier: Apache-2.0 */
/**
 * interpreters/ supports language runtimes: it gives the kernel side the data to find the frames of their
 * functions, and it names those frames. Each language has a folder; this is the interface of all of them.
 *
 *	probe		once per executable: is it the runtime, which version, where is its eval loop?
 *	attach		once per process that maps it: reads the data that the kernel side needs
 *	symbolize	a frame from the kernel side -> functions (inlined ones too), file, line, column
 *	detach		the process is gone
 *
 * Files and memory belong to the profiled processes: every byte is hostile, and every length and
 * pointer is bounded. An unknown version is refused (-EOPNOTSUPP), never guessed; its processes keep
 * their native frames.
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
	/** Limit of a runtime's data for the kernel side, tables included. */
	RUNTIME_DATA_MAX_BYTES = 1 << 20,
	/** Limit of functions in one frame; HotSpot inlines 100 deep at most. */
	INTERPRETED_FRAMES_MAX = 128,
};

/**
 * The result of probing an executable. It is immutable, so threads may share it. Each language has it as the
 * first member of a struct of its own; language_ops.release frees it.
 */
struct runtime_file {
	const struct language *language;
	/** Text for the log, such as "CPython 3.13 (free-threaded)". */
	char version[64];
	/** Code whose rows get RULE_LOOP: the eval loop with its cold parts. Sorted. */
	struct code_range ranges[LOOP_RANGES_MAX];
	uint32_t range_count;
	/** Where that code has no unwind rules, the language's step on the kernel side finds the caller. */
	bool steps_without_rules;
	/** attach reads neither memory (which is NULL then) nor files, so it need not wait for a load thread. */
	bool attaches_at_once;
	/** Where a language overloads methods, their names include the types of arguments and result. */
	bool with_signatures;
	/**
	 * Another process has probed the file, and this is all that is known of it: the language's own fields are missing,
	 * so neither attach nor release is called for it. free() frees it, with the data.
	 */
	bool is_copy;
	/** In a copy with attaches_at_once: the data for the kernel side, the same in each process. */
	uint32_t data_bytes;
	const void *data;
};

/** A file that the process has mapped. Borrowed. */
struct attach_module {
	const char *path;
	/** Open for pread. */
	int fd;
	/** Address in the process minus ELF virtual address. */
	uint64_t bias;
};

/** Machine code that a runtime has generated for itself and that no table describes. All borrowed. */
struct runtime_code {
	/** Address of the first byte, in the process. */
	uint64_t address;
	const uint8_t *bytes;
	size_t size;
	/** Known starts of functions in it, sorted. */
	const uint64_t *starts;
	size_t start_count;
	/** No instruction of it moves the stack pointer, so it is not analysed. */
	bool is_flat;
	/**
	 * Its first byte is not called. The return address is in a register there (x86-64: rdx). If the code begins
	 * with the push of another register, it is in the JVM's data of the thread.
	 */
	bool is_thrown_to;
	/** Its first byte is jumped to from within a frame of this size, which rbp points to; 0: it is called. */
	uint32_t frame_bytes;
};

/**
 * Finds the first direct jump or branch in the @size bytes at @bytes whose target is from @low to @high, and returns
 * that target. All three are offsets from @bytes, and negative. Returns 0 if there is none before an instruction that
 * is unknown or does not continue to the next one. @machine is EM_X86_64 or EM_AARCH64. Any thread may call it.
 */
typedef int64_t runtime_find_jump(uint16_t machine, const uint8_t *bytes, size_t size, int64_t low,
				  int64_t high);

/** The process to attach to. All of it is borrowed for the call, except the functions. */
struct attach_target {
	uint32_t pid;
	struct remote_memory *memory;
	/** Bias of the executable that was probed. */
	uint64_t bias;
	/** All files with executable mappings, including the probed one. */
	const struct attach_module *modules;
	uint32_t module_count;
	/**
	 * Makes unwind rows for @count chunks of code from their instructions. Addresses are those of the process;
	 * the chunks are sorted and do not overlap. An uncertain row is flagged as a guess or left out. HotSpot's
	 * conventions are assumed (code_analysis.h). @machine is EM_X86_64 or EM_AARCH64. -ENOMEM, -E2BIG.
	 * NULL: not available.
	 */
	int (*analyse)(uint16_t machine, const struct runtime_code *code, size_t count,
		       struct stack_deltas *deltas);
	/** NULL: not available. */
	runtime_find_jump *find_jump;
};

/**
 * A runtime in a process. Each language has it as the first member of a struct of its own;
 * language_ops.detach frees it. One thread at a time owns it, but the data never changes.
 */
struct runtime {
	const struct language *language;
	/** Data for the kernel side (ebpf/abi); its size is a multiple of CELL_BYTES. The language owns it. */
	uint32_t data_bytes;
	const void *data;
	/** The runtime is still starting and there may be more to find, so attach is repeated a few times. */
	bool may_grow;
};

/** The name and source position of a function in a frame. */
struct interpreted_frame {
	/** UTF-8; never NULL. */
	const char *function;
	/** NULL if unknown. */
	const char *file;
	/** Both count from 1; 0 if unknown. A column is in the units in which the language counts them. */
	uint32_t line;
	uint32_t column;
	/** First line of the function; 0 if unknown. */
	uint32_t start_line;
	/** The function is inlined into the next one. */
	bool is_inlined;
	/**
	 * The runtime has no record for this pc. The frame is from the nearest pc with a record, in the same
	 * physical function. The callers of that function are certain, so the stack is as good as any other.
	 */
	bool is_approximate;
	/** The language's mark (language_mark()) applies to the whole stack: the callees are a virtual thread's. */
	bool marks_trace;
};

/**
 * The functions that a frame of the kernel side represents. Strings are borrowed from the
 * runtime until its next call.
 */
struct interpreted_frames {
	/** At least one: innermost inlined function first, the physical function last. */
	uint32_t count;
	struct interpreted_frame items[INTERPRETED_FRAMES_MAX];
};

/** True for an error that may pass when the call is retried; it does not mean that something is missing. */
static inline bool is_passing(int err)
{
	return err == -EAGAIN || err == -ESRCH || err == -ENOMEM;
}

struct language_ops {
	/**
	 * -ENOENT: not this runtime, which is the normal case and must be cheap; -EOPNOTSUPP: this runtime, but
	 * an unknown version; -EBADMSG, -ENOMEM.
	 */
	int (*probe)(const struct elf_image *image, const char *path, struct runtime_file **file);
	void (*release)(struct runtime_file *file);
	/**
	 * Adds facts from the program's file to *@facts. Called for every executable when it is first seen, whatever
	 * -tracers says. It refuses by the names of sections, and takes some ten us otherwise. NULL: no facts.
	 */
	void (*describe)(const struct elf_image *image, struct program_facts *facts);
	/**
	 * True for a library that makes coroutines for the language by copying parts of the stack away and back: its rows
	 * get RULE_COPIES_STACKS. Called once for each executable; it takes some us. NULL: there is none.
	 */
	bool (*copies_stacks)(const struct elf_image *image);
	/**
	 * -EAGAIN: the runtime has not initialized itself yet, retry later; -EOPNOTSUPP: the memory does not
	 * match the file, or the C library is unknown; -ESRCH, -EFAULT, -ENOMEM.
	 */
	int (*attach)(const struct runtime_file *file, const struct attach_target *target,
		      struct runtime **process);
	/**
	 * Names the frame of @words: two or three words, see frame_word_count(). What is not cached is read from
	 * @memory, the memory of the process or of a fork of it. -ENOENT: the frame belongs to the runtime and not to
	 * the program, and must be left out; -ESTALE: the function's object is gone (its fingerprint has changed);
	 * -ESRCH, -EFAULT, -EBADMSG, -ENOMEM.
	 *
	 * Forks of a process may create different objects with the same words. *@object tells them apart: it is 0,
	 * or the value that an earlier call for the same words and process left there (also with -ENOENT). With 0 the
	 * cache is used only after a check against @memory. An answer with an object holds for all later calls
	 * with the same words and process.
	 *
	 * NULL for a language without frames of its own (LANGUAGE_NATIVE).
	 */
	int (*symbolize)(struct runtime *process, struct remote_memory *memory,
			 const uint64_t *words, uint32_t *object,
			 struct interpreted_frames *frames);
	void (*detach)(struct runtime *process);
};

/**
 * A language. If an eval loop runs its functions (language_has_loop()), native frames of the runtime's executable between
 * interpreted frames only run those, and -fold-runtime-frames leaves them out. Java is different: libjvm.so is
 * between Java frames where it works for the program (it loads classes, fills exceptions, calls methods from C), and
 * the code that runs Java's methods lies in memory of its own.
 */
struct language {
	const struct language_id *id;
	const struct language_ops *ops;
};

#endif
