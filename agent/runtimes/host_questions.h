/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The questions that the agent asks a process that holds runtimes: sent, waited for, and their answers checked. The answers
 * come from a program of ours that has read hostile memory, so nothing in them is trusted.
 *
 * Beside the errors of the answers: -EHOSTDOWN: the process owes the answer, and hangs or has ended; -ENOTCONN: it had
 * ended before it was asked, or the answer could not be taken here; -ECANCELED. The channel cannot be used any more after
 * any of them.
 */
#ifndef AGENT_RUNTIMES_HOST_QUESTIONS_H
#define AGENT_RUNTIMES_HOST_QUESTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/runtimes/host_process.h"
#include "agent/runtimes/host_protocol.h"
#include "agent/runtimes/name_answers.h"
#include "agent/runtimes/runtime_home.h"

/**
 * @request has its ids and languages; the rest comes from @target. Fills in the data of @runtime, for the caller
 * to free, and may_grow. Errors as language_ops.attach().
 */
int host_ask_attach(const struct host_process *process, struct host_request *request,
		    const struct host_target *target, const bool *is_cancelled,
		    struct host_runtime *runtime);

/** As runtime_home_ops.read(). */
int host_ask_read(const struct host_process *process, int fd, const struct memory_part *parts,
		  uint32_t count, const bool *is_cancelled, void *bytes);

/** Replaces @answers. @request has its ids and the number of @queries. -ENOMEM. */
int host_ask_names(const struct host_process *process, const struct host_request *request,
		   const struct name_query *queries, struct name_answers *answers);

#endif
