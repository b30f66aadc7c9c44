// SPDX-License-Identifier: GPL-2.0-only
/*
 * php_unwind, php_unwind_chain
 * enter: tail call to UNWINDER_PHP, from another unwinder at the first native frame of an unwind that runs functions of PHP;
 *        the loader puts one of the two there, as for UNWINDER_NATIVE
 * leave: tail call to UNWINDER_STOP, or to the unwinder of another language
 * reads: slabs and executables, written by user space; the task; the process's memory
 * bound: php_unwind PHP_STEPS_MAX steps, native ones included; php_unwind_chain PHP_CHAIN_STEPS a run, in the runs
 *        that the native chain has left of CHAIN_RUNS
 */
#include "ebpf/language_unwind.bpf.h"
#include "ebpf/php/php_step.bpf.h"

enum {
	PHP_CHAIN_STEPS = 12,
};

LANGUAGE_PROGRAMS(PHP, php, PHP_STEPS_MAX, php_step, PHP_CHAIN_STEPS, php_step)
