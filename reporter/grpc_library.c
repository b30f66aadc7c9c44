/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/grpc_library.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "agent/base/log.h"
#include "agent/base/text.h"

static atomic_uint_fast64_t accept_failures;

static void log_line(gpr_log_func_args *line)
{
	/* As of 1.51, whose listener ends then; later ones go on. */
	if (text_starts_with(line->message, "Failed accept4"))
		accept_failures++;
	log_debug("grpc: %s", line->message);
}

uint64_t grpc_library_accept_failures(void)
{
	return accept_failures;
}

void grpc_library_init(void)
{
	gpr_set_log_function(log_line);
	/* The system's own way to find hosts; c-ares knows less of them, and leaks in each look-up. */
	setenv("GRPC_DNS_RESOLVER", "native", 0);
	grpc_init();
}
