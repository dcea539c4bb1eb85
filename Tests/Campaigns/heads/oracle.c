/*
 * How libcurl reads a response: the bytes that it delivers, the status, and whether it sees the end while the
 * connection is still open. The response is sent over a Unix socket, piece by piece, so that nothing depends on time.
 * All options that affect how a response is read are set as in the service.
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* After this many turns without input, libcurl is considered to wait for more. */
#define IDLE_TURNS 3
/* The request must arrive within this many turns of at most a millisecond. */
#define REQUEST_TURNS 5000

struct verdict {
    /* The result code of libcurl, after the end of the connection if necessary. */
    int code;
    /* 1 if libcurl finished while the connection was still open. */
    int is_end_seen;
    long status;
    long http_version;
    /* Freed by oracle_free. */
    unsigned char *body;
    size_t body_length;
    unsigned char *head;
    size_t head_length;
    char error[CURL_ERROR_SIZE];
};

struct bytes {
    unsigned char *data;
    size_t length, capacity;
};

struct run {
    CURLM *multi;
    CURL *easy;
    /* The socket of libcurl, our end of it, and the listening socket. */
    int theirs, ours, listener;
    char name[sizeof(((struct sockaddr_un *)0)->sun_path)];
    int is_done;
    CURLcode code;
    struct bytes body, head;
};

static size_t append(const char *data, size_t size, size_t count, struct bytes *to)
{
    size_t length = size * count;
    if (to->capacity - to->length < length) {
        size_t capacity = (to->length + length) * 2;
        unsigned char *grown = realloc(to->data, capacity);
        if (!grown) return 0;
        to->data = grown;
        to->capacity = capacity;
    }
    memcpy(to->data + to->length, data, length);
    to->length += length;
    return length;
}

static size_t take_body(char *data, size_t size, size_t count, void *run)
{
    return append(data, size, count, &((struct run *)run)->body);
}

static size_t take_line(char *data, size_t size, size_t count, void *run)
{
    return append(data, size, count, &((struct run *)run)->head);
}

static curl_socket_t open_socket(void *run_, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct run *run = run_;
    (void)purpose;
    /* Only once: a second connection would get no answer. */
    if (run->theirs >= 0) return CURL_SOCKET_BAD;
    run->theirs = socket(address->family, address->socktype, address->protocol);
    return run->theirs;
}

/* Listens under a name that the system chooses.  unix(7), "Autobind feature" */
static int listen_for(struct run *run)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length = sizeof address;
    run->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (run->listener < 0 || bind(run->listener, (struct sockaddr *)&address, sizeof(sa_family_t))) return -1;
    if (listen(run->listener, 1) || getsockname(run->listener, (struct sockaddr *)&address, &length)) return -1;
    /* The first byte of an abstract name is 0. */
    size_t name_length = length - offsetof(struct sockaddr_un, sun_path) - 1;
    memcpy(run->name, address.sun_path + 1, name_length);
    run->name[name_length] = 0;
    return 0;
}

static int set_options(struct run *run, struct curl_slist *fields, const char *range, char *error)
{
    CURL *easy = run->easy;
    int failed = 0;
#define SET(option, value) failed |= curl_easy_setopt(easy, option, value) != CURLE_OK
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_NOPROGRESS, 1L);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(CURLOPT_URL, "http://127.0.0.1/file");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_FAILONERROR, 0L);
    SET(CURLOPT_HTTP_CONTENT_DECODING, 0L);
    SET(CURLOPT_HTTP09_ALLOWED, 0L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_HTTPHEADER, fields);
    if (range) SET(CURLOPT_RANGE, range);
    SET(CURLOPT_ERRORBUFFER, error);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, run);
    SET(CURLOPT_ABSTRACT_UNIX_SOCKET, run->name);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, run);
    SET(CURLOPT_HEADERFUNCTION, take_line);
    SET(CURLOPT_HEADERDATA, run);
#undef SET
    return failed ? -1 : 0;
}

