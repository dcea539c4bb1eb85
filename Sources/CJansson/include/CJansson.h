#pragma once
// Things that Swift cannot import from jansson.h: macros, and names that are both a type and a function.
#include <jansson.h>

#pragma clang assume_nonnull begin

/// json_error_code is both an enum and an inline function; Swift sees only one of them.
static inline int cjansson_error_code(const json_error_t *error) {
    return (int)json_error_code(error);
}

/// json_typeof is a macro.
static inline json_type cjansson_type(const json_t *value) {
    return json_typeof(value);
}

/// json_decref under a clearer name: it frees the value of the last owner.
static inline void cjansson_release(json_t *value) {
    json_decref(value);
}

#pragma clang assume_nonnull end
