/* SPDX-License-Identifier: Apache-2.0 */
/**
 * `agent -doctor`: samples for a few seconds, and says how well that goes here: the kernel, each runtime that was
 * found, and how good the stacks are. Owned by the main thread.
 */
#ifndef AGENT_DOCTOR_H
#define AGENT_DOCTOR_H

#include "agent/processes/runtimes/runtime_list.h"
#include "lib/base/text_builder.h"
#include "reporter/summary.h"
#include "viewer/api.h"

struct doctor;

/** @config: all but the history. -ENOMEM. */
int doctor_create(const struct api_config *config, struct doctor **doctor);
/** Takes NULL. */
void doctor_destroy(struct doctor *doctor);

/** To put the samples in. */
struct history *doctor_history(struct doctor *doctor);

/** Appends which machine it is, and that its kernel will do: @features as of bpf_loader_features(). */
void doctor_append_kernel(struct text_builder *text, const char *features);

/** The whole report where the agent cannot run: error_text() says why. */
void doctor_print_failure(void);

/** Appends how much was sampled. */
void doctor_append_sampling(struct text_builder *text, const struct run_summary *summary);

/** A runtime: for process_manager_list_runtimes(), with the doctor as context. */
void doctor_take_runtime(void *doctor, const struct listed_runtime *runtime);

/** Appends what was sampled and the runtimes. -ENOMEM. */
int doctor_append_findings(struct doctor *doctor, struct text_builder *text);

#endif
