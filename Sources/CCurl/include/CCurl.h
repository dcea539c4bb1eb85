/* Typed, non-variadic access to libcurl: Swift cannot import variadic functions (setopt, getinfo). */
#ifndef CCURL_H
#define CCURL_H
#define CURL_STRICTER 1 /* CURL and CURLM become incomplete structs: distinct from each other and from contexts */
#define CURL_DISABLE_DEPRECATION 1
#include <curl/curl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define CCURL_MINIMUM_VERSION 0x075800
#if LIBCURL_VERSION_NUM < CCURL_MINIMUM_VERSION
#error "libcurl 7.88 or newer is needed (CURLU_PUNYCODE)"
#endif

#pragma clang assume_nonnull begin

/* What CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION take. */
typedef size_t (*ccurl_data_function)(char *data, size_t size, size_t count, void *_Nullable context);

/* What CURLOPT_DEBUGFUNCTION takes. */
typedef int (*ccurl_debug_function)(
    CURL *easy, curl_infotype type, char *_Nullable data, size_t size, void *_Nullable context);

/* The library loaded at run time may be older than the header we were built with. */
static inline bool ccurl_is_recent_enough(void) {
    return curl_version_info(CURLVERSION_NOW)->version_num >= CCURL_MINIMUM_VERSION;
}
static inline const char *_Nullable ccurl_version(void) { return curl_version_info(CURLVERSION_NOW)->version; }
/* The file of certificate authorities that libcurl was built to read; NULL if none. */
static inline const char *_Nullable ccurl_default_ca_file(void) { return curl_version_info(CURLVERSION_NOW)->cainfo; }

/* With a value of the wrong family libcurl would read stack garbage, so the family is checked. No assert: imported into
   Swift, it would also fire in release builds. */
#define CCURL_IS_FAMILY(option, low) ((unsigned)((option) - (low)) < 10000u)

static inline CURLcode ccurl_easy_setopt_long(CURL *easy, CURLoption option, long value) {
    if (!CCURL_IS_FAMILY(option, CURLOPTTYPE_LONG)) return CURLE_BAD_FUNCTION_ARGUMENT;
    return curl_easy_setopt(easy, option, value);
}
/* libcurl copies the string. */
static inline CURLcode ccurl_easy_setopt_string(CURL *easy, CURLoption option, const char *_Nullable value) {
    if (!CCURL_IS_FAMILY(option, CURLOPTTYPE_OBJECTPOINT)) return CURLE_BAD_FUNCTION_ARGUMENT;
    return curl_easy_setopt(easy, option, value);
}
/* libcurl keeps the list; it must outlive the handle. */
static inline CURLcode ccurl_easy_setopt_headers(CURL *easy, struct curl_slist *_Nullable list) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
}
/* libcurl keeps the buffer of CURL_ERROR_SIZE bytes; it must outlive the handle. */
static inline CURLcode ccurl_easy_setopt_error_buffer(CURL *easy, char *buffer) {
    return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, buffer);
}
/* The share must outlive the handle. No lock functions: one thread uses the share and all its handles. */
static inline CURLcode ccurl_easy_setopt_share(CURL *easy, CURLSH *share) {
    return curl_easy_setopt(easy, CURLOPT_SHARE, share);
}
static inline CURLSHcode ccurl_share_cookies(CURLSH *share) {
    return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
}
/* What CURLOPT_OPENSOCKETFUNCTION takes: returns a socket for the address, or CURL_SOCKET_BAD. */
typedef curl_socket_t (*ccurl_socket_function)(
    void *_Nullable context, curlsocktype purpose, struct curl_sockaddr *address
);
static inline CURLcode ccurl_easy_setopt_open_socket(CURL *easy, ccurl_socket_function open, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open);
    return code ? code : curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
}
/* The address has addrlen bytes, more than the struct sockaddr in its declaration. */
static inline const void *ccurl_address_bytes(struct curl_sockaddr *address) { return &address->addr; }
/* As libcurl does by default, plus SOCK_CLOEXEC. */
static inline curl_socket_t ccurl_open_socket(struct curl_sockaddr *address) {
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
/* Functions and their context are always set together. */
static inline CURLcode ccurl_easy_setopt_callbacks(
    CURL *easy, ccurl_data_function write, ccurl_data_function header, void *context
) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_PRIVATE, context);
    return code;
}
/* libcurl calls the function only with CURLOPT_VERBOSE; with a function set, nothing goes to stderr. */
static inline CURLcode ccurl_easy_setopt_debug(CURL *easy, ccurl_debug_function debug, void *context) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, debug);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_DEBUGDATA, context);
    if (!code) code = curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
    return code;
}
static inline void *_Nullable ccurl_easy_private(CURL *easy) {
    char *value = NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value);
    return value;
}
/* -1 when libcurl does not know the value or the family is wrong; also below. */
static inline long ccurl_easy_getinfo_long(CURL *easy, CURLINFO info) {
    long value = -1;
    if ((info & CURLINFO_TYPEMASK) != CURLINFO_LONG) return -1;
    return curl_easy_getinfo(easy, info, &value) ? -1 : value;
}
static inline curl_off_t ccurl_easy_getinfo_offset(CURL *easy, CURLINFO info) {
    curl_off_t value = -1;
    if ((info & CURLINFO_TYPEMASK) != CURLINFO_OFF_T) return -1;
    return curl_easy_getinfo(easy, info, &value) ? -1 : value;
}
/* The handle owns the string. */
static inline const char *_Nullable ccurl_easy_getinfo_string(CURL *easy, CURLINFO info) {
    char *value = NULL;
    if ((info & CURLINFO_TYPEMASK) != CURLINFO_STRING) return NULL;
    return curl_easy_getinfo(easy, info, &value) ? NULL : value;
}
/* CURLPAUSE_CONT is an expression, which Swift does not import. */
static inline CURLcode ccurl_easy_unpause(CURL *easy) { return curl_easy_pause(easy, CURLPAUSE_CONT); }

