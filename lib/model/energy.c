/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/model/energy.h"

const char *const energy_kind_names[ENERGY_KIND_COUNT] = {
	[ENERGY_PACKAGE] = "package", [ENERGY_CORE] = "core", [ENERGY_UNCORE] = "uncore",
	[ENERGY_DRAM] = "dram",	      [ENERGY_HOST] = "host",
};
