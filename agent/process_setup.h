/* SPDX-License-Identifier: Apache-2.0 */
/** Sets up the process before it does anything else. */
#ifndef AGENT_PROCESS_SETUP_H
#define AGENT_PROCESS_SETUP_H

/**
 * Gives standard streams that are closed /dev/null, so that nothing which is opened later stands in their
 * place; makes a full pipe and a file that may not grow errors of the write; and allows as many descriptors
 * as may be.
 */
void process_setup(void);

/** -EMFILE if the agent may not have the descriptors that it needs at least. */
int process_check_descriptors(void);

#endif
