// Runs Lua scripts, each in a thread and a state of its own; what they share is a table of numbers and a queue of strings.
//   lua_workers [-u] SCRIPT...    share.get(key), share.add(key, n), share.put(text), share.take(); -u: adds without the lock
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lualib.h"

enum { KEYS = 16, SLOTS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { char name[16]; double value; } table[KEYS];
static char *slots[SLOTS];
static int used, unlocked, failures;

static double *value_of(const char *name)
{
    int i = 0;
    while (i < KEYS - 1 && table[i].name[0] && strcmp(table[i].name, name))
        i++;
    if (!table[i].name[0])
        snprintf(table[i].name, sizeof table[i].name, "%s", name);
    return &table[i].value;
}

static int share_get(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    pthread_mutex_lock(&lock);
    double value = *value_of(name);
    pthread_mutex_unlock(&lock);
    lua_pushnumber(L, value);
    return 1;
}

static int share_add(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    double by = luaL_optnumber(L, 2, 1);
    if (unlocked) {
        *value_of(name) += by;
        return 0;
    }
    pthread_mutex_lock(&lock);
    *value_of(name) += by;
    pthread_mutex_unlock(&lock);
    return 0;
}

static int share_put(lua_State *L)
{
    const char *text = luaL_checkstring(L, 1);
    pthread_mutex_lock(&lock);
    if (used < SLOTS)
        slots[used++] = strdup(text);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int share_take(lua_State *L)
{
    pthread_mutex_lock(&lock);
    char *text = used ? slots[--used] : NULL;
    pthread_mutex_unlock(&lock);
    if (!text)
        return 0;
    lua_pushstring(L, text);
    free(text);
    return 1;
}

static void *run_script(void *script)
{
    static const luaL_Reg share[] = {
        {"get", share_get}, {"add", share_add}, {"put", share_put}, {"take", share_take}, {NULL, NULL}};
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    luaL_newlib(L, share);
    lua_setglobal(L, "share");
    if (luaL_dofile(L, script)) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
        failures++;
    }
    lua_close(L);
    return NULL;
}

int main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "u")) != -1;)
        unlocked = 1;
    pthread_t thread[16];
    int scripts = argc - optind < 16 ? argc - optind : 16;
    for (int i = 0; i < scripts; i++)
        pthread_create(&thread[i], NULL, run_script, argv[optind + i]);
    for (int i = 0; i < scripts; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < used; i++)
        free(slots[i]);
    return failures != 0;
}
