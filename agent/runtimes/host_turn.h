/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Turns of two processes that share memory: one sends a request and waits, the other answers and waits. This
 * costs less than a message on a socket, and is for requests that are made many times a second. The memory
 * behind the struct belongs to the process whose turn it is.
 */
#ifndef AGENT_RUNTIMES_HOST_TURN_H
#define AGENT_RUNTIMES_HOST_TURN_H

#include <stdbool.h>
#include <stdint.h>

/** Zero at first. It is in shared memory, and the agent trusts nothing in it. */
struct host_turn {
	/** Numbers of the last request and of the last answer. Atomic. */
	uint32_t asked;
	/** One more than the number of the request if that was given up. */
	uint32_t answered;
	uint32_t reserved[14];
};

/** Signals request @number, which is the last number plus one. */
void host_turn_ask(struct host_turn *turn, uint32_t number);
/** Waits for the answer at most @max_ns; whether it has come. */
bool host_turn_wait(struct host_turn *turn, uint32_t number, uint64_t max_ns);
/** Gives the request up; the other side ends when it has finished it. False if the answer has come. */
bool host_turn_leave(struct host_turn *turn, uint32_t number);

/** For the other side. Waits for the next request and returns its number. */
uint32_t host_turn_take(struct host_turn *turn);
/** Signals the answer to request @number; false if the request was given up. */
bool host_turn_answer(struct host_turn *turn, uint32_t number);

#endif
