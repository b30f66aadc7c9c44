// SPDX-License-Identifier: Apache-2.0
#include "agent/tracing/bpf_selection.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ebpf/abi/config.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/host/cgroup_tree.h"

/* Generated; needs struct agent_config. */
#include "build/ebpf/allframes.skel.h"

enum {
	/* Limit of the bytes of /proc/self/cgroup that are read; a line for each of some dozen hierarchies. */
	CGROUPS_MAX_BYTES = 32 << 10,
};

/* Finds the number of a controller of cgroup version 1 among the kernel's types. */
static int find_controller(const char *controller, uint32_t *number)
{
	struct btf *types = btf__load_vmlinux_btf();
	int id = types ? btf__find_by_name_kind(types, "cgroup_subsys_id", BTF_KIND_ENUM) : -ENOENT;
	const struct btf_type *type = id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;
	const struct btf_enum *values = type ? btf_enum(type) : NULL;
	char wanted[64];
	int err = -ENOENT;

	snprintf(wanted, sizeof(wanted), "%s_cgrp_id", controller);
	for (uint32_t i = 0; values && i < btf_vlen(type); i++) {
		if (strcmp(btf__name_by_offset(types, values[i].name_off), wanted))
			continue;
		*number = (uint32_t)values[i].val;
		err = 0;
	}
	btf__free(types);
	return err;
}

/* Finds the number of a hierarchy of cgroup version 1 that has no controllers. */
static int find_hierarchy(const char *controller, uint32_t *number)
{
	_cleanup_(close_file) FILE *file = fopen("/proc/self/cgroup", "re");
	char text[CGROUPS_MAX_BYTES];
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[length] = '\0';
	return cgroup_find_hierarchy(text, controller, number);
}

static int configure_cgroup(struct agent_config *config, const struct bpf_loader_options *options)
{
	const char *controller = options->cgroup_controller;
	bool is_named;
	struct stat status;

	if (options->cgroup_fd < 0)
		return 0;
	config->select_cgroup = SELECT_CGROUP_V2;
	if (!controller || !*controller)
		return 0;
	is_named = cgroup_is_named(controller);
	config->select_cgroup = is_named ? SELECT_CGROUP_NAMED : SELECT_CGROUP_V1;
	if (is_named ? find_hierarchy(controller, &config->cgroup_controller) :
		       find_controller(controller, &config->cgroup_controller))
		return fail(-EOPNOTSUPP, "this kernel has no cgroup %s %s",
			    is_named ? "hierarchy" : "controller", controller);
	if (fstat(options->cgroup_fd, &status))
		return fail_errno(-errno, "cannot stat the cgroup to profile");
	config->cgroup_id = status.st_ino;
	return 0;
}

/* Without it, forks of this machine cost nothing, and the map takes no memory. */
static int configure_following(struct allframes *skeleton, bool is_on)
{
	int err = bpf_program__set_autoload(skeleton->progs.process_fork, is_on);

	if (!err)
		err = bpf_program__set_autoload(skeleton->progs.process_free, is_on);
	return err || is_on ? err : bpf_map__set_max_entries(skeleton->maps.followed, 1);
}

int bpf_selection_configure(struct allframes *skeleton, const struct bpf_loader_options *options)
{
	struct agent_config *config = &skeleton->rodata->config;
	int err = configure_cgroup(config, options);

	if (err)
		return err;
	config->select_pids = options->pid_count > 0;
	config->select_comm = options->comm_count > 0;
	config->select_user = options->has_user;
	config->user = options->user;
	config->follow_children = options->follows_children;
	err = configure_following(skeleton, options->follows_children);
	return err ? fail_errno(err, "cannot configure the BPF programs") : 0;
}

int bpf_selection_fill(const struct allframes *skeleton, const struct bpf_loader_options *options)
{
	const uint8_t selected = 1;
	const uint32_t first = 0;

	if (options->pid_count > SELECTED_PIDS_MAX)
		return fail(-E2BIG, "more than %d pids", SELECTED_PIDS_MAX);
	for (uint32_t i = 0; i < options->pid_count; i++) {
		if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.selected_pids),
					&options->pids[i], &selected, BPF_ANY))
			return fail_errno(-errno, "cannot select pid %u", options->pids[i]);
	}
	if (options->comm_count > SELECTED_COMMS_MAX)
		return fail(-E2BIG, "more than %d names", SELECTED_COMMS_MAX);
	for (uint32_t i = 0; i < options->comm_count; i++) {
		if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.selected_comms),
					options->comms[i], &selected, BPF_ANY))
			return fail_errno(-errno, "cannot select the name %s", options->comms[i]);
	}
	if (options->cgroup_fd >= 0 &&
	    !(options->cgroup_controller && *options->cgroup_controller) &&
	    bpf_map_update_elem(bpf_map__fd(skeleton->maps.selected_cgroup), &first,
				&options->cgroup_fd, BPF_ANY))
		return fail_errno(-errno, "the cgroup to profile (is it one of cgroup v2?)");
	return 0;
}

int bpf_selection_attach(struct allframes *skeleton)
{
	skeleton->links.process_free = bpf_program__attach(skeleton->progs.process_free);
	if (skeleton->links.process_free)
		skeleton->links.process_fork = bpf_program__attach(skeleton->progs.process_fork);
	return skeleton->links.process_fork ?
		       0 :
		       fail_errno(-errno,
				  "cannot attach to sched_process_fork and sched_process_free");
}
