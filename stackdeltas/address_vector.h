/* SPDX-License-Identifier: Apache-2.0 */
/** Growing arrays of ELF virtual addresses. */
#ifndef STACKDELTAS_ADDRESS_VECTOR_H
#define STACKDELTAS_ADDRESS_VECTOR_H

#include <stdint.h>

#include "lib/base/vector.h"

VECTOR_DEFINE(address_vector, uint64_t)

#endif
