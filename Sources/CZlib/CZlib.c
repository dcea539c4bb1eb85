#include "CZlib.h"
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

static z_stream *stream(czlib_inflation *inflation) { return (z_stream *)inflation; }

static int window_bits(czlib_format format) {
    switch (format) {
    case CZLIB_GZIP: return 16 + MAX_WBITS;
    case CZLIB_ZLIB: return MAX_WBITS;
    case CZLIB_RAW: return -MAX_WBITS;
    }
    return 16 + MAX_WBITS;
}

czlib_inflation *czlib_inflation_new(czlib_format format) {
    z_stream *made = calloc(1, sizeof *made);
    if (made && inflateInit2(made, window_bits(format)) != Z_OK) {
        free(made);
        made = NULL;
    }
    return (czlib_inflation *)made;
}

static uInt clamped(size_t count) { return count > UINT_MAX ? UINT_MAX : (uInt)count; }

czlib_state czlib_inflate(
    czlib_inflation *inflation, const void *input, size_t *input_count, void *output, size_t *output_count
) {
    static const unsigned char nothing[1];
    z_stream *it = stream(inflation);
    uInt given = clamped(*input_count), room = clamped(*output_count);
    it->next_in = (z_const Bytef *)(input ? input : nothing);
    it->avail_in = given;
    it->next_out = output;
    it->avail_out = room;
    int code = inflate(it, Z_NO_FLUSH);
    *input_count = given - it->avail_in;
    *output_count = room - it->avail_out;
    /* Do not keep pointers to the caller's memory. */
    it->next_in = NULL;
    it->next_out = NULL;
    it->avail_in = it->avail_out = 0;
    switch (code) {
    case Z_OK:
    case Z_BUF_ERROR: return CZLIB_GOES_ON;
    case Z_STREAM_END: return CZLIB_ENDED;
    case Z_MEM_ERROR: return CZLIB_NO_MEMORY;
    default: return CZLIB_DAMAGED;
    }
}

void czlib_inflation_reset(czlib_inflation *inflation) { inflateReset(stream(inflation)); }

void czlib_inflation_free(czlib_inflation *inflation) {
    inflateEnd(stream(inflation));
    free(inflation);
}
