/* SPDX-License-Identifier: Apache-2.0 */
/** Running interpreters for tests: starts a script and attaches to it. */
#ifndef INTERPRETERS_PYTHON_TESTS_LIVE_PYTHON_H
#define INTERPRETERS_PYTHON_TESTS_LIVE_PYTHON_H

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ebpf/abi/python.h"
#include "interpreters/registry.h"
#include "lib/elf/elf_image.h"
#include "lib/host/mapped_file.h"
#include "lib/host/proc_maps.h"
#include "lib/host/remote_memory.h"

struct live_python {
	pid_t pid;
	/** The script's output and its stdin. */
	FILE *output;
	int input;
	struct process_memory memory;
	struct runtime_file *file;
	struct runtime *process;
	/** Duration of probe and attach. */
	double probe_ms;
	double attach_ms;
};

static inline double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

/**
 * Finds the interpreters of the machine: pyenv's, the system's, and those in ALLFRAMES_PYTHONS (separated by colons);
 * only the one in ALLFRAMES_ONLY_PYTHON if that is set.
 */
static inline size_t find_pythons(glob_t *found)
{
	static const char *const patterns[] = {
		"/root/.pyenv/versions/*/bin/python",
		"/usr/bin/python[23].[0-9]",
		"/usr/bin/python3.[0-9][0-9]",
	};
	char *more = getenv("ALLFRAMES_PYTHONS");
	int flags = 0;

	memset(found, 0, sizeof(*found));
	if (getenv("ALLFRAMES_ONLY_PYTHON")) {
		glob(getenv("ALLFRAMES_ONLY_PYTHON"), 0, NULL, found);
		return found->gl_pathc;
	}
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		glob(patterns[i], flags, NULL, found);
		flags = GLOB_APPEND;
	}
	more = more ? strdup(more) : NULL;
	for (char *rest = more, *one; (one = strsep(&rest, ":"));)
		glob(one, GLOB_APPEND, NULL, found);
	free(more);
	return found->gl_pathc;
}

static inline int live_python_start(struct live_python *python, const char *path,
				    const char *script)
{
	int input[2], output[2];

	memset(python, 0, sizeof(*python));
	if (pipe2(input, O_CLOEXEC) || pipe2(output, O_CLOEXEC))
		return -1;
	python->pid = fork();
	if (!python->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(input[0], 0);
		dup2(output[1], 1);
		unsetenv("ASAN_OPTIONS");
		execl(path, path, script, NULL);
		_exit(127);
	}
	close(input[0]);
	close(output[1]);
	python->input = input[1];
	python->output = fdopen(output[0], "r");
	return 0;
}

/**
 * Opens the process's memory, probes its mapped files, and attaches. Returns the error of probe or attach, -ENOENT if
 * there is no runtime. The script must have written something: during its exec it has no program (-ESRCH).
 */
static inline int live_python_attach(struct live_python *python)
{
	struct attach_target target = { .pid = python->pid };
	struct attach_module modules[64];
	struct proc_maps maps = { 0 };
	int err;

	process_memory_deinit(&python->memory);
	err = process_memory_init(&python->memory, "/proc", python->pid);
	if (!err)
		err = proc_maps_read(&maps, "/proc", python->pid, PROC_MAPS_EXECUTABLE);
	if (err)
		return err;
	target.memory = &python->memory.memory;
	target.modules = modules;
	err = -ENOENT;
	for (uint32_t i = 0; i < maps.count && target.module_count < 64; i++) {
		const struct proc_mapping *row = &maps.rows[i];
		struct elf_image image = { 0 };
		uint64_t address = 0;
		struct file_key key;
		int fd, found = -ENOENT;
		double start;

		if (mapped_file_open("/proc", python->pid, row, &fd, &key))
			continue;
		start = now_ms();
		if (!elf_image_init_fd(&image, fd) &&
		    !elf_image_mapping_address(&image, row->offset, row->end - row->start,
					       &address))
			found = languages_probe(LANGUAGES_ALL, &image, row->path, &python->file);
		if (found != -ENOENT) {
			err = found;
			python->probe_ms = now_ms() - start;
			target.bias = row->start - address;
		}
		elf_image_deinit(&image);
		modules[target.module_count++] = (struct attach_module){
			.path = row->path, .fd = fd, .bias = row->start - address
		};
	}
	if (!err) {
		double start = now_ms();

		err = python->file->language->ops->attach(python->file, &target, &python->process);
		python->attach_ms = now_ms() - start;
	}
	for (uint32_t i = 0; i < target.module_count; i++)
		close(modules[i].fd);
	proc_maps_deinit(&maps);
	return err;
}

static inline void live_python_stop(struct live_python *python)
{
	const struct language_ops *ops = python->file ? python->file->language->ops : NULL;

	if (python->process)
		ops->detach(python->process);
	if (python->file)
		ops->release(python->file);
	close(python->input);
	fclose(python->output);
	kill(python->pid, SIGKILL);
	waitpid(python->pid, NULL, 0);
	process_memory_deinit(&python->memory);
}

static inline uint64_t read_word(struct live_python *python, uint64_t address)
{
	uint64_t word = 0;

	remote_memory_read(&python->memory.memory, address, &word, sizeof(word));
	return word;
}

/** Computes the fingerprint as the kernel side does with the data of attach. */
static inline uint32_t live_fingerprint(struct live_python *python, uint64_t code)
{
	const struct python_process *data = (const void *)python->process->data;
	uint64_t words[PYTHON_CODE_WORDS], hash = 0, start = code + data->code_start;

	for (size_t i = 0; i < PYTHON_CODE_WORDS; i++)
		words[i] = read_word(python, start + data->code_words[i]);
	if (data->code_name != PYTHON_NO_OFFSET)
		hash = read_word(python,
				 read_word(python, start + data->code_name) + data->name_hash);
	return python_code_fingerprint((const __u64 *)words, hash);
}

/** Reads the thread state of the process's main thread with a path of attach. */
static inline uint64_t thread_state_of(struct live_python *python, size_t path_index)
{
	const struct python_process *data = (const void *)python->process->data;
	const struct thread_local_path *path = &data->thread_state[path_index];
	struct user_regs_struct registers;
	uint64_t value;

	if (ptrace(PTRACE_ATTACH, python->pid, 0, 0))
		return 0;
	waitpid(python->pid, NULL, 0);
	ptrace(PTRACE_GETREGS, python->pid, 0, &registers);
	ptrace(PTRACE_DETACH, python->pid, 0, 0);
	value = registers.fs_base;
	for (uint32_t i = 0; i < path->depth; i++)
		value = read_word(python, value + (uint64_t)(int64_t)path->offsets[i]);
	return path->depth ? value : 0;
}

#endif
