/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kallsyms has no sizes, so a function reaches to the next one. To avoid a name for every address in kernel
 * memory, an address must be in the kernel's text, in a module's memory, or not far behind the last function.
 *
 * Reading all of kallsyms takes some 30 ms. /proc/modules is a cheap check for changed modules. The kernel reports each BPF
 * program that it loads, with its size. That it unloads one needs no attention: what runs there later was loaded, too. There
 * is no check for other code, such as trampolines, hence the second, slower interval.
 */
#include "agent/processes/kernel_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/hash128.h"
#include "lib/base/hash_map.h"
#include "lib/base/vector.h"
#include "lib/elf/elf_image.h"
#include "lib/elf/elf_notes.h"
#include "lib/host/file_id.h"
#include "lib/host/kallsyms.h"
#include "lib/host/line_reader.h"

enum {
	NOTES_MAX_BYTES = 64 << 10,
	MODULES_MAX_BYTES = 16 << 20,
	/* Limit behind the last function of memory whose end is not known. */
	FAR_BYTES = 1 << 20,
	/* Limits of loaded code that is known by reports, and of reports that wait. With more, all are read from kallsyms. */
	LOADED_MAX = 1 << 12,
	NEWS_MAX = 1 << 10,
};

#define MODULES_INTERVAL_NS NS_PER_SECOND
#define BPF_INTERVAL_NS (30 * NS_PER_SECOND)

VECTOR_DEFINE(kernel_module_vector, struct kernel_module)

/* Code that was loaded after the names were read. */
struct loaded_code {
	uint64_t start;
	uint64_t end;
	/* Owned; NULL: no BPF program. */
	char *name;
};

VECTOR_DEFINE(loaded_vector, struct loaded_code)
VECTOR_DEFINE(name_vector, char *)

/* One reading of all sources; replaced as a whole. */
struct kernel_names {
	struct kallsyms kallsyms;
	/* The first kallsyms.module_count are its modules; then those without functions. */
	struct kernel_module_vector modules;
};

struct kernel_symbols {
	char *proc_root;
	char *sys_root;
	struct kernel_names names;
	uint64_t names_hash;
	uint64_t modules_hash;
	uint64_t generation;
	uint64_t checked_ns;
	uint64_t read_ns;
	/* A lookup met an address whose name may have changed unnoticed. */
	bool met_unseen;
	/* By start; none overlaps another one. */
	struct loaded_vector loaded;
	struct kernel_module bpf;
	/* Names that lookups may have lent until the next refresh. */
	struct name_vector old_names;

	/* Guards the following. has_news is read without it. */
	pthread_mutex_t news_lock;
	struct loaded_vector news;
	bool has_lost_news;
	bool has_news;
};

_Static_assert((int)KERNEL_MODULE_NAME_BYTES == (int)KALLSYMS_MODULE_NAME_BYTES,
	       "names of modules are copied");

static void kernel_names_deinit(struct kernel_names *names)
{
	kallsyms_deinit(&names->kallsyms);
	kernel_module_vector_deinit(&names->modules);
}

/* A line of /proc/modules, such as "ext4 1011712 1 - Live 0xffffffffc0a00000". */
struct module_line {
	char name[KERNEL_MODULE_NAME_BYTES];
	uint64_t start;
	uint64_t bytes;
};

/* Cuts the next field off a line and returns it; empty at the end. */
static const char *next_field(const char **cursor, const char *end, size_t *bytes)
{
	const char *field = *cursor;
	const char *blank = memchr(field, ' ', end - field);

	*bytes = (blank ? blank : end) - field;
	*cursor = blank ? blank + 1 : end;
	return field;
}

static bool next_number(const char **cursor, const char *end, int base, uint64_t *number)
{
	char text[24], *text_end;
	size_t bytes;
	const char *field = next_field(cursor, end, &bytes);

	if (!bytes || bytes >= sizeof(text))
		return false;
	memcpy(text, field, bytes);
	text[bytes] = '\0';
	*number = strtoull(text, &text_end, base);
	return text_end == text + bytes;
}

/* The fourth field lists all modules that use this one, and may be long. */
static int parse_module_line(const char *line, size_t length, struct module_line *parts)
{
	const char *cursor = line, *end = line + length, *name;
	size_t name_bytes, skipped;
	bool is_good;

	name = next_field(&cursor, end, &name_bytes);
	is_good = name_bytes && next_number(&cursor, end, 10, &parts->bytes);
	for (int i = 0; i < 3; i++)
		next_field(&cursor, end, &skipped);
	if (!is_good || !next_number(&cursor, end, 16, &parts->start))
		return fail(-EBADMSG, "a line of /proc/modules cannot be read: %.*s",
			    length < 100 ? (int)length : 100, line);
	if (name_bytes >= sizeof(parts->name))
		name_bytes = sizeof(parts->name) - 1;
	memcpy(parts->name, name, name_bytes);
	return 0;
}

