// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

TEXT ·leaf(SB), NOSPLIT, $0-16
	MOVQ	n+0(FP), AX
again:
	DECQ	AX
	JNZ	again
	MOVQ	AX, ret+8(FP)
	RET

TEXT ·framed(SB), 0, $72-16
	MOVQ	n+0(FP), AX
	MOVQ	AX, 0(SP)
	CALL	·spin(SB)
	MOVQ	8(SP), AX
	MOVQ	AX, ret+8(FP)
	RET

TEXT ·pushes(SB), 0, $24-16
	MOVQ	n+0(FP), AX
	PUSHQ	AX
	PUSHQ	AX
	ADJSP	$32
	MOVQ	AX, 0(SP)
	CALL	·framed(SB)
	MOVQ	8(SP), AX
	ADJSP	$-32
	POPQ	BX
	POPQ	BX
	MOVQ	AX, ret+8(FP)
	RET
