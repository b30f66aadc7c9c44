/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The selection of processes in the kernel programs (ebpf/selection.bpf.h), a part of bpf_loader.h. Errors have a text for
 * users.
 */
#ifndef AGENT_TRACING_BPF_SELECTION_H
#define AGENT_TRACING_BPF_SELECTION_H

#include "agent/tracing/bpf_loader.h"

struct allframes;

/** Before loading: sets the selection's fields of the configuration, and which programs are loaded. */
int bpf_selection_configure(struct allframes *skeleton, const struct bpf_loader_options *options);

/** After loading: fills the maps of selected processes, names and cgroups. */
int bpf_selection_fill(const struct allframes *skeleton, const struct bpf_loader_options *options);

/** Attaches the programs that follow children. */
int bpf_selection_attach(struct allframes *skeleton);

#endif