static int lines_of_modules(const struct kernel_symbols *symbols, line_fn take_line, void *context)
{
	_cleanup_(close_fd) int fd = -1;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/modules", symbols->proc_root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* A kernel without modules has no such file. */
	if (fd < 0)
		return errno == ENOENT ? 0 : fail_errno(-errno, "%s", path);
	return lines_of_fd(fd, MODULES_MAX_BYTES, take_line, context);
}

/* Hashes name and address only, since the reference counts on the lines change all the time. */
static int hash_module_line(void *context, const char *line, size_t length)
{
	uint64_t *hash = context;
	struct module_line parts = { 0 };
	int err;

	err = parse_module_line(line, length, &parts);
	if (err)
		return err;
	*hash = *hash * 31 + hash64_bytes(&parts, sizeof(parts));
	return 0;
}

struct module_collector {
	struct kernel_module_vector *modules;
	struct hash_map numbers;
};

static void module_collector_deinit(struct module_collector *collector)
{
	hash_map_deinit(&collector->numbers);
}

static int set_module_range(void *context, const char *line, size_t length)
{
	struct module_collector *collector = context;
	struct kernel_module_vector *modules = collector->modules;
	struct module_line parts = { 0 };
	struct kernel_module *module;
	uint64_t number;
	int err;

	err = parse_module_line(line, length, &parts);
	if (err)
		return err;
	if (!hash_map_find_bytes(&collector->numbers, parts.name, strlen(parts.name), &number)) {
		struct kernel_module new_module = { 0 };

		if (modules->count >= KALLSYMS_MAX_MODULES)
			return fail(-E2BIG, "more than %u kernel modules", KALLSYMS_MAX_MODULES);
		memcpy(new_module.name, parts.name, sizeof(new_module.name));
		number = modules->count;
		if (kernel_module_vector_push(modules, new_module))
			return fail(-ENOMEM, "no memory for kernel modules");
	}
	module = &modules->items[number];
	if (parts.start && !__builtin_add_overflow(parts.start, parts.bytes, &module->end))
		module->start = parts.start;
	else
		module->end = 0;
	return 0;
}

/* Without a build id, the id is made from the name. */
static void identify_module(const struct kernel_symbols *symbols, struct kernel_module *module,
			    bool is_kernel)
{
	_cleanup_(close_fd) int fd = -1;
	_cleanup_(free_pointer) uint8_t *notes = malloc(NOTES_MAX_BYTES);
	char path[PATH_MAX];
	ssize_t bytes = -1;

	if (is_kernel)
		snprintf(path, sizeof(path), "%s/kernel/notes", symbols->sys_root);
	else
		snprintf(path, sizeof(path), "%s/module/%s/notes/.note.gnu.build-id",
			 symbols->sys_root, module->name);
	/* A name with a slash is no module's, and must not become part of a path. */
	if (notes && !strchr(module->name, '/'))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		bytes = read(fd, notes, NOTES_MAX_BYTES);
	if (bytes > 0 &&
	    !elf_notes_build_id(notes, bytes, module->build_id, &module->build_id_bytes))
		file_id_of_build_id(module->build_id, module->build_id_bytes, &module->file_id);
	else
		file_id_of_build_id((const uint8_t *)module->name, strlen(module->name),
				    &module->file_id);
}

static int collect_modules(const struct kernel_symbols *symbols, struct kernel_names *names)
{
	_cleanup_(module_collector_deinit) struct module_collector collector = {
		.modules = &names->modules,
	};
	const struct kallsyms *kallsyms = &names->kallsyms;
	int err;

	if (kernel_module_vector_reserve(&names->modules, kallsyms->module_count))
		return fail(-ENOMEM, "no memory for kernel modules");
	for (uint32_t i = 0; i < kallsyms->module_count; i++) {
		struct kernel_module module = { 0 };

		memcpy(module.name, kallsyms->modules[i], sizeof(module.name));
		if (i == 0) {
			module.start = kallsyms->text_start;
			module.end = kallsyms->text_end;
		}
		kernel_module_vector_push(&names->modules, module);
		if (hash_map_set_bytes(&collector.numbers, module.name, strlen(module.name), i))
			return fail(-ENOMEM, "no memory for kernel modules");
	}
	err = lines_of_modules(symbols, set_module_range, &collector);
	if (err)
		return err;
	for (size_t i = 0; i < names->modules.count; i++)
		identify_module(symbols, &names->modules.items[i], i == 0);
	return 0;
}

