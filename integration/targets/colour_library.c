/* SPDX-License-Identifier: Apache-2.0 */
/* The same as a shared object, for reload.c. */
#include "baited.h"