static int turn(struct run *run)
{
    int running = 0, left = 0;
    if (curl_multi_perform(run->multi, &running) != CURLM_OK) return -1;
    CURLMsg *message;
    while ((message = curl_multi_info_read(run->multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        run->is_done = 1;
        run->code = message->data.result;
    }
    return 0;
}

/* Returns when libcurl has read everything or has finished. */
static int turn_until_idle(struct run *run)
{
    for (int idle = 0; !run->is_done && idle < IDLE_TURNS;) {
        int unread = 0;
        if (turn(run)) return -1;
        if (!run->is_done && ioctl(run->theirs, FIONREAD, &unread)) return -1;
        idle = unread ? 0 : idle + 1;
    }
    return 0;
}

/* Returns when the request has arrived. */
static int turn_until_asked(struct run *run)
{
    char request[4096];
    size_t length = 0;
    for (int turns = 0; turns < REQUEST_TURNS && !run->is_done; turns++) {
        if (turn(run)) return -1;
        if (run->ours < 0) run->ours = accept4(run->listener, NULL, NULL, SOCK_NONBLOCK);
        ssize_t count = recv(run->ours, request + length, sizeof request - length, MSG_DONTWAIT);
        if (count > 0) length += (size_t)count;
        if (memmem(request, length, "\r\n\r\n", 4)) return 0;
        if (count < 0) curl_multi_poll(run->multi, NULL, 0, 1, NULL);
    }
    return -1;
}

static int send_piece(struct run *run, const unsigned char *piece, size_t length)
{
    while (length && !run->is_done) {
        ssize_t count = send(run->ours, piece, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) {
            piece += count;
            length -= (size_t)count;
        } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
            return -1;
        }
        if (turn_until_idle(run)) return -1;
    }
    return 0;
}

static int converse(struct run *run, const unsigned char *data, const size_t *lengths, size_t count)
{
    if (turn_until_asked(run)) return -1;
    for (size_t index = 0; index < count; data += lengths[index++])
        if (send_piece(run, data, lengths[index])) return -1;
    return turn_until_idle(run);
}

/* Sends a response of `count` pieces, contiguous in `data`. Returns 0, or another value if the test itself failed. */
int oracle_judge(const unsigned char *data, const size_t *lengths, size_t count, const char *range,
                 struct verdict *verdict)
{
    struct run run = {.theirs = -1, .ours = -1, .listener = -1};
    struct curl_slist *fields = curl_slist_append(NULL, "Accept-Encoding: identity");
    memset(verdict, 0, sizeof *verdict);
    int status = -1;
    if (listen_for(&run)) goto end;
    run.multi = curl_multi_init();
    run.easy = curl_easy_init();
    if (!fields || !run.multi || !run.easy || set_options(&run, fields, range, verdict->error)) goto end;
    if (curl_multi_add_handle(run.multi, run.easy) != CURLM_OK) goto end;
    if (converse(&run, data, lengths, count)) goto remove;
    verdict->is_end_seen = run.is_done;
    if (!run.is_done && (shutdown(run.ours, SHUT_WR) || turn_until_idle(&run) || !run.is_done)) goto remove;
    verdict->code = (int)run.code;
    curl_easy_getinfo(run.easy, CURLINFO_RESPONSE_CODE, &verdict->status);
    curl_easy_getinfo(run.easy, CURLINFO_HTTP_VERSION, &verdict->http_version);
    status = 0;
remove:
    curl_multi_remove_handle(run.multi, run.easy);
end:
    if (run.easy) curl_easy_cleanup(run.easy);
    if (run.multi) curl_multi_cleanup(run.multi);
    curl_slist_free_all(fields);
    if (run.ours >= 0) close(run.ours);
    if (run.listener >= 0) close(run.listener);
    verdict->body = run.body.data;
    verdict->body_length = run.body.length;
    verdict->head = run.head.data;
    verdict->head_length = run.head.length;
    return status;
}

void oracle_free(struct verdict *verdict)
{
    free(verdict->body);
    free(verdict->head);
}
