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
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE,
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
/* The interface that has the address is up and running: a route outlives its link's carrier. 1 when none has it. */
static int is_running(const struct sockaddr_storage *own) {
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0) return 1;
    int result = 1;
    for (struct ifaddrs *each = all; each; each = each->ifa_next) {
        if (!each->ifa_addr || each->ifa_addr->sa_family != own->ss_family) continue;
        bool same = own->ss_family == AF_INET
            ? ((const struct sockaddr_in *)own)->sin_addr.s_addr
                == ((const struct sockaddr_in *)each->ifa_addr)->sin_addr.s_addr
            : memcmp(&((const struct sockaddr_in6 *)own)->sin6_addr,
                  &((const struct sockaddr_in6 *)each->ifa_addr)->sin6_addr, sizeof(struct in6_addr)) == 0;
        if (!same) continue;
        result = (each->ifa_flags & IFF_UP) && (each->ifa_flags & IFF_RUNNING);
        if (result) break;
    }
    freeifaddrs(all);
    return result;
}
int cplatform_has_route(const void *address, size_t count) {
    const struct sockaddr *peer = address;
    int fd = socket(peer->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno == EAFNOSUPPORT ? 0 : -1;
    int result = -1;
    struct sockaddr_storage own;
    socklen_t length = sizeof own;
    /* Of a datagram socket this only looks the route up. */
    if (connect(fd, peer, (socklen_t)count) == 0) {
        if (getsockname(fd, (struct sockaddr *)&own, &length) == 0) result = is_running(&own);
    } else if (errno == ENETUNREACH || errno == EHOSTUNREACH || errno == ENETDOWN || errno == EADDRNOTAVAIL) {
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
