/* Parts of SQLite's API that Swift cannot use: macros that are casts, variadic functions, and a busy handler in C. */
#ifndef CSQLITE_H
#define CSQLITE_H
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#pragma clang assume_nonnull begin

/* sqlite3_bind_text and _blob with SQLITE_TRANSIENT, a cast of -1 to a function pointer. A null
   pointer is an empty value. */
int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *_Nullable text, int count);
int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *_Nullable bytes, int count);
/* Waits for locks with short random sleeps, up to the limit. */
int csqlite_set_busy_limit(sqlite3 *database, int limit_milliseconds);
/* SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE: sqlite3_db_config is variadic. */
int csqlite_set_checkpoints_on_close(sqlite3 *database, bool checkpoints);
/* Switches off triggers, views, extensions and other active parts of a schema: sqlite3_db_config. */
int csqlite_harden(sqlite3 *database);
/* Keeps the process alive when the database's mapped -shm file is cut short (SIGBUS): the missing part then reads as
   zeros in this connection, which must be closed. Null when there are too many connections. Call it on the thread that
   uses the connection. */
typedef struct csqlite_guard csqlite_guard;
csqlite_guard *_Nullable csqlite_guard_new(sqlite3 *database);
/* True after such a fault. */
bool csqlite_guard_is_cut(const csqlite_guard *guard);
/* The length the file must have for its mapped part. */
int64_t csqlite_guard_mapped_byte_count(const csqlite_guard *guard);
/* The length the log must have for the frames in its index; 0 when unknown. */
int64_t csqlite_guard_log_byte_count(const csqlite_guard *guard);
/* Adds the SQL function row_check(value, ...): a checksum of the values and their types, never 0. */
int csqlite_add_row_check(sqlite3 *database);

#pragma clang assume_nonnull end
#endif
