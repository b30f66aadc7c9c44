// SPDX-License-Identifier: Apache-2.0
#include "agent/language_loading.h"

#include <sched.h>
#include <unistd.h>

#include "agent/tracing/bpf_loader.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

static void *run(void *context)
{
	struct language_loading *loading = context;

	__atomic_store_n(&loading->tid, gettid(), __ATOMIC_RELEASE);
	if (bpf_loader_load_languages(loading->loader, &loading->is_stopping))
		log_warn("%s; programs in some languages show native frames only", error_text());
	__atomic_store_n(&loading->is_done, true, __ATOMIC_RELEASE);
	return NULL;
}

int language_loading_start(struct language_loading *loading, struct bpf_loader *loader)
{
	int error;

	*loading = (struct language_loading){ .loader = loader };
	error = pthread_create(&loading->thread, NULL, run, loading);
	if (error)
		return fail_errno(-error, "cannot start the thread for the programs of languages");
	loading->has_thread = true;
	pthread_setname_np(loading->thread, "languages");
	return 0;
}

bool language_loading_is_done(const struct language_loading *loading)
{
	return __atomic_load_n(&loading->is_done, __ATOMIC_ACQUIRE);
}

void language_loading_stop(struct language_loading *loading)
{
	const struct sched_param param = { .sched_priority = 1 };
	pid_t tid;

	if (!loading->has_thread)
		return;
	__atomic_store_n(&loading->is_stopping, true, __ATOMIC_RELEASE);
	/* Loading takes some hundred milliseconds of CPU time, which must not become seconds on a busy host. */
	tid = __atomic_load_n(&loading->tid, __ATOMIC_ACQUIRE);
	if (tid && !language_loading_is_done(loading))
		(void)sched_setscheduler(tid, SCHED_RR, &param);
	pthread_join(loading->thread, NULL);
	loading->has_thread = false;
}
