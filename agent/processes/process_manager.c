/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and threads. What is decided about processes is in process_sync_loop, what about samples
 * in trace_handler; this starts them, feeds them and takes them down.
 */
