/* SPDX-License-Identifier: Apache-2.0 */
/**
 * How two processes that share memory take turns: one asks and waits, the other answers and waits. It costs less than a
 * message on a socket, which is for what is asked many times a second. The memory behind it is whose turn it is.
 */
#ifndef AGENT_RUNTIMES_HOST_TURN_H
#define AGENT_RUNTIMES_HOST_TURN_H

#include <stdbool.h>
#include <stdint.h>

/** Zero at first. In shared memory: the agent believes nothing in it. */
struct host_turn {
	/** The numbers of the last question and of the last answer. Atomic. */
	uint32_t asked;
	/** One more than the number of the question if that was given up. */
	uint32_t answered;
	uint32_t reserved[14];
};

/** Says that question @number is there: the one after the last. */
void host_turn_ask(struct host_turn *turn, uint32_t number);
/** Waits for its answer, for so long at most; whether it is there. */
bool host_turn_wait(struct host_turn *turn, uint32_t number, uint64_t max_ns);
/** Gives the question up: the other side ends with it. False if the answer has come. */
bool host_turn_leave(struct host_turn *turn, uint32_t number);

/** The other side. Waits for the question after the last one; its number. */
uint32_t host_turn_take(struct host_turn *turn);
/** Says that the answer to question @number is there; false if nobody wants it. */
bool host_turn_answer(struct host_turn *turn, uint32_t number);

#endif
