/* SPDX-License-Identifier: Apache-2.0 */
/** Setup of the process before it does anything else. */
#ifndef AGENT_PROCESS_SETUP_H
#define AGENT_PROCESS_SETUP_H

/**
 * Opens /dev/null for closed standard streams, so that no later file gets their descriptors. Makes writes to a
 * broken pipe and to a file over its size limit fail with an error, and keeps the status of a child that has ended
 * until it is read. Raises the limit of descriptors as far as possible.
 */
void process_setup(void);

/** Undoes process_setup() in a child that is to run a program of the user. */
void process_setup_undo(void);

/** -EMFILE if the limit of descriptors is below the agent's minimum. */
int process_check_descriptors(void);

#endif
