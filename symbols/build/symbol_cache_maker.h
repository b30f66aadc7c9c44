/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Makes symbol caches (symbols/cache/symbol_cache.h) of foreign files. libdw maps the files that it
 * reads, so truncating a file kills the process that reads it; and hostile debug data can take for
 * ever, or all memory. So each file is read by a separate process, which is this program started
 * again with a hidden argument:
 *
 *	symbol_cache_maker_run		starts the process, and sends it the file, its debug file and the output
 *		> REQUEST, with the files
 *	symbol_cache_maker_enter	enters the sandbox, which leaves it memory, time and these files
 *				(symbols/build/sandbox.h), and calls make_symbol_cache
 *		< OPEN path	a .dwo or .dwp file, or the common file of dwz; only regular files below
 *		> OPENED	the search roots are opened
 *		< OPEN_SCRATCH	for decompressed sections
 *		< OPEN_BIG_BYTES for collected data (symbols/cache/big_bytes.h)
 *		> OPENED
 *		< RESULT
 *
 * The messages and the output of the process are untrusted too.
 */
#ifndef SYMBOLS_BUILD_SYMBOL_CACHE_MAKER_H
#define SYMBOLS_BUILD_SYMBOL_CACHE_MAKER_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/hash128.h"
#include "lib/elf/debug_file.h"
#include "lib/model/binary.h"
#include "symbols/build/make_symbol_cache.h"

struct symbol_cache_maker_limits {
	/**
	 * In whole seconds, rounded up. The wall clock limit is ten times as much plus some
	 * seconds.
	 */
	uint64_t cpu_ns;
	/** Limit of memory other than file pages, which can be reclaimed. */
	uint64_t memory_bytes;
	uint64_t output_bytes;
};

/**
 * Limits in the agent. A file of 1 GB takes 8 s of CPU time, 70 MB of memory and a symbol cache of
 * 140 MB.
 */
#define SYMBOL_CACHE_MAKER_CPU_NS (60 * NS_PER_SECOND)
/** Below 200 MB together with the memory that the process has at its start. */
#define SYMBOL_CACHE_MAKER_MEMORY_BYTES (186ULL << 20)
#define SYMBOL_CACHE_MAKER_OUTPUT_BYTES (512ULL << 20)

/** Open files, owned by the caller. */
struct symbol_cache_maker_files {
	int elf;
	/** The debug file; -1: there is none. */
	int debug;
	/** Empty, and created by us. */
	int output;
	/**
	 * NULL, or the binary whose file @elf is. The process is ended when somebody needs the file
	 * (lib/host/binary_file.h).
	 */
	const struct binary *binary;
};

/**
 * Call this first in main() of a program that uses symbol_cache_maker_run(). It returns unless this is a
 * process that symbol_cache_maker_run() started.
 */
void symbol_cache_maker_enter(int argument_count, char **arguments);

/**
 * Makes the symbol caches of an ELF file in a limited process, and blocks until the process ends.
 * @search says where files that debug data refers to may be; NULL: nowhere. @key goes into the
 * header. Any thread may call this, and must not end during the call. The CPU time of the process
 * is added to *@cpu_ns, also after a failure; NULL: not wanted. Errors in the DWARF alone are not a
 * failure; symbols/dwarf/dwarf_problem.h reports them.
 *
 * -ESTALE: somebody needed the file. -ETIME, -E2BIG: over a limit. -EAGAIN: no room for
 * decompressed sections. -EBADMSG: the file is damaged or has crashed the process. -EOPNOTSUPP:
 * not a known ELF file. Others: errors of system calls. After an error the output is invalid.
 */
int symbol_cache_maker_run(const struct symbol_cache_maker_files *files,
			   const struct debug_file_search *search, enum symbol_depth depth,
			   struct hash128 key, const struct symbol_cache_maker_limits *limits,
			   uint64_t *cpu_ns);

#endif