static inline CURLMcode ccurl_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
    if (!CCURL_IS_FAMILY(option, CURLOPTTYPE_LONG)) return CURLM_BAD_FUNCTION_ARGUMENT;
    return curl_multi_setopt(multi, option, value);
}
/* CURLMsg has a union: flatten it. */
typedef struct {
    bool is_done;
    CURL *_Nullable easy;
    CURLcode result;
} ccurl_message;
static inline ccurl_message ccurl_multi_next_message(CURLM *multi) {
    int left = 0;
    CURLMsg *_Nullable message = curl_multi_info_read(multi, &left);
    if (!message || message->msg != CURLMSG_DONE) return (ccurl_message){false, NULL, CURLE_OK};
    return (ccurl_message){true, message->easy_handle, message->data.result};
}
/* Waits for libcurl's sockets or wake_up_fd; true when wake_up_fd is readable. When libcurl cannot poll (out of memory
   or of descriptors), waits at most 50 ms for wake_up_fd alone, so that the caller neither spins nor misses it.
   other_fd: another descriptor that ends the wait, or -1. */
static inline bool ccurl_multi_poll(CURLM *multi, int wake_up_fd, int other_fd, int timeout_ms) {
    struct curl_waitfd extra[2] = {
        {.fd = wake_up_fd, .events = CURL_WAIT_POLLIN, .revents = 0},
        {.fd = other_fd, .events = CURL_WAIT_POLLIN, .revents = 0},
    };
    if (curl_multi_poll(multi, extra, other_fd < 0 ? 1 : 2, timeout_ms, NULL) == CURLM_OK) return extra[0].revents != 0;
    struct pollfd alone = {.fd = wake_up_fd, .events = POLLIN, .revents = 0};
    return poll(&alone, 1, timeout_ms < 50 ? timeout_ms : 50) > 0;
}

#pragma clang assume_nonnull end
#endif
