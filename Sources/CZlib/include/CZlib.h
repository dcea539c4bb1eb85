/* Decompression by zlib.  Own declarations: inflateInit2 is a macro, and Swift could move a z_stream. */
#ifndef CZLIB_H
#define CZLIB_H
#include <stddef.h>
#pragma clang assume_nonnull begin

/* A stream that is being inflated; a z_stream.  One thread at a time. */
typedef struct czlib_inflation czlib_inflation;

/* The format of the compressed bytes: RFC 1952, RFC 1950, or raw RFC 1951. */
typedef enum { CZLIB_GZIP, CZLIB_ZLIB, CZLIB_RAW } czlib_format;

/* Whether the stream needs more input, has ended, or is damaged (bad data or a wrong checksum). */
typedef enum { CZLIB_GOES_ON, CZLIB_ENDED, CZLIB_DAMAGED, CZLIB_NO_MEMORY } czlib_state;

/* NULL when memory is short. */
czlib_inflation *_Nullable czlib_inflation_new(czlib_format format);
/* inflate(): reads `input` and writes `output` as far as possible; sets both counts to the bytes used.
   It makes no progress only when it has too little of one of them. */
czlib_state czlib_inflate(
    czlib_inflation *inflation, const void *_Nullable input, size_t *input_count, void *output, size_t *output_count
);
/* inflateReset(): starts the next member of the same format. */
void czlib_inflation_reset(czlib_inflation *inflation);
void czlib_inflation_free(czlib_inflation *inflation);

#pragma clang assume_nonnull end
#endif
