/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/tracing/bpf_loader.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tracing/bpf_selection.h"
#include "agent/tracing/cpu_list.h"
#include "agent/tracing/kernel_check.h"
#include "ebpf/abi/config.h"
#include "ebpf/abi/origins.h"
#include "ebpf/abi/programs.h"
#include "ebpf/abi/slab.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/model/origins.h"

/* Generated; needs struct agent_config. */
#include "build/ebpf/allframes.skel.h"

/* The first two are required; the others are for user frames and for kernel names. */
#define CAPABILITIES                                                                               \
	"CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE and "   \
	"CAP_SYSLOG"

enum {
	/** Bytes of ring per sample: more than most records have, so that about a second of samples fits. */
	RING_BYTES_PER_SAMPLE = 4096,
	SAMPLES_MIN_BYTES = 4 << 20,
	SAMPLES_MAX_BYTES = 64 << 20,
	PROCESS_EVENTS_MIN_BYTES = 256 << 10,
	PROCESS_EVENT_BYTES_PER_CPU = 16 << 10,
	PROCESS_EVENTS_MAX_BYTES = 8 << 20,
	/** THREAD_SIZE without KASAN, of x86-64 and of arm64 with pages of up to 16 KiB. */
	KERNEL_STACK_BYTES = 16 << 10,
	/** MAX_PID_NS_LEVEL */
	PID_NAMESPACE_MAX_LEVEL = 32,
};

/* PROC_PID_INIT_INO of include/linux/proc_ns.h, the same since 3.8. */
#define INITIAL_PID_NAMESPACE_INODE 0xeffffffcU

/* The agent's own pid namespace. */
struct pid_namespace {
	uint32_t level;
	uint32_t inode;
};

struct feature_set;

struct bpf_loader {
	/*
	 * Indexed by enum origin; NULL if the kernel refuses the origin's programs. The clock's has the shared
	 * maps, the programs for processes and the task iterator.
	 */
	struct allframes *skeletons[ORIGIN_COUNT];
	/* Links of the entries of origins other than the clock, while these are attached. */
	struct bpf_link *entry_links[ORIGIN_COUNT];
	/* The features that the programs were loaded with. */
	const struct feature_set *features;
	struct bpf_fds fds;
};

/* Kernel features that the programs may use; kernels have all of them from 6.2 on. */
struct feature_set {
	bool has_loop;
	bool has_task_pt_regs;
	bool has_casts;
	/* Text for users. */
	const char *text;
};

/*
 * In the order of the tries. bpf_task_pt_regs came with 5.15, bpf_loop with 5.17, bpf_rdonly_cast with 6.2.
 */
static const struct feature_set feature_sets[] = {
	{ .has_loop = true,
	  .has_task_pt_regs = true,
	  .has_casts = true,
	  .text = "with all that they use" },
	{ .has_loop = true,
	  .has_task_pt_regs = true,
	  .text = "without bpf_rdonly_cast (Linux 6.2): a little slower" },
	{ .has_loop = false,
	  .has_task_pt_regs = true,
	  .text = "without bpf_loop (Linux 5.17): slower, and of a stack 600 frames are unwound" },
	{ .has_loop = false,
	  .has_task_pt_regs = false,
	  .text = "without bpf_loop and bpf_task_pt_regs (Linux 5.17): slower, and of a stack 600 frames are unwound" },
};

/*
 * An unwinder, and its two programs: with bpf_loop, and as a chain of tail calls. Offsets of the
 * fields of the skeleton's struct that hold them.
 */
struct unwinder_pair {
	uint32_t unwinder;
	size_t loop;
	size_t chain;
};

/* The first ones are loaded with everything else. Then there are those of the rows of LANGUAGES. */
enum {
	PAIR_STOP,
	PAIR_NATIVE,
	PAIR_FIRST_LANGUAGE,
};

