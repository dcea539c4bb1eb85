#define _GNU_SOURCE
#include "CPlatform.h"
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int cplatform_network_watch(void) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0) return -1;
    struct sockaddr_nl groups = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE
            | RTMGRP_IPV4_RULE | 1u << (RTNLGRP_IPV6_RULE - 1),
    };
    if (bind(fd, (struct sockaddr *)&groups, sizeof groups) == 0) return fd;
    close(fd);
    return -1;
}
bool cplatform_drain(int fd) {
    char some[4096];
    bool any = false;
    while (true) {
        ssize_t count = recv(fd, some, sizeof some, MSG_DONTWAIT | MSG_TRUNC);
        if (count > 0 || (count < 0 && errno == ENOBUFS)) any = true;
        else if (count == 0 || errno != EINTR) return any;
    }
}
static bool is_same(const struct sockaddr *one, const struct sockaddr *other) {
    if (one->sa_family != other->sa_family) return false;
    if (one->sa_family == AF_INET) {
        return ((const struct sockaddr_in *)one)->sin_addr.s_addr == ((const struct sockaddr_in *)other)->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)one, *other_six = (const struct sockaddr_in6 *)other;
    return six->sin6_scope_id == other_six->sin6_scope_id
        && memcmp(&six->sin6_addr, &other_six->sin6_addr, sizeof six->sin6_addr) == 0;
}
/* True when the interface that packets to peer leave from, found by its address, is up and running: a route remains
   when its link loses the carrier. Also true when no interface has the address, and when peer is this machine. */
static int is_running(const struct sockaddr *own, const struct sockaddr *peer) {
    struct ifaddrs *all = NULL;
    if (is_same(own, peer) || getifaddrs(&all) != 0) return 1;
    int running = -1;
    bool is_here = false;
    for (struct ifaddrs *each = all; each; each = each->ifa_next) {
        if (!each->ifa_addr) continue;
        /* For two addresses in one network, the first may be the source address for the second. */
        if (is_same(peer, each->ifa_addr) && (each->ifa_flags & IFF_UP)) is_here = true;
        if (running == 1 || !is_same(own, each->ifa_addr)) continue;
        running = (each->ifa_flags & IFF_UP) && (each->ifa_flags & IFF_RUNNING);
    }
    freeifaddrs(all);
    return is_here || running != 0;
}
/* The errors that mean no route leads there; the last two are those of blackhole and prohibit routes. */
static bool is_no_route(int error, const struct sockaddr *peer) {
    switch (error) {
    case ENETUNREACH: case EHOSTUNREACH: case ENETDOWN: case EADDRNOTAVAIL: case EACCES: return true;
    case EINVAL: {
        /* Also the error for a link-local address without its interface. */
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)peer;
        return peer->sa_family != AF_INET6 || !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) || six->sin6_scope_id != 0;
    }
    default: return false;
    }
}
int cplatform_has_route(const void *address, size_t count) {
    const struct sockaddr *peer = address;
    int fd = socket(peer->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno == EAFNOSUPPORT ? 0 : -1;
    /* Without it a broadcast address fails with EACCES, which does not concern routes. */
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
    int result = -1;
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    /* For a datagram socket this only looks up the route. */
    if (connect(fd, peer, (socklen_t)count) == 0) {
        if (getsockname(fd, (struct sockaddr *)&own, &length) == 0) result = is_running((struct sockaddr *)&own, peer);
    } else if (is_no_route(errno, peer)) {
        result = 0;
    }
    close(fd);
    return result;
}
int64_t cplatform_suspended_time(void) {
    struct timespec awake, all;
    if (clock_gettime(CLOCK_MONOTONIC, &awake) != 0 || clock_gettime(CLOCK_BOOTTIME, &all) != 0) return 0;
    return (int64_t)(all.tv_sec - awake.tv_sec) * 1000000000 + (all.tv_nsec - awake.tv_nsec);
}
