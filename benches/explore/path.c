// A path as long as its input: a branch on each byte, and a sum over all of them. The last branch can be turned in one way.
#include <stdio.h>

static unsigned char text[1 << 16];

int main(void)
{
    size_t length = fread(text, 1, sizeof text, stdin);
    unsigned upper = 0, sum = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < 'a') upper++;
        sum += text[i];
    }
    printf("%u\n", upper);
    return sum == 12345;
}
