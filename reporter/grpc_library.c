/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/grpc_library.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

/* How long a stop waits for threads whose work is done. */
#define END_TIMEOUT_NS (200 * NS_PER_MS)

static atomic_uint_fast64_t accept_failures;
static atomic_bool is_left;

static void log_line(gpr_log_func_args *line)
{
	/* The listener of 1.51 ends then; later versions go on. */
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
	/* The system's resolver. c-ares finds fewer hosts, and leaks memory in each look-up. */
	setenv("GRPC_DNS_RESOLVER", "native", 0);
	grpc_init();
}

static void *run_shutdown(void *unused)
{
	(void)unused;
	grpc_shutdown();
	return NULL;
}

void grpc_library_deinit(void)
{
	const struct timespec until = clock_timespec(clock_monotonic_ns() + END_TIMEOUT_NS);
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_shutdown, NULL)) {
		grpc_library_leave();
		return;
	}
	if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until)) {
		pthread_detach(thread);
		grpc_library_leave();
	}
}

void grpc_library_leave(void)
{
	is_left = true;
}

bool grpc_library_is_left(void)
{
	return is_left;
}
