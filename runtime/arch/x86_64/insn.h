/*
 * insn: the instructions of x86-64 that somebody looks for: system calls and calls.
 */
#ifndef WEFT_ARCH_X86_64_INSN_H
#define WEFT_ARCH_X86_64_INSN_H

enum {
	INSN_SYSCALL = 2,     /* bytes of a system call's instruction */
	INSN_CALL_MAX = 7,    /* of the longest call that is told from other instructions */
	INSN_CALL_DIRECT = 5, /* of a call to an address that the instruction holds */
};

static inline bool insn_is_syscall(const void *pc)
{
	const unsigned char *text = pc;

	return text[0] == 0x0f && text[1] == 0x05;
}

/*
 * The INSN_CALL_DIRECT bytes before back, which lie at text: where a direct call that they are goes;
 * 0: they are none.
 */
static inline uintptr_t insn_call_target(const void *text, uintptr_t back)
{
	int32_t distance;

	if (*(const unsigned char *)text != 0xe8)
		return 0;
	memcpy(&distance, (const unsigned char *)text + 1, sizeof(distance));
	return back + (uintptr_t)(intptr_t)distance;
}

/* Do the INSN_CALL_MAX bytes at text end with an indirect call? */
static inline bool insn_call_indirect(const unsigned char *text)
{
	/* ff /2, by its length: the addressing mode must need exactly the bytes that follow. */
	for (int n = 2; n <= INSN_CALL_MAX; n++) {
		const unsigned char *at = text + INSN_CALL_MAX - n;
		unsigned char mode = at[1] >> 6, rm = at[1] & 7;
		int need = 2;

		if (at[0] != 0xff || ((at[1] >> 3) & 7) != 2)
			continue;
		if (mode != 3 && rm == 4)
			need += n > 2 && mode == 0 && (at[2] & 7) == 5 ? 5 : 1;
		if (mode == 1)
			need += 1;
		else if (mode == 2 || (mode == 0 && rm == 5))
			need += 4;
		if (need == n)
			return true;
	}
	return false;
}

#endif
