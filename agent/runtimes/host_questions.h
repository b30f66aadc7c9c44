/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The agent's requests to a process that holds runtimes: sends them, waits for the answers and checks these.
 * The answers come from a program of ours that has read hostile memory, so nothing in them is trusted.
 *
 * Errors in addition to those of the answers: -EHOSTDOWN: the process hangs or has ended without an answer;
 * -ENOTCONN: it had ended before the request, or the answer could not be received here; -ECANCELED. After any
 * of them the channel cannot be used any more.
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
 * @request has its ids and languages set; the other fields are set from @target. Fills in the data of @runtime,
 * which the caller frees, and may_grow. Errors as of language_ops.attach().
 */
int host_ask_attach(const struct host_process *process, struct host_request *request,
		    const struct host_target *target, const bool *is_cancelled,
		    struct host_runtime *runtime);

/** As runtime_home_ops.read(). */
int host_ask_read(const struct host_process *process, int fd, const struct memory_part *parts,
		  uint32_t count, const bool *is_cancelled, void *bytes);

/** Replaces @answers. @request has its ids and the number of @queries set. -ENOMEM. */
int host_ask_names(const struct host_process *process, const struct host_request *request,
		   const struct name_query *queries, struct name_answers *answers);

#endif
