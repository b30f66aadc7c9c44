// SPDX-License-Identifier: Apache-2.0
// Go compiles functions without a body only beside assembly.
