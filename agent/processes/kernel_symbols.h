/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Names of kernel functions from /proc/kallsyms (the kernel itself, modules and BPF programs), with the
 * modules' addresses from /proc/modules and build ids from /sys. kernel_symbols_refresh() follows the loading
 * of modules; of BPF programs that are loaded later the side-band reports.
 *
 * Owner: the thread that converts traces. Results of lookups are borrowed until the next refresh.
 */
#ifndef AGENT_PROCESSES_KERNEL_SYMBOLS_H
#define AGENT_PROCESSES_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/model/binary.h"

enum {
	KERNEL_MODULE_NAME_BYTES = 64,
};

/** The kernel ("vmlinux"), a module, or a pseudo module such as "bpf". */
struct kernel_module {
	char name[KERNEL_MODULE_NAME_BYTES];
	/** Range of the text; 0, 0 where it is not known ("bpf" and other pseudo modules). */
	uint64_t start;
	uint64_t end;
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	/** 0 without a build id; then the file id is made of the name. */
	uint32_t build_id_bytes;
	struct file_id file_id;
};

struct kernel_symbol {
	/** NULL where only the module is known. */
	const char *name;
	const struct kernel_module *module;
	uint64_t offset;
};

struct kernel_symbols;

/**
 * Reads everything below @proc_root and @sys_root ("/proc", "/sys"), which are copied. -EACCES if addresses are
 * hidden (kptr_restrict), with a text that explains what to do; -EBADMSG, -ENOMEM.
 */
int kernel_symbols_create(struct kernel_symbols **symbols, const char *proc_root,
			  const char *sys_root);
void kernel_symbols_destroy(struct kernel_symbols *symbols);

/**
 * From any thread: the kernel has loaded code of @bytes at @start, where other code may have been before. @name: of a BPF
 * program; "" for other code, whose name the next reading shows.
 */
void kernel_symbols_note_loaded(struct kernel_symbols *symbols, uint64_t start, uint64_t bytes,
				const char *name);

/** From any thread: the kernel may have loaded code that was not reported. */
void kernel_symbols_note_lost(struct kernel_symbols *symbols);

/** 0, or -ENOENT if the address lies in no module and no function. */
int kernel_symbols_lookup(struct kernel_symbols *symbols, uint64_t address,
			  struct kernel_symbol *symbol);

/**
 * Reads the names again if modules were loaded or unloaded, or if lookups met code that may have changed without a report.
 * It may be called often: the list of modules is checked once a second at most, and a re-read for other code happens once in
 * 30 s at most. On errors it
 * keeps the old names and tries again later. *@generation, which is set in any case, changes whenever a name
 * may have changed; frames converted under an older generation are stale.
 */
int kernel_symbols_refresh(struct kernel_symbols *symbols, uint64_t now_ns, uint64_t *generation);

#endif