static uint64_t hash_names(const struct kernel_names *names)
{
	const struct kallsyms *kallsyms = &names->kallsyms;
	uint64_t parts[3] = {
		hash64_bytes(kallsyms->symbols, kallsyms->count * sizeof(kallsyms->symbols[0])),
		hash64_bytes(kallsyms->names, kallsyms->name_bytes),
		hash64_bytes(names->modules.items,
			     names->modules.count * sizeof(names->modules.items[0])),
	};

	return hash64_bytes(parts, sizeof(parts));
}

/* Reads all sources again, and replaces the names on success. */
static int read_names(struct kernel_symbols *symbols)
{
	_cleanup_(kernel_names_deinit) struct kernel_names names = { 0 };
	struct kernel_names old;
	char path[PATH_MAX];
	uint64_t hash;
	int err;

	snprintf(path, sizeof(path), "%s/kallsyms", symbols->proc_root);
	err = kallsyms_read(&names.kallsyms, path);
	if (err)
		return err;
	err = collect_modules(symbols, &names);
	if (err)
		return err;
	hash = hash_names(&names);
	if (hash == symbols->names_hash)
		return 0;
	old = symbols->names;
	symbols->names = names;
	names = old;
	symbols->names_hash = hash;
	symbols->generation++;
	return 0;
}

/* --- code that was loaded later --- */

static void put_news(struct kernel_symbols *symbols, struct loaded_code code, bool is_lost)
{
	pthread_mutex_lock(&symbols->news_lock);
	if (is_lost || symbols->news.count == NEWS_MAX ||
	    loaded_vector_push(&symbols->news, code)) {
		symbols->has_lost_news = true;
		free(code.name);
	}
	__atomic_store_n(&symbols->has_news, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&symbols->news_lock);
}

void kernel_symbols_note_loaded(struct kernel_symbols *symbols, uint64_t start, uint64_t bytes,
				const char *name)
{
	struct loaded_code code = { .start = start };

	if (!bytes || __builtin_add_overflow(start, bytes, &code.end))
		return;
	code.name = *name ? strdup(name) : NULL;
	put_news(symbols, code, *name && !code.name);
}

void kernel_symbols_note_lost(struct kernel_symbols *symbols)
{
	put_news(symbols, (struct loaded_code){ 0 }, true);
}

/* Frees a name at the next refresh; without memory, never. */
static void drop_name(struct kernel_symbols *symbols, char *name)
{
	if (name)
		name_vector_push(&symbols->old_names, name);
}

static void free_old_names(struct kernel_symbols *symbols)
{
	for (size_t i = 0; i < symbols->old_names.count; i++)
		free(symbols->old_names.items[i]);
	symbols->old_names.count = 0;
}

static void forget_loaded(struct kernel_symbols *symbols)
{
	for (size_t i = 0; i < symbols->loaded.count; i++)
		drop_name(symbols, symbols->loaded.items[i].name);
	symbols->loaded.count = 0;
	symbols->met_unseen = true;
}

