/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The energy of the machine, measured by its CPUs (lib/host/powercap.h) or estimated from the watts in a file, and its shares of
 * processes. Each interval of -accounting has a share: an idle part, and what the processes of that interval used, by their
 * CPU cycles, or by their run time where cycles are not counted.
 *
 * The idle part of what is measured is the idle part of the CPUs' time. With a file it is the idle machine's watts for the whole time.
 * A zone of a package is shared out to what ran on the CPUs of that package. All shares and the idle part are together the difference
 * of the zone's counter.
 *
 * Owner: the main thread.
 */
#ifndef AGENT_ENERGY_H
#define AGENT_ENERGY_H

#include <stdbool.h>
#include <stdint.h>

#include "ebpf/abi/costs.h"
#include "lib/model/energy.h"
#include "reporter/cost_table.h"

struct energy;

/** Functions that take the shares of an interval; they are called by energy_share() only. Joules are by enum energy_kind. */
struct energy_sink {
	/** The share of a process on a CPU; all 0 in @key for processes that did not fit. */
	void (*take_share)(void *context, const struct cost_key *key, uint64_t cgroup_id,
			   const double joules[ENERGY_KIND_COUNT]);
	void (*take_idle)(void *context, const double joules[ENERGY_KIND_COUNT]);
	void *context;
};

/**
 * Finds out what the machine measures. Zones that cannot be read are logged, and left out. @power_file, used where nothing is measured, may be
 * NULL; @sys_root is "/sys" or a test's folder. Both are borrowed. -EINVAL for a file that makes no sense.
 */
int energy_create(const char *sys_root, const char *power_file, struct energy **energy);
/** Takes NULL. */
void energy_destroy(struct energy *energy);

/** COST_FIRST_ENERGY bits by enum energy_kind; 0 if there is neither a zone nor a file. */
uint32_t energy_sources(const struct energy *energy);

/** Reads the counters, at the moment at which an interval ends. A zone that cannot be read is logged once, and has a gap. */
void energy_read(struct energy *energy, uint64_t now_ns);

/** Adds a row of the interval. @has_cycles: it is shared out by cycles. -ENOMEM. */
int energy_take_row(struct energy *energy, uint32_t cpu, const struct cost_row *row, bool is_idle,
		    bool has_cycles);

/** Shares out what was read among the rows, and begins the next interval. Without any time the energy stays for the next one. */
void energy_share(struct energy *energy, const struct energy_sink *sink);

/** Sets @zones to the zones with what they have counted so far. -ENOMEM. */
int energy_list_zones(const struct energy *energy, struct energy_zone_vector *zones);

#endif
