/* What Swift cannot say of SQLite's interface: macros that are casts, variadic functions, and a busy handler in C. */
#ifndef CSQLITE_H
#define CSQLITE_H
#include <sqlite3.h>
#include <stdbool.h>
#pragma clang assume_nonnull begin

/* sqlite3_bind_text and _blob with SQLITE_TRANSIENT, a cast of -1 to a function pointer. A null
   pointer is an empty value. */
int csqlite_bind_text(sqlite3_stmt *statement, int index, const char *_Nullable text, int count);
int csqlite_bind_blob(sqlite3_stmt *statement, int index, const void *_Nullable bytes, int count);
/* Waits for locks with short random sleeps, at most so long. */
int csqlite_set_busy_limit(sqlite3 *database, int limit_milliseconds);
/* SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE: sqlite3_db_config is variadic. */
int csqlite_set_checkpoints_on_close(sqlite3 *database, bool checkpoints);
/* Gives SQL the function row_check(value, ...): a checksum of the values and their types, never 0. */
int csqlite_add_row_check(sqlite3 *database);

#pragma clang assume_nonnull end
#endif
