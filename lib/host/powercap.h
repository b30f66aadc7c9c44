/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The energy that the CPUs measure (RAPL), as the kernel's powercap files show it: /sys/class/powercap/intel-rapl:0/energy_uj, which
 * AMD's CPUs have by the same name (Documentation/power/powercap/powercap.rst, drivers/powercap/intel_rapl_common.c).
 *
 * Zones of the kinds of enum energy_kind are taken; others, such as "psys", are not. A zone that two drivers show
 * is taken once. A file with anything but a number within the zone's range is an error of that zone only.
 */
#ifndef LIB_HOST_POWERCAP_H
#define LIB_HOST_POWERCAP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vector.h"
#include "lib/model/energy.h"

enum {
	POWERCAP_ZONES_MAX = 256,
	POWERCAP_NAME_BYTES = 64,
	/** The package of a zone is not known. */
	POWERCAP_NO_PACKAGE = -1,
	/** A zone that uses more is taken for damaged. */
	POWERCAP_MAX_WATTS = 2000,
};

struct powercap_zone {
	/** "intel-rapl:0:0" */
	char folder[POWERCAP_NAME_BYTES];
	/** "package-0", and "package-0 dram" for a part of it. */
	char name[2 * POWERCAP_NAME_BYTES + 1];
	enum energy_kind kind;
	/** physical_package_id of its CPUs, or POWERCAP_NO_PACKAGE. */
	int32_t package;
	/** The last reading and its time; none if the time is 0. */
	uint64_t last_uj;
	uint64_t last_ns;
};

VECTOR_DEFINE(powercap_zone_vector, struct powercap_zone)

/**
 * Appends the zones of the machine to @zones. @sys_root is "/sys" or a test's folder. A machine without
 * any is no error. Returns the first error; the other zones are appended all the same.
 */
int powercap_find_zones(const char *sys_root, struct powercap_zone_vector *zones);

/**
 * Sets *@joules to the energy since the last reading that had no error; 0 for the first one. Where the counter wrapped around, that is
 * added up. -EBADMSG for a file that makes no sense, -ERANGE for a counter that did not run steadily, after which the next difference
 * counts from now on; or -errno of reading.
 */
int powercap_zone_read(const char *sys_root, struct powercap_zone *zone, uint64_t now_ns,
		       double *joules);

/**
 * The package (physical_package_id) of @cpu, POWERCAP_NO_PACKAGE if that is not known.
 */
int32_t powercap_package_of_cpu(const char *sys_root, uint32_t cpu);

#endif
