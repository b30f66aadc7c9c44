/* SPDX-License-Identifier: Apache-2.0 */
/* All of it is what the process says of itself, and none of it is used for anything but outputs. */
#include "agent/processes/process_attributes.h"

#include "agent/host/container_id.h"
#include "agent/host/proc_info.h"
#include "agent/host/process_environment.h"

static void set_info(struct process_table *table, struct process *process,
		     const struct process_info *values)
{
	struct process_info *info = process_info_create(values);

	if (info)
		process_table_set_info(table, process, info);
}

void process_attributes_read(struct process_table *table, struct process *process,
			     const char *proc_root)
{
	char path[PROC_PATH_MAX_BYTES];
	char container_id[CONTAINER_ID_MAX_BYTES];
	char service_name[SERVICE_NAME_MAX_BYTES];
	const struct process_info values = {
		.pid = process->pid,
		.executable_path = path,
		.container_id = container_id,
		.service_name = service_name,
	};

	if (process->info || proc_executable_path(proc_root, process->pid, path))
		return;
	container_id_read(proc_root, process->pid, container_id);
	service_name_read(proc_root, process->pid, service_name);
	set_info(table, process, &values);
}

void process_attributes_inherit(struct process_table *table, struct process *process,
				const struct process *parent)
{
	struct process_info values;

	if (process->info || !parent->info)
		return;
	values = *parent->info;
	values.pid = process->pid;
	set_info(table, process, &values);
}
