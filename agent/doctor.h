/* SPDX-License-Identifier: Apache-2.0 */
/**
 * `agent -doctor`: samples for a few seconds, and reports how well that works here: the kernel, each runtime
 * that was found, and the quality of the stacks. Owned by the main thread.
 */
#ifndef AGENT_DOCTOR_H
#define AGENT_DOCTOR_H

#include "agent/processes/runtimes/runtime_list.h"
#include "lib/base/text_builder.h"
#include "reporter/summary.h"
#include "viewer/api.h"

struct doctor;

/** @config has all fields but the history. -ENOMEM. */
int doctor_create(const struct api_config *config, struct doctor **doctor);
/** Takes NULL. */
void doctor_destroy(struct doctor *doctor);

/** The history that takes the samples. */
struct history *doctor_history(struct doctor *doctor);

/** Appends the machine's name, and that its kernel is supported: @features as of bpf_loader_features(). */
void doctor_append_kernel(struct text_builder *text, const char *features);

/** Prints the whole report where the agent cannot run; error_text() has the reason. */
void doctor_print_failure(void);

/** Appends the number of samples. */
void doctor_append_sampling(struct text_builder *text, const struct run_summary *summary);

/** Takes a runtime of process_manager_list_runtimes(), with the doctor as context. */
void doctor_take_runtime(void *doctor, const struct listed_runtime *runtime);

/** Appends the sampled programs and the runtimes. -ENOMEM. */
int doctor_append_findings(struct doctor *doctor, struct text_builder *text);

#endif