static const struct unwinder_pair unwinder_pairs[] = {
	[PAIR_STOP] = { UNWINDER_STOP, offsetof(struct allframes, progs.unwind_stop),
			offsetof(struct allframes, progs.unwind_stop_chain) },
	[PAIR_NATIVE] = { UNWINDER_NATIVE, offsetof(struct allframes, progs.native_unwind),
			  offsetof(struct allframes, progs.native_unwind_chain) },
#define X(kind, NAME, name, type, frames, files)                                                   \
	{ UNWINDER_##NAME, offsetof(struct allframes, progs.name##_unwind),                        \
	  offsetof(struct allframes, progs.name##_unwind_chain) },
	LANGUAGES(X)
#undef X
};

struct origin_programs {
	enum bpf_prog_type type;
	/* Offset of the field of the skeleton's struct that holds the entry. */
	size_t entry;
};

static const struct origin_programs origin_programs[ORIGIN_COUNT] = {
#define X(NAME, name, programs, entry, ...)                                                        \
	[ORIGIN_##NAME] = { BPF_PROG_TYPE_##programs, offsetof(struct allframes, progs.entry) },
	ORIGINS(X)
#undef X
};

/*
 * Maps that each origin has for itself, since its programs may interrupt those of others, and a program array
 * takes one type of program.
 */
static const char *const own_maps[] = { "states", "unwinders", "counters" };

static struct bpf_program *program_at(const struct allframes *skeleton, size_t offset)
{
	return *(struct bpf_program *const *)((const char *)skeleton + offset);
}

static struct bpf_program *pair_program(const struct allframes *skeleton,
					const struct unwinder_pair *pair, bool has_loop)
{
	return program_at(skeleton, has_loop ? pair->loop : pair->chain);
}

static int print_to_log(enum libbpf_print_level level, const char *format, va_list arguments)
{
	_cleanup_(free_pointer) char *text = NULL;
	char *rest, *line;

	if (level == LIBBPF_DEBUG || log_get_level() < LOG_DEBUG)
		return 0;
	if (vasprintf(&text, format, arguments) < 0) {
		text = NULL;
		return 0;
	}
	/* A verifier log has many lines. */
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_debug("%s", line);
	return 0;
}

static uint32_t ring_bytes(uint64_t wanted, uint32_t least, uint32_t most)
{
	uint32_t bytes = least;

	while (bytes < wanted && bytes < most)
		bytes *= 2;
	return bytes;
}

/* Where the kernel maps stacks by whole pages, none is smaller than a page (arm64 with 64 KiB). */
static uint32_t kernel_stack_bytes(void)
{
	long page_bytes = sysconf(_SC_PAGESIZE);

	return page_bytes > KERNEL_STACK_BYTES ? (uint32_t)page_bytes : KERNEL_STACK_BYTES;
}

/* Detects errors that users can fix, before libbpf fails with less specific errors. */
static int check_kernel(void)
{
	const char *btf = "/sys/kernel/btf/vmlinux";
	_cleanup_(close_fd) int array = -1;
	_cleanup_(close_fd) int ring = -1;

	array = bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe_array", sizeof(uint32_t),
			       sizeof(uint64_t), 1, NULL);
	if (array < 0 && errno == ENOSYS)
		return fail(-EOPNOTSUPP, "this kernel does not have bpf(2): it must be built with "
					 "CONFIG_BPF_SYSCALL");
	if (array >= 0)
		ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "probe_ring", 0, 0, 1 << 16, NULL);
	if (array < 0 || ring < 0) {
		if (errno == EPERM || errno == EACCES)
			return fail(-EPERM,
				    "bpf(2) is not allowed: run as root, or with " CAPABILITIES);
		if (array >= 0 && errno == EINVAL)
			return fail(-EOPNOTSUPP, "this kernel has no BPF ring buffers: Linux 5.10 "
						 "or later is needed");
		return fail_errno(-errno, "cannot make a BPF map");
	}
	if (access(btf, R_OK))
		return fail(-EOPNOTSUPP,
			    "%s cannot be read: the kernel must be built with "
			    "CONFIG_DEBUG_INFO_BTF, and /sys be mounted",
			    btf);
	return 0;
}

static int load_error(int err)
{
	if ((err == -EPERM || err == -EINVAL) && kernel_lockdown() == KERNEL_CONFIDENTIAL)
		return fail(-EPERM, KERNEL_CONFIDENTIAL_TEXT);
	switch (err) {
	case -EPERM:
		return fail(-EPERM, "the kernel does not allow the BPF programs: run as root, or "
				    "with " CAPABILITIES);
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -EAGAIN:
		return fail_errno(err, "cannot load the BPF programs");
	default:
		return fail(-EOPNOTSUPP,
			    "the kernel refuses the BPF programs (%s): Linux 5.10 or later is "
			    "needed; -log-level=debug shows why",
			    strerror(-err));
	}
}

static void use_only_task_snapshot(struct allframes *skeleton)
{
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_object__for_each_program(program, skeleton->obj)
		bpf_program__set_autoload(program, program == skeleton->progs.task_snapshot);
	bpf_object__for_each_map(map, skeleton->obj)
		bpf_map__set_autocreate(map, map == skeleton->maps.rodata);
}

static int open_task_iterator(struct allframes *skeleton)
{
	int fd;

	if (!skeleton->links.task_snapshot)
		skeleton->links.task_snapshot =
			bpf_program__attach_iter(skeleton->progs.task_snapshot, NULL);
	if (!skeleton->links.task_snapshot)
		return fail_errno(-errno, "cannot attach the task iterator");
	fd = bpf_iter_create(bpf_link__fd(skeleton->links.task_snapshot));
	return fd < 0 ? fail_errno(-errno, "cannot make the task iterator") : fd;
}

static void destroy_skeleton(struct allframes **skeleton)
{
	allframes__destroy(*skeleton);
}

/* 1 if the task iterator finds processes with @namespace's level, 0 if not, -errno. */
static int try_level(const struct pid_namespace *namespace)
{
	_cleanup_(destroy_skeleton) struct allframes *skeleton = allframes__open();
	_cleanup_(close_fd) int fd = -1;
	struct task_snapshot task;
	ssize_t bytes;
	int err;

	if (!skeleton)
		return fail_errno(-errno, "cannot open the BPF programs");
	use_only_task_snapshot(skeleton);
	skeleton->rodata->config.pid_namespace_level = namespace->level;
	skeleton->rodata->config.pid_namespace_inode = namespace->inode;
	err = allframes__load(skeleton);
	if (err)
		return load_error(err);
	fd = open_task_iterator(skeleton);
	if (fd < 0)
		return fd;
	bytes = read(fd, &task, sizeof(task));
	return bytes < 0 ? fail_errno(-errno, "cannot read the task iterator") : bytes > 0;
}

/*
 * The kernel does not say how deep a pid namespace lies below the initial one (/proc/PID/status
 * counts from the reader's own). So below it the level is the one at which the task iterator, which
 * looks for our namespace's inode there, finds at least ourselves.
 */
static int find_pid_namespace(struct pid_namespace *result)
{
	struct pid_namespace namespace = { 0 };
	struct stat status;
	int found;

	if (stat("/proc/self/ns/pid", &status))
		return fail_errno(-errno, "cannot stat /proc/self/ns/pid");
	namespace.inode = (uint32_t)status.st_ino;
	found = namespace.inode == INITIAL_PID_NAMESPACE_INODE;
	while (!found && namespace.level < PID_NAMESPACE_MAX_LEVEL) {
		namespace.level++;
		found = try_level(&namespace);
	}
	if (found < 0)
		return found;
	if (!found)
		return fail(-ENOENT, "the level of the agent's pid namespace was not found");
	*result = namespace;
	return 0;
}

/* Sets everything that must be configured before loading. */
static int configure(struct allframes *skeleton, const struct bpf_loader_options *options,
		     const struct pid_namespace *namespace, const struct feature_set *features)
{
	struct agent_config *config = &skeleton->rodata->config;
	uint64_t samples_bytes =
		(uint64_t)options->samples_per_second * options->cpu_count * RING_BYTES_PER_SAMPLE;
	uint64_t process_events_bytes = (uint64_t)options->cpu_count * PROCESS_EVENT_BYTES_PER_CPU;
	uint64_t slab_count = options->map_memory_bytes / SLAB_BYTES;
	int cpu_number_count = cpu_list_count_numbers();
	int err;

	if (cpu_number_count < 0)
		return cpu_number_count;
	if (slab_count < 1)
		slab_count = 1;
	if (slab_count > SLAB_MAX_COUNT)
		slab_count = SLAB_MAX_COUNT;
	*config = (struct agent_config){
		.pid_namespace_level = namespace->level,
		.pid_namespace_inode = namespace->inode,
		.have_task_pt_regs = features->has_task_pt_regs,
		.have_casts = features->has_casts,
		.with_task_ids = options->with_task_ids,
		.kernel_stack_bytes = kernel_stack_bytes(),
	};
	err = bpf_selection_configure(skeleton, options);
	if (err)
		return err;
	err = bpf_map__set_max_entries(skeleton->maps.slabs, (uint32_t)slab_count);
	if (!err)
		err = bpf_map__set_max_entries(skeleton->maps.states, (uint32_t)cpu_number_count);
	if (!err)
		err = bpf_map__set_max_entries(skeleton->maps.samples,
					       ring_bytes(samples_bytes, SAMPLES_MIN_BYTES,
							  SAMPLES_MAX_BYTES));
	if (!err)
		err = bpf_map__set_max_entries(skeleton->maps.process_events,
					       ring_bytes(process_events_bytes,
							  PROCESS_EVENTS_MIN_BYTES,
							  PROCESS_EVENTS_MAX_BYTES));
	for (size_t i = 0; i < sizeof(unwinder_pairs) / sizeof(unwinder_pairs[0]) && !err; i++) {
		const struct unwinder_pair *pair = &unwinder_pairs[i];

		bool is_needed = i < PAIR_FIRST_LANGUAGE;

		err = bpf_program__set_autoload(pair_program(skeleton, pair, true),
						is_needed && features->has_loop);
		if (!err)
			err = bpf_program__set_autoload(pair_program(skeleton, pair, false),
							is_needed && !features->has_loop);
	}
	/* The other origins' entries make tail calls to unwinders of their own. */
	for (uint32_t i = ORIGIN_CLOCK + 1; i < ORIGIN_COUNT && !err; i++)
		err = bpf_program__set_autoload(program_at(skeleton, origin_programs[i].entry),
						false);
	return err ? fail_errno(err, "cannot configure the BPF programs") : 0;
}

/* True if programs may call @name, as far as the kernel's types tell. */
static bool has_kernel_function(const char *name)
{
	struct btf *types = btf__load_vmlinux_btf();
	bool is_there = types && btf__find_by_name_kind(types, name, BTF_KIND_FUNC) > 0;

	btf__free(types);
	return is_there;
}

/*
 * False if a helper is missing. The kernel would report that only after it has verified other programs, which
 * takes long on old kernels. Whether the whole combination works is known only after loading.
 */
static bool is_worth_trying(const struct feature_set *features)
{
	const enum bpf_prog_type type = BPF_PROG_TYPE_PERF_EVENT;

	if (features->has_loop && libbpf_probe_bpf_helper(type, BPF_FUNC_loop, NULL) == 0)
		return false;
	if (features->has_task_pt_regs &&
	    libbpf_probe_bpf_helper(type, BPF_FUNC_task_pt_regs, NULL) == 0)
		return false;
	return !features->has_casts || has_kernel_function("bpf_rdonly_cast");
}

static int load(struct bpf_loader *loader, const struct bpf_loader_options *options)
{
	struct allframes **skeleton = &loader->skeletons[ORIGIN_CLOCK];
	const size_t set_count = sizeof(feature_sets) / sizeof(feature_sets[0]);
	struct pid_namespace namespace = { 0 };
	int err = find_pid_namespace(&namespace);

	if (err)
		return err;
	for (size_t i = 0; i < set_count; i++) {
		if (!is_worth_trying(&feature_sets[i]))
			continue;
		*skeleton = allframes__open();
		if (!*skeleton)
			return fail_errno(-errno, "cannot open the BPF programs");
		err = configure(*skeleton, options, &namespace, &feature_sets[i]);
		if (err)
			return err;
		err = allframes__load(*skeleton);
		loader->features = &feature_sets[i];
		if (!err)
			return 0;
		allframes__destroy(*skeleton);
		*skeleton = NULL;
		if (err == -EPERM || err == -ENOMEM)
			break;
		log_debug("the BPF programs do not load %s bpf_loop, %s bpf_task_pt_regs, %s "
			  "bpf_rdonly_cast: %s",
			  feature_sets[i].has_loop ? "with" : "without",
			  feature_sets[i].has_task_pt_regs ? "with" : "without",
			  feature_sets[i].has_casts ? "with" : "without", strerror(-err));
	}
	return load_error(err);
}

static int set_unwinder(const struct allframes *skeleton, uint32_t unwinder,
			const struct bpf_program *program)
{
	int map = bpf_map__fd(skeleton->maps.unwinders);
	int fd = bpf_program__fd(program);

	if (bpf_map_update_elem(map, &unwinder, &fd, BPF_ANY))
		return fail_errno(-errno, "cannot enter %s into the unwinders",
				  bpf_program__name(program));
	return 0;
}

static int fill_unwinders(const struct bpf_loader *loader, const struct allframes *skeleton)
{
	const struct bpf_program *native =
		pair_program(skeleton, &unwinder_pairs[PAIR_NATIVE], loader->features->has_loop);
	int err = set_unwinder(skeleton, UNWINDER_STOP,
			       pair_program(skeleton, &unwinder_pairs[PAIR_STOP],
					    loader->features->has_loop));

	/* The native unwinder replaces the languages' until those are loaded. */
	for (size_t i = PAIR_NATIVE; i < sizeof(unwinder_pairs) / sizeof(unwinder_pairs[0]) && !err;
	     i++)
		err = set_unwinder(skeleton, unwinder_pairs[i].unwinder, native);
	return err;
}

static bool is_own_map(const char *name)
{
	for (size_t i = 0; i < sizeof(own_maps) / sizeof(own_maps[0]); i++)
		if (!strcmp(name, own_maps[i]))
			return true;
	return false;
}

/*
 * Makes @skeleton use the maps of @from instead of new ones; with @with_own also the maps that each origin has
 * for itself.
 */
static int share_maps(const struct allframes *from, struct allframes *skeleton, bool with_own)
{
	const struct bpf_map *shared;
	struct bpf_map *map;
	int err = 0;

	bpf_object__for_each_map(map, skeleton->obj)
	{
		shared = bpf_object__find_map_by_name(from->obj, bpf_map__name(map));
		if (!err && (with_own || !is_own_map(bpf_map__name(map))))
			err = shared ? bpf_map__reuse_fd(map, bpf_map__fd(shared)) : -ENOENT;
	}
	return err;
}

static int load_unwinder(const struct bpf_loader *loader, enum origin origin,
			 const struct unwinder_pair *pair, bool has_loop)
{
	_cleanup_(destroy_skeleton) struct allframes *skeleton = allframes__open();
	struct bpf_program *program, *wanted;
	int err;

	if (!skeleton)
		return fail_errno(-errno, "cannot open the BPF programs");
	wanted = pair_program(skeleton, pair, has_loop);
	bpf_object__for_each_program(program, skeleton->obj)
		bpf_program__set_autoload(program, program == wanted);
	err = bpf_program__set_type(wanted, origin_programs[origin].type);
	if (!err)
		err = share_maps(loader->skeletons[origin], skeleton, true);
	if (err)
		return fail_errno(err, "cannot share the BPF maps with an unwinder");
	err = allframes__load(skeleton);
	return err ? load_error(err) :
		     set_unwinder(loader->skeletons[origin], pair->unwinder, wanted);
}

/* A kernel that refuses the program with bpf_loop() may take it as a chain of tail calls. */
static int load_language(const struct bpf_loader *loader, enum origin origin,
			 const struct unwinder_pair *pair)
{
	int err = load_unwinder(loader, origin, pair, loader->features->has_loop);

	return err && loader->features->has_loop ? load_unwinder(loader, origin, pair, false) : err;
}

int bpf_loader_load_language(struct bpf_loader *loader, uint32_t language)
{
	const struct unwinder_pair *pair = &unwinder_pairs[PAIR_FIRST_LANGUAGE + language];
	int first_err = 0;

	for (uint32_t origin = 0; origin < ORIGIN_COUNT; origin++) {
		int err = loader->skeletons[origin] ? load_language(loader, origin, pair) : 0;

		first_err = first_err ? first_err : err;
	}
	return first_err;
}

/* Configures a new @skeleton: the programs that @origin needs at once, their type, and its own maps. */
static int configure_origin(const struct bpf_loader *loader, enum origin origin,
			    struct allframes *skeleton)
{
	const struct allframes *clock = loader->skeletons[ORIGIN_CLOCK];
	const struct bpf_program *needed[] = {
		program_at(skeleton, origin_programs[origin].entry),
		pair_program(skeleton, &unwinder_pairs[PAIR_NATIVE], loader->features->has_loop),
		pair_program(skeleton, &unwinder_pairs[PAIR_STOP], loader->features->has_loop),
	};
	struct bpf_program *program;
	int err = 0;

	bpf_object__for_each_program(program, skeleton->obj)
	{
		bool is_needed = program == needed[0] || program == needed[1] ||
				 program == needed[2];

		if (!err)
			err = bpf_program__set_autoload(program, is_needed);
		if (!err && is_needed)
			err = bpf_program__set_type(program, origin_programs[origin].type);
	}
	if (!err)
		err = share_maps(clock, skeleton, false);
	if (!err)
		err = bpf_map__set_max_entries(skeleton->maps.states,
					       bpf_map__max_entries(clock->maps.states));
	return err ? fail_errno(err, "cannot configure the BPF programs") : 0;
}

static int load_origin(struct bpf_loader *loader, enum origin origin)
{
	_cleanup_(destroy_skeleton) struct allframes *skeleton = allframes__open();
	int err;

	if (!skeleton)
		return fail_errno(-errno, "cannot open the BPF programs");
	err = configure_origin(loader, origin, skeleton);
	if (err)
		return err;
	err = allframes__load(skeleton);
	if (err)
		return load_error(err);
	err = fill_unwinders(loader, skeleton);
	if (err)
		return err;
	loader->skeletons[origin] = skeleton;
	skeleton = NULL;
	return 0;
}

/* Loads the other origins, on which the clock's samples do not depend. */
static void load_other_origins(struct bpf_loader *loader)
{
	for (uint32_t i = ORIGIN_CLOCK + 1; i < ORIGIN_COUNT; i++)
		if (load_origin(loader, i))
			log_warn("no samples of the origin %s: %s", sample_origins[i].name,
				 error_text());
}

static int attach(struct bpf_loader *loader, const struct bpf_loader_options *options)
{
	struct allframes *skeleton = loader->skeletons[ORIGIN_CLOCK];

	skeleton->links.process_exec = bpf_program__attach(skeleton->progs.process_exec);
	if (skeleton->links.process_exec)
		skeleton->links.process_exit = bpf_program__attach(skeleton->progs.process_exit);
	if (!skeleton->links.process_exec || !skeleton->links.process_exit)
		return fail_errno(-errno,
				  "cannot attach to sched_process_exec and sched_process_exit");
	return options->follows_children ? bpf_selection_attach(skeleton) : 0;
}

static void find_fds(struct bpf_loader *loader)
{
	const struct allframes *skeleton = loader->skeletons[ORIGIN_CLOCK];

	loader->fds = (struct bpf_fds){
		.sample_entry = bpf_program__fd(skeleton->progs.sample_entry),
		.slabs = bpf_map__fd(skeleton->maps.slabs),
		.executables = bpf_map__fd(skeleton->maps.executables),
		.processes = bpf_map__fd(skeleton->maps.processes),
		.notified = bpf_map__fd(skeleton->maps.notified),
		.samples = bpf_map__fd(skeleton->maps.samples),
		.process_events = bpf_map__fd(skeleton->maps.process_events),
		.slab_count = bpf_map__max_entries(skeleton->maps.slabs),
	};
	for (uint32_t i = 0; i < ORIGIN_COUNT; i++)
		loader->fds.counters[i] = loader->skeletons[i] ?
						  bpf_map__fd(loader->skeletons[i]->maps.counters) :
						  -1;
}

int bpf_loader_create(const struct bpf_loader_options *options, struct bpf_loader **out)
{
	struct bpf_loader *loader;
	int err;

	libbpf_set_print(print_to_log);
	err = check_kernel();
	if (err)
		return err;
	loader = calloc(1, sizeof(*loader));
	if (!loader)
		return -ENOMEM;
	err = load(loader, options);
	if (!err)
		err = fill_unwinders(loader, loader->skeletons[ORIGIN_CLOCK]);
	if (!err)
		err = bpf_selection_fill(loader->skeletons[ORIGIN_CLOCK], options);
	if (!err)
		err = attach(loader, options);
	if (err) {
		bpf_loader_destroy(loader);
		return err;
	}
	load_other_origins(loader);
	find_fds(loader);
	*out = loader;
	return 0;
}

void bpf_loader_destroy(struct bpf_loader *loader)
{
	if (!loader)
		return;
	bpf_loader_stop_origins(loader);
	for (uint32_t i = 0; i < ORIGIN_COUNT; i++)
		allframes__destroy(loader->skeletons[i]);
	free(loader);
}

void bpf_loader_start_origins(struct bpf_loader *loader)
{
	for (uint32_t i = ORIGIN_CLOCK + 1; i < ORIGIN_COUNT; i++) {
		if (!loader->skeletons[i] || loader->entry_links[i])
			continue;
		loader->entry_links[i] = bpf_program__attach(
			program_at(loader->skeletons[i], origin_programs[i].entry));
		if (!loader->entry_links[i])
			log_warn("no samples of the origin %s: its program was not attached: %s",
				 sample_origins[i].name, strerror(errno));
	}
}

void bpf_loader_stop_origins(struct bpf_loader *loader)
{
	for (uint32_t i = 0; i < ORIGIN_COUNT; i++) {
		bpf_link__destroy(loader->entry_links[i]);
		loader->entry_links[i] = NULL;
	}
}

bool bpf_loader_uses_code_copies(const struct bpf_loader *loader)
{
	return loader->features->has_loop;
}

const char *bpf_loader_features(const struct bpf_loader *loader)
{
	return loader->features->text;
}

const struct bpf_fds *bpf_loader_fds(const struct bpf_loader *loader)
{
	return &loader->fds;
}

const struct agent_config *bpf_loader_config(const struct bpf_loader *loader)
{
	return (const struct agent_config *)&loader->skeletons[ORIGIN_CLOCK]->rodata->config;
}

int bpf_loader_open_task_iterator(struct bpf_loader *loader)
{
	return open_task_iterator(loader->skeletons[ORIGIN_CLOCK]);
}
