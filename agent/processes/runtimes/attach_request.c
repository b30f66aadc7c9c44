/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/runtimes/attach_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "agent/processes/runtimes/executable_runtime.h"
#include "lib/base/cleanup.h"
#include "lib/base/error.h"
#include "lib/host/proc_info.h"
#include "lib/host/remote_memory.h"

enum {
	/* Limit of the copies of remote files for one request. */
	ATTACH_COPIES_MAX_BYTES = 128 << 20,
	BLOCK_BYTES = 512,
};

static void add_module(struct attach_request *request, const struct process_mapping *mapping)
{
	struct binary *binary = mapping->executable ? mapping->executable->binary : NULL;
	uint32_t count = request->module_count;
	struct borrowed_file file = { .binary = binary, .fd = -1 };

	if (!binary || count == ATTACH_MAX_MODULES ||
	    mapping->executable_id != mapping->executable->id)
		return;
	if (count && request->files[count - 1].binary == binary &&
	    request->modules[count - 1].bias == mapping->bias)
		return;
	/* Remote files have to be copied, which load_remote does. */
	if (mapping->executable->is_remote)
		request->is_remote = true;
	else
		file = binary_file_borrow(binary);
	if (file.fd < 0 && !mapping->executable->is_remote)
		return;
	binary_ref(binary);
	request->files[count] = file;
	request->modules[count] = (struct attach_module){
		.path = binary->path,
		.fd = file.fd,
		.bias = mapping->bias,
	};
	request->module_count++;
}

struct attach_request *attach_request_create(struct executable_cache *executables,
					     const struct process *process,
					     struct executable *executable, uint64_t bias)
{
	struct attach_request *request = calloc(1, sizeof(*request));
	uint32_t room = process->mapping_count + 1;

	if (!request)
		return NULL;
	request->files = calloc(room, sizeof(*request->files));
	request->modules = calloc(room, sizeof(*request->modules));
	if (!request->files || !request->modules) {
		attach_request_destroy(request, executables);
		return NULL;
	}
	request->pid = process->pid;
	request->identity = process->identity;
	request->executable = executable_ref(executables, executable);
	request->bias = bias;
	for (uint32_t i = 0; i < process->mapping_count; i++)
		add_module(request, &process->mappings[i]);
	return request;
}

void attach_request_destroy(struct attach_request *request, struct executable_cache *executables)
{
	for (uint32_t i = 0; i < request->module_count; i++) {
		struct binary *binary = request->files[i].binary;

		binary_file_return(&request->files[i]);
		binary_unref(binary);
	}
	executable_unref(executables, request->executable);
	free(request->files);
	free(request->modules);
	free(request);
}

/* Logs one line per file, for its first process. */
static void note_refusal(struct executable *executable, uint32_t pid)
{
	char more[128];

	executable_runtime_note_refused(executable);
	if (__atomic_exchange_n(&executable->is_refusal_logged, true, __ATOMIC_RELAXED))
		return;
	snprintf(more, sizeof(more), " (%s), process %u", executable_runtime(executable)->version,
		 pid);
	executable_runtime_log_refused(executable->binary->path, more);
}

/* Attaches in the agent itself, since no memory is read. */
static int attach_here(const struct attach_request *request, const struct runtime_file *file,
		       struct process_runtime **runtime)
{
	const struct attach_target target = {
		.pid = request->pid,
		.bias = request->bias,
		.modules = request->modules,
		.module_count = request->module_count,
	};
	const struct runtime copy = {
		.language = file->language,
		.data_bytes = file->data_bytes,
		.data = file->data,
	};
	struct runtime *process = NULL;
	int err = file->is_copy ? 0 : file->language->ops->attach(file, &target, &process);

	if (err)
		return err;
	*runtime = process_runtime_create_local(request->executable->id, request->pid,
						process ? process : &copy);
	if (process)
		file->language->ops->detach(process);
	return *runtime ? 0 : fail(-ENOMEM, "no memory for a runtime");
}

static int attach_there(struct attach_request *request, const struct runtime_file *file,
			const char *proc_root, struct runtime_home *home,
			struct process_runtime **runtime)
{
	_cleanup_(close_fd) int memory = -1;
	_cleanup_(binary_file_return) struct borrowed_file own =
		binary_file_borrow(request->executable->binary);
	struct host_target target = {
		.pid = request->pid,
		.executable_id = request->executable->id,
		.path = request->executable->binary->path,
		.file = own.fd,
		.bias = request->bias,
		.modules = request->modules,
		.module_count = request->module_count,
	};
	struct host_runtime made;
	int err;

	if (own.fd < 0)
		return fail(-ESTALE, "%s is not there any more", target.path);
	err = proc_user(proc_root, (pid_t)request->pid, &target.uid);
	if (!err)
		err = process_memory_open(proc_root, (pid_t)request->pid, &memory);
	if (err)
		return err;
	target.memory = memory;
	err = home->ops->attach(home, &target, &made);
	if (err)
		return err;
	request->cpu_ns = made.cpu_ns;
	*runtime = process_runtime_create(target.executable_id, target.pid, file->language, home,
					  &made);
	return *runtime ? 0 : fail(-ENOMEM, "no memory for a runtime");
}

/* Copies a remote file, if that succeeds and all copies stay below the limit. */
static void copy_module(struct borrowed_file *file, uint64_t *bytes)
{
	struct stat status;

	if (*bytes >= ATTACH_COPIES_MAX_BYTES)
		return;
	*file = binary_file_borrow(file->binary);
	if (file->fd < 0)
		return;
	if (fstat(file->fd, &status))
		*bytes = ATTACH_COPIES_MAX_BYTES;
	else
		*bytes += (uint64_t)status.st_blocks * BLOCK_BYTES;
	if (*bytes > ATTACH_COPIES_MAX_BYTES)
		binary_file_return(file);
}

/* Copies the remote files, and leaves out those that could not be copied. */
static void copy_remote(struct attach_request *request)
{
	uint32_t count = 0;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < request->module_count; i++) {
		struct borrowed_file file = request->files[i];

		if (file.fd < 0)
			copy_module(&file, &bytes);
		if (file.fd < 0) {
			binary_unref(file.binary);
			continue;
		}
		request->files[count] = file;
		request->modules[count] = request->modules[i];
		request->modules[count++].fd = file.fd;
	}
	request->module_count = count;
}

int attach_request_run(struct attach_request *request, const char *proc_root,
		       struct runtime_home *home, struct process_runtime **runtime)
{
	const struct runtime_file *file = executable_runtime(request->executable);
	int err;

	if (request->is_remote)
		copy_remote(request);
	err = file->attaches_at_once ? attach_here(request, file, runtime) :
				       attach_there(request, file, proc_root, home, runtime);

	if (err == -EOPNOTSUPP || (err == -EBADMSG && !request->is_early))
		note_refusal(request->executable, request->pid);
	return err;
}
