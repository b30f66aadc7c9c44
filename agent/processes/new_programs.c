/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/processes/new_programs.h"

static struct process_notice *place_of(struct new_programs *programs, uint32_t pid)
{
	return &programs->execs[pid % NEW_PROGRAMS_MAX];
}

static void forget(struct new_programs *programs, struct process_notice *exec)
{
	exec->pid = 0;
	programs->count--;
}

static void pass_on(struct new_programs *programs, struct process_notice *exec)
{
	programs->pass_on(programs->context, exec);
	forget(programs, exec);
}

void new_programs_add(struct new_programs *programs, const struct process_notice *exec)
{
	struct process_notice *place = place_of(programs, exec->pid);

	if (place->pid && place->pid != exec->pid)
		pass_on(programs, place);
	programs->count += !place->pid;
	*place = *exec;
}

void new_programs_pass_on_of(struct new_programs *programs, uint32_t pid)
{
	struct process_notice *place = place_of(programs, pid);

	if (place->pid == pid)
		pass_on(programs, place);
}

bool new_programs_end(struct new_programs *programs, const struct process_notice *exit)
{
	struct process_notice *place = place_of(programs, exit->pid);

	if (place->pid != exit->pid || place->stamp.exec_id != exit->stamp.exec_id ||
	    place->stamp.start_time_ns != exit->stamp.start_time_ns)
		return false;
	forget(programs, place);
	return true;
}

void new_programs_pass_on(struct new_programs *programs, uint64_t time_ns)
{
	for (uint32_t i = 0; programs->count && i < NEW_PROGRAMS_MAX; i++)
		if (programs->execs[i].pid && programs->execs[i].time_ns < time_ns)
			pass_on(programs, &programs->execs[i]);
}
