/* SPDX-License-Identifier: Apache-2.0 */
/** Kinds of energy that a machine measures, by the names of RAPL's domains. */
#ifndef LIB_MODEL_ENERGY_H
#define LIB_MODEL_ENERGY_H

enum energy_kind {
	/** A whole CPU package: its cores, what else is on the chip, and no memory. */
	ENERGY_PACKAGE,
	/** Two parts of the package: all of its cores, and what else it has, which is mostly graphics. */
	ENERGY_CORE,
	ENERGY_UNCORE,
	ENERGY_DRAM,
	/** The whole machine: it is not measured, but estimated from the watts in a file (-energy-file). */
	ENERGY_HOST,
	ENERGY_KIND_COUNT,
};

/** "package", "core", "uncore", "dram", "host". */
extern const char *const energy_kind_names[ENERGY_KIND_COUNT];

#endif
