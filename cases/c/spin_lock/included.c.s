        .text
taken:  mov $1, %eax
        xchg %eax, word(%rip)
        ret
give:   movl $0, word(%rip)
        ret
        .bss
        .align 4
word:   .long 0
        .text
