// SPDX-License-Identifier: Apache-2.0
// What programs of arm64 return from signals by, where the kernel has it in the vDSO; qemu-user has a page of
// its own for it, with nothing before.
	.text
	.balign	4096
	.fill	1024, 4, 0xd503201f
	.globl	__kernel_rt_sigreturn
	.type	__kernel_rt_sigreturn, %function
__kernel_rt_sigreturn:
	mov	x8, #139
	svc	#0
	.size	__kernel_rt_sigreturn, . - __kernel_rt_sigreturn
