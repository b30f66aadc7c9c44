# SPDX-License-Identifier: Apache-2.0
# x86-64 assembly as people write it by hand: frames without any call frame information. It stands
# for what libraries of cryptography and language runtimes are full of.
#
# chain: START main > outer middle leaf
	.text

	.type leaf, @function
leaf:
	subq $264, %rsp
	movq %rdi, (%rsp)
	movl $40, %ecx
1:	addq %rcx, (%rsp)
	decl %ecx
	jnz 1b
	movq (%rsp), %rax
	addq $264, %rsp
	ret
	.size leaf, . - leaf

	.type middle, @function
middle:
	pushq %rbx
	pushq %r12
	subq $24, %rsp
	movq %rdi, %rbx
	call leaf
	movq %rax, %r12
	testq $1, %rbx
	jz 1f
	movq %r12, %rdi
	call leaf
	addq %rax, %r12
1:	leaq (%r12,%rbx), %rax
	addq $24, %rsp
	popq %r12
	popq %rbx
	ret
	.size middle, . - middle

	.type outer, @function
outer:
	pushq %rbp
	movq %rsp, %rbp
	andq $-64, %rsp
	subq $128, %rsp
	movq %rdi, 8(%rsp)
	call middle
	movq 8(%rsp), %rdi
	incq %rdi
	call middle
	leave
	ret
	.size outer, . - outer

	# So much code that the agent looks for names of functions.
	.p2align 10
	.globl main
	.type main, @function
main:
	pushq %rbx
	xorl %ebx, %ebx
	movl $1, %edi
	leaq text(%rip), %rsi
	movl $6, %edx
	movl $1, %eax
	syscall
1:	movq %rbx, %rdi
	call outer
	incq %rbx
	jmp 1b
	.size main, . - main

	.section .rodata
text:	.ascii "ready\n"
	.section .note.GNU-stack,"",@progbits