/* Index of the first code that ends above @address. */
static size_t loaded_index(const struct loaded_vector *loaded, uint64_t address)
{
	size_t low = 0, high = loaded->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (loaded->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds @code, which it takes over, in place of all that it overlaps. */
static void add_loaded(struct kernel_symbols *symbols, struct loaded_code code)
{
	struct loaded_vector *loaded = &symbols->loaded;
	size_t index = loaded_index(loaded, code.start), end = index;

	while (end < loaded->count && loaded->items[end].start < code.end)
		drop_name(symbols, loaded->items[end++].name);
	if (end == index &&
	    (loaded->count == LOADED_MAX || loaded_vector_reserve(loaded, loaded->count + 1))) {
		drop_name(symbols, code.name);
		forget_loaded(symbols);
		return;
	}
	memmove(loaded->items + index + 1, loaded->items + end,
		(loaded->count - end) * sizeof(code));
	loaded->count += index + 1 - end;
	loaded->items[index] = code;
}

/* Takes over what was reported since the last call. */
static void take_news(struct kernel_symbols *symbols)
{
	struct loaded_vector news;
	bool has_lost;

	if (!__atomic_load_n(&symbols->has_news, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&symbols->news_lock);
	news = symbols->news;
	has_lost = symbols->has_lost_news;
	symbols->news = (struct loaded_vector){ 0 };
	symbols->has_lost_news = false;
	__atomic_store_n(&symbols->has_news, false, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&symbols->news_lock);
	if (has_lost)
		forget_loaded(symbols);
	for (size_t i = 0; i < news.count; i++)
		add_loaded(symbols, news.items[i]);
	loaded_vector_deinit(&news);
	symbols->generation++;
}

static bool find_loaded(const struct kernel_symbols *symbols, uint64_t address,
			struct kernel_symbol *symbol)
{
	size_t index = loaded_index(&symbols->loaded, address);
	const struct loaded_code *code;

	if (index == symbols->loaded.count)
		return false;
	code = &symbols->loaded.items[index];
	if (address < code->start || !code->name)
		return false;
	*symbol = (struct kernel_symbol){
		.name = code->name,
		.module = &symbols->bpf,
		.offset = address - code->start,
	};
	return true;
}

/* --- the symbols --- */

int kernel_symbols_create(struct kernel_symbols **symbols, const char *proc_root,
			  const char *sys_root)
{
	struct kernel_symbols *created = calloc(1, sizeof(*created));
	int err;

	if (!created)
		return fail(-ENOMEM, "no memory for kernel symbols");
	pthread_mutex_init(&created->news_lock, NULL);
	created->proc_root = strdup(proc_root);
	created->sys_root = strdup(sys_root);
	if (!created->proc_root || !created->sys_root) {
		kernel_symbols_destroy(created);
		return fail(-ENOMEM, "no memory for kernel symbols");
	}
	/* The module's name in kallsyms. */
	strcpy(created->bpf.name, "bpf");
	identify_module(created, &created->bpf, false);
	err = lines_of_modules(created, hash_module_line, &created->modules_hash);
	if (!err)
		err = read_names(created);
	if (err) {
		kernel_symbols_destroy(created);
		return err;
	}
	*symbols = created;
	return 0;
}

void kernel_symbols_destroy(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	kernel_names_deinit(&symbols->names);
	take_news(symbols);
	forget_loaded(symbols);
	free_old_names(symbols);
	loaded_vector_deinit(&symbols->loaded);
	name_vector_deinit(&symbols->old_names);
	pthread_mutex_destroy(&symbols->news_lock);
	free(symbols->proc_root);
	free(symbols->sys_root);
	free(symbols);
}

static bool module_holds(const struct kernel_module *module, uint64_t address)
{
	return address >= module->start && address < module->end;
}

static const struct kernel_module *find_module(const struct kernel_names *names, uint64_t address)
{
	for (size_t i = 0; i < names->modules.count; i++)
		if (module_holds(&names->modules.items[i], address))
			return &names->modules.items[i];
	return NULL;
}

int kernel_symbols_lookup(struct kernel_symbols *symbols, uint64_t address,
			  struct kernel_symbol *symbol)
{
	const struct kernel_names *names = &symbols->names;
	const struct kallsyms_symbol *found;
	const struct kernel_module *module;

	take_news(symbols);
	if (find_loaded(symbols, address, symbol))
		return 0;
	found = kallsyms_find(&names->kallsyms, address);
	if (found) {
		module = &names->modules.items[found->module];
		if (!module->end)
			symbols->met_unseen |= found->module != 0;
		if (module_holds(module, address) || (!module_holds(module, found->address) &&
						      address - found->address < FAR_BYTES)) {
			*symbol = (struct kernel_symbol){
				.name = names->kallsyms.names + found->name,
				.module = module,
				.offset = address - found->address,
			};
			return 0;
		}
	}
	symbols->met_unseen = true;
	module = find_module(names, address);
	if (!module)
		return fail(-ENOENT, "no kernel function is there");
	*symbol = (struct kernel_symbol){
		.module = module,
		.offset = address - module->start,
	};
	return 0;
}

int kernel_symbols_refresh(struct kernel_symbols *symbols, uint64_t now_ns, uint64_t *generation)
{
	uint64_t modules_hash = 0;
	bool is_due;
	int err = 0;

	take_news(symbols);
	free_old_names(symbols);
	*generation = symbols->generation;
	if (!symbols->checked_ns) {
		/* The intervals begin with the first call, as if the names had just been read. */
		symbols->checked_ns = now_ns;
		symbols->read_ns = now_ns;
		return 0;
	}
	if (now_ns - symbols->checked_ns < MODULES_INTERVAL_NS)
		return 0;
	symbols->checked_ns = now_ns;
	err = lines_of_modules(symbols, hash_module_line, &modules_hash);
	if (err)
		return err;
	is_due = symbols->met_unseen && now_ns - symbols->read_ns >= BPF_INTERVAL_NS;
	if (modules_hash == symbols->modules_hash && !is_due)
		return 0;
	symbols->read_ns = now_ns;
	err = read_names(symbols);
	if (err)
		return err;
	symbols->modules_hash = modules_hash;
	symbols->met_unseen = false;
	*generation = symbols->generation;
	return 0;
}
