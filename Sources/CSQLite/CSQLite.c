#define _POSIX_C_SOURCE 200809L
#include "CSQLite.h"
#include <stdint.h>
#include <time.h>

int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text ? text : "", count, SQLITE_TRANSIENT);
}

int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

/* sqlite3_busy_timeout sleeps 1, 2, 5, 10, ... 100 ms: beside a neighbour that commits back to back it starves
   for seconds. Sleeping 0.1 to 1 ms at random gives even shares. The limit is the context pointer's value, in
   milliseconds. */
static int wait_shortly(void *context, int count) {
    static _Thread_local uint32_t seed;
    static _Thread_local struct timespec first;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (count == 0) first = now;
    int64_t waited = (int64_t)(now.tv_sec - first.tv_sec) * 1000 + (now.tv_nsec - first.tv_nsec) / 1000000;
    if (waited >= (intptr_t)context) return 0;
    if (!seed) seed = (uint32_t)now.tv_nsec ^ (uint32_t)(uintptr_t)&seed ^ 1;
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    struct timespec pause = {0, 100000 + seed % 900000};
    nanosleep(&pause, 0);
    return 1;
}

int csqlite_set_busy_limit(sqlite3 *database, int limit_milliseconds) {
    return sqlite3_busy_handler(database, wait_shortly, (void *)(intptr_t)limit_milliseconds);
}

int csqlite_set_checkpoints_on_close(sqlite3 *database, bool checkpoints) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, checkpoints ? 0 : 1, (int *)0);
}
