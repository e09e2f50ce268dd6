/* A boot sector: it starts the other three CPUs, each adds a million under a lock, and the sum goes to port 0xe9. */
.code16
.globl _start
_start: cli; xor %ax,%ax; mov %ax,%ds; mov %ax,%ss; mov $0x7000,%sp
 lgdt gdtr; mov %cr0,%eax; or $1,%al; mov %eax,%cr0; ljmp $8,$pm
.code32
pm: mov $16,%ax; mov %ax,%ds; mov %ax,%es; mov %ax,%ss
 cld; mov $ap,%esi; mov $0x8000,%edi; mov $(apend-ap),%ecx; rep movsb
 movl $0,0x9000; movl $0,0x9004; movl $0,0x9008
 mov $0xfee00000,%ebx; movl $0x1ff,0xf0(%ebx)
 movl $0xc4500,0x300(%ebx); mov $20000000,%ecx
1: loop 1b
 movl $0xc4608,0x300(%ebx)
 mov $3,%edx
2: pause; cmp %edx,0x9004; jb 2b
 mov 0x9000,%eax; mov $8,%ecx
3: rol $4,%eax; push %eax; and $15,%al; add $'0',%al; cmp $'9',%al; jbe 4f; add $39,%al
4: mov $0xe9,%dx; out %al,%dx; pop %eax; loop 3b
 mov $10,%al; out %al,%dx
 mov $0,%al; mov $0xf4,%dx; out %al,%dx
 hlt
.code16
ap: cli; xor %ax,%ax; mov %ax,%ds; mov $1000000,%ecx
5: mov $1,%eax
6: xchg %eax,0x9008; test %eax,%eax; jz 7f; pause; mov $1,%eax; jmp 6b
7: incl 0x9000; movl $0,0x9008; addr32 loop 5b
 lock incl 0x9004
8: hlt; jmp 8b
apend:
.align 8
gdt: .quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
gdtr: .word 23; .long gdt
.org 510
.word 0xaa55
