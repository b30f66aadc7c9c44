// SPDX-License-Identifier: Apache-2.0
#include "agent/language_loading.h"

#include <sched.h>
#include <unistd.h>

#include "agent/tracing/bpf_loader.h"
#include "interpreters/registry.h"
#include "lib/base/error.h"
#include "lib/base/log.h"

/* Waits for the next language to load, the first row of the list first; false: stop. */
static bool next_language(struct language_loading *loading, uint32_t *language)
{
	uint32_t missing;
	bool is_stopping;

	pthread_mutex_lock(&loading->lock);
	while (!(missing = loading->wanted & ~loading->loaded) && !loading->is_stopping)
		pthread_cond_wait(&loading->changed, &loading->lock);
	is_stopping = loading->is_stopping;
	if (!is_stopping) {
		*language = (uint32_t)__builtin_ctz(missing);
		loading->busy_tid = gettid();
	}
	pthread_mutex_unlock(&loading->lock);
	return !is_stopping;
}

static void load(struct language_loading *loading, uint32_t language)
{
	if (bpf_loader_load_language(loading->loader, language))
		log_warn("%s; programs in %s show native frames only", error_text(),
			 language_at(language)->id->name);
	else
		log_debug("the unwinder of %s is loaded", language_at(language)->id->name);
	pthread_mutex_lock(&loading->lock);
	loading->busy_tid = 0;
	loading->loaded |= 1U << language;
	pthread_mutex_unlock(&loading->lock);
}

static void *run(void *context)
{
	struct language_loading *loading = context;
	uint32_t language;

	pthread_setname_np(pthread_self(), "languages");
	while (next_language(loading, &language))
		load(loading, language);
	return NULL;
}

int language_loading_start(struct language_loading *loading, struct bpf_loader *loader)
{
	int error;

	*loading = (struct language_loading){ .loader = loader,
					      .lock = PTHREAD_MUTEX_INITIALIZER,
					      .changed = PTHREAD_COND_INITIALIZER };
	error = pthread_create(&loading->thread, NULL, run, loading);
	if (error)
		return fail_errno(-error, "cannot start the thread for the programs of languages");
	loading->has_thread = true;
	return 0;
}

void language_loading_want(struct language_loading *loading, uint32_t language)
{
	bool is_new;

	pthread_mutex_lock(&loading->lock);
	is_new = !(loading->wanted & 1U << language);
	loading->wanted |= 1U << language;
	if (is_new)
		pthread_cond_signal(&loading->changed);
	pthread_mutex_unlock(&loading->lock);
	if (is_new)
		log_debug("the unwinder of %s is wanted", language_at(language)->id->name);
}

bool language_loading_is_done(struct language_loading *loading)
{
	bool is_done;

	pthread_mutex_lock(&loading->lock);
	is_done = !(loading->wanted & ~loading->loaded);
	pthread_mutex_unlock(&loading->lock);
	return is_done;
}

void language_loading_stop(struct language_loading *loading)
{
	const struct sched_param param = { .sched_priority = 1 };
	pid_t tid;

	if (!loading->has_thread)
		return;
	pthread_mutex_lock(&loading->lock);
	loading->is_stopping = true;
	tid = loading->busy_tid;
	pthread_cond_signal(&loading->changed);
	pthread_mutex_unlock(&loading->lock);
	/* Loading takes some hundred milliseconds of CPU time, which must not become seconds on a busy host. */
	if (tid)
		(void)sched_setscheduler(tid, SCHED_RR, &param);
	pthread_join(loading->thread, NULL);
	loading->has_thread = false;
}
