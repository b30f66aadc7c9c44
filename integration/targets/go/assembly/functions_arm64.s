// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

TEXT ·leaf(SB), NOSPLIT, $0-16
	MOVD	n+0(FP), R0
again:
	SUB	$1, R0
	CBNZ	R0, again
	MOVD	R0, ret+8(FP)
	RET

TEXT ·framed(SB), 0, $72-16
	MOVD	n+0(FP), R0
	MOVD	R0, 8(RSP)
	CALL	·spin(SB)
	MOVD	16(RSP), R0
	MOVD	R0, ret+8(FP)
	RET

TEXT ·pushes(SB), 0, $40-16
	MOVD	n+0(FP), R0
	MOVD	R0, 8(RSP)
	CALL	·framed(SB)
	MOVD	16(RSP), R0
	MOVD	R0, ret+8(FP)
	RET
