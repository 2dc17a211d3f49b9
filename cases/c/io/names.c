//@ expect: none
// Names of files as locks: whoever makes one excludes the others, by link, symlink, mkdir and rename.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int a, b, c, d;

static void *adds(void *p)
{
    while (link("there", "link"))
        usleep(10);
    a++; // MAY(hunt:a) names as locks are not predicted
    unlink("link");
    while (symlink("there", "symlink"))
        usleep(10);
    b++; // MAY(hunt:b) names as locks are not predicted
    unlink("symlink");
    while (mkdir("directory", 0700))
        usleep(10);
    c++; // MAY(hunt:c) names as locks are not predicted
    rmdir("directory");
    while (rename("there", "away"))
        usleep(10);
    d++; // MAY(hunt:d) names as locks are not predicted
    rename("away", "there");
    return p;
}

int main(void)
{
    pthread_t t, u;
    close(open("there", O_CREAT | O_RDWR, 0600));
    pthread_create(&t, 0, adds, 0);
    pthread_create(&u, 0, adds, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    unlink("there");
    return a == 2 && b == 2 && c == 2 && d == 2 ? 0 : 1;
}
