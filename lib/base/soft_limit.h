/* SPDX-License-Identifier: Apache-2.0 */
/** Soft limits of this process's resources, which it may raise up to the hard ones. */
#ifndef LIB_BASE_SOFT_LIMIT_H
#define LIB_BASE_SOFT_LIMIT_H

/** Raises the soft limit of @resource (RLIMIT_...) to the hard one, as far as that is possible. */
void soft_limit_raise(int resource);

#endif
