/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Range files (symbols/cache/range_file.h) of foreign files. libdw maps what it reads, so a file that is
 * truncated meanwhile ends its process; and hostile debug data can take for ever, or all memory. So
 * each file is read by a process of its own, which is this program again with a hidden argument:
 *
 *	range_maker_run		starts the process, gives it the file, its debug file and the output
 *		> REQUEST, with the files
 *	range_maker_enter	gives up all but memory, time and these files (symbols/build/sandbox.h); make_ranges
 *		< OPEN path	of a .dwo or .dwp file, or the common file of dwz: opened below the roots of the search,
 *		> OPENED	regular files only
 *		< OPEN_SCRATCH	for sections that are compressed
 *		< OPEN_BIG_BYTES for what is collected (symbols/cache/big_bytes.h)
 *		> OPENED
 *		< RESULT
 *
 * What the process sends and writes is hostile too.
 */
#ifndef SYMBOLS_BUILD_RANGE_MAKER_H
#define SYMBOLS_BUILD_RANGE_MAKER_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/hash128.h"
#include "lib/elf/debug_file.h"
#include "lib/model/binary.h"
#include "symbols/build/make_ranges.h"

struct range_maker_limits {
	/** In whole seconds, rounded up. By the clock ten times as much, and some seconds, may pass. */
	uint64_t cpu_ns;
	/** Of memory that is not the files' pages, which can be had again. */
	uint64_t memory_bytes;
	uint64_t output_bytes;
};

/** What a file gets in the agent: one of 1 GB takes 8 s of CPU time, 70 MB and a range file of 140 MB. */
#define RANGE_MAKER_CPU_NS (60 * NS_PER_SECOND)
/** With what the process has at its start less than 200 MB. */
#define RANGE_MAKER_MEMORY_BYTES (186ULL << 20)
#define RANGE_MAKER_OUTPUT_BYTES (512ULL << 20)

/** Open files, the caller's. */
struct range_maker_files {
	int elf;
	/** Its debug file; -1: there is none. */
	int debug;
	/** Empty, and of our own. */
	int output;
	/** NULL, or whose file @elf is: the process ends when that is in the way (lib/host/binary_file.h). */
	const struct binary *binary;
};

/**
 * Called first thing in main() of a program that calls range_maker_run(): returns if this is not a process
 * that was started by it.
 */
void range_maker_enter(int argument_count, char **arguments);

/**
 * Makes the range file of an ELF file in a process with limits; blocks until that ends. @search: where
 * files that debug data name may be, NULL for nowhere. @key goes into the header. Any thread may call this, and must not end meanwhile. The CPU time of the
 * process is added to *@cpu_ns, also after a failure; NULL for nowhere. What is wrong with its DWARF alone is no
 * failure: symbols/dwarf/dwarf_problem.h says it.
 *
 * -ESTALE: the file was in the way, -ETIME and -E2BIG over the limits, -EAGAIN without room for what is compressed, -EBADMSG for a file that is damaged or has ended the
 * process, -EOPNOTSUPP if it is no ELF file that is known, others as system calls say. What is in the
 * output then is rubbish.
 */
int range_maker_run(const struct range_maker_files *files, const struct debug_file_search *search,
		    enum range_depth depth, struct hash128 key,
		    const struct range_maker_limits *limits, uint64_t *cpu_ns);

#endif
