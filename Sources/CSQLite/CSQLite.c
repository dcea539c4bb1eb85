#define _POSIX_C_SOURCE 200809L
#include "CSQLite.h"
#include <stdint.h>
#include <string.h>
#include <time.h>

int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text ? text : "", count, SQLITE_TRANSIENT);
}

int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes ? bytes : "", count, SQLITE_TRANSIENT);
}

/* sqlite3_busy_timeout sleeps 1, 2, 5, 10, ... 100 ms: with another process that commits without a pause it waits for
   seconds. Random sleeps of 0.1 to 1 ms give equal shares. The value of the context pointer is the limit in
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

/* Our databases have only tables: everything else is switched off. */
int csqlite_harden(sqlite3 *database) {
    static const int settings[][2] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 0},    {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    };
    for (size_t index = 0; index < sizeof settings / sizeof *settings; index++) {
        int code = sqlite3_db_config(database, settings[index][0], settings[index][1], (int *)0);
        if (code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
}

int csqlite_set_checkpoints_on_close(sqlite3 *database, bool checkpoints) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, checkpoints ? 0 : 1, (int *)0);
}

/* One-to-one in the word, so that a single damaged word is always detected. */
static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t mix_value(uint64_t hash, sqlite3_value *value) {
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL) return mix(hash, (uint64_t)type << 56);
    if (type == SQLITE_INTEGER) return mix(mix(hash, (uint64_t)type << 56), (uint64_t)sqlite3_value_int64(value));
    /* We store no reals; the text of one is enough to tell it from other values. */
    const unsigned char *bytes =
        type == SQLITE_BLOB ? sqlite3_value_blob(value) : sqlite3_value_text(value);
    size_t count = bytes ? (size_t)sqlite3_value_bytes(value) : 0;
    hash = mix(hash, (uint64_t)type << 56 | count);
    for (size_t offset = 0; offset < count; offset += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + offset, count - offset < 8 ? count - offset : 8);
        hash = mix(hash, word);
    }
    return hash;
}

static void row_check(sqlite3_context *context, int count, sqlite3_value **values) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int index = 0; index < count; index++) hash = mix_value(hash, values[index]);
    sqlite3_result_int64(context, (sqlite3_int64)(hash ? hash : 1));
}

int csqlite_add_row_check(sqlite3 *database) {
    int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    return sqlite3_create_function_v2(database, "row_check", -1, flags, 0, row_check, 0, 0, 0);
}
