#define _GNU_SOURCE
#include "CSQLite.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* SQLite reads and writes its WAL index in memory that is mapped from NAME-shm. If that file was cut short, or its disk
   fails or is full, the kernel sends SIGBUS. The method table of each connection's file is replaced here, to note what
   SQLite maps; a fault in such memory replaces the missing page with zeros. */

/* Each maps 32 KiB, the index of 4,096 pages of the log. */
enum { GUARD_COUNT = 64, REGION_COUNT = 1024 };

struct csqlite_guard {
    /* Must be first: a file's method table is also the address of its guard. */
    sqlite3_io_methods methods;
    const sqlite3_io_methods *original;
    atomic_bool is_used, is_cut;
    atomic_int region_count;
    atomic_size_t region_size;
    _Atomic(uintptr_t) regions[REGION_COUNT];
};

/* Never freed: the signal handler may read any of them. */
static csqlite_guard guards[GUARD_COUNT];
static struct sigaction earlier;
static uintptr_t page_size;

static bool note_cut(uintptr_t address) {
    bool is_found = false;
    for (int index = 0; index < GUARD_COUNT; index++) {
        csqlite_guard *guard = &guards[index];
        int count = atomic_load(&guard->region_count);
        size_t size = atomic_load(&guard->region_size);
        for (int region = 0; region < count; region++) {
            uintptr_t start = atomic_load(&guard->regions[region]);
            if (start == 0 || address < start || address - start >= size) continue;
            atomic_store(&guard->is_cut, true);
            is_found = true;
        }
    }
    return is_found;
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    (void)context;
    int saved = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    if (note_cut(address)) {
        void *page = (void *)(address & ~(page_size - 1));
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        if (mmap(page, page_size, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED) {
            errno = saved;
            return;
        }
    }
    /* Not ours: the access is repeated and now ends as it would without this handler. */
    sigaction(number, &earlier, NULL);
    errno = saved;
}

static void install(void) {
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &earlier);
}

static csqlite_guard *guard_of(sqlite3_file *file) { return (csqlite_guard *)(uintptr_t)file->pMethods; }

static int map(sqlite3_file *file, int region, int size, int extends, void volatile **memory) {
    csqlite_guard *guard = guard_of(file);
    if (region >= REGION_COUNT) return SQLITE_IOERR_SHMMAP;
    int code = guard->original->xShmMap(file, region, size, extends, memory);
    if (*memory == NULL) return code;
    atomic_store(&guard->region_size, (size_t)size);
    atomic_store(&guard->regions[region], (uintptr_t)*memory);
    if (region >= atomic_load(&guard->region_count)) atomic_store(&guard->region_count, region + 1);
    return code;
}

static void forget(csqlite_guard *guard) {
    int count = atomic_exchange(&guard->region_count, 0);
    for (int region = 0; region < count; region++) atomic_store(&guard->regions[region], 0);
}

static int unmap(sqlite3_file *file, int deletes) {
    csqlite_guard *guard = guard_of(file);
    forget(guard);
    return guard->original->xShmUnmap(file, deletes);
}

static int close_file(sqlite3_file *file) {
    csqlite_guard *guard = guard_of(file);
    forget(guard);
    file->pMethods = guard->original;
    int code = file->pMethods->xClose(file);
    atomic_store(&guard->is_used, false);
    return code;
}

csqlite_guard *csqlite_guard_new(sqlite3 *database) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return NULL;
    if (file == NULL || file->pMethods == NULL || file->pMethods->iVersion < 2) return NULL;
    pthread_once(&once, install);
    /* If the host has left SIGBUS blocked, a fault would end the process. */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    for (int index = 0; index < GUARD_COUNT; index++) {
        csqlite_guard *guard = &guards[index];
        if (atomic_exchange(&guard->is_used, true)) continue;
        guard->original = file->pMethods;
        guard->methods = *file->pMethods;
        guard->methods.xShmMap = map;
        guard->methods.xShmUnmap = unmap;
        guard->methods.xClose = close_file;
        atomic_store(&guard->is_cut, false);
        file->pMethods = &guard->methods;
        return guard;
    }
    return NULL;
}

bool csqlite_guard_is_cut(const csqlite_guard *guard) { return atomic_load(&guard->is_cut); }

/* sqlite.org/walformat.html: the header is stored twice, in the machine's byte order. */
int64_t csqlite_guard_log_byte_count(const csqlite_guard *guard) {
    enum { IS_INITIALIZED = 12, PAGE_SIZE = 14, FRAME_COUNT = 16, HEADER_SIZE = 48, LOG_HEADER = 32, FRAME_HEADER = 24 };
    if (atomic_load(&guard->region_count) == 0) return 0;
    const volatile unsigned char *memory = (const volatile unsigned char *)atomic_load(&guard->regions[0]);
    uint32_t count = *(const volatile uint32_t *)(memory + FRAME_COUNT);
    uint32_t again = *(const volatile uint32_t *)(memory + HEADER_SIZE + FRAME_COUNT);
    uint16_t size = *(const volatile uint16_t *)(memory + PAGE_SIZE);
    if (!memory[IS_INITIALIZED] || count != again || count == 0) return 0;
    int64_t page = (size & 0xfe00) + ((int64_t)(size & 1) << 16);
    return LOG_HEADER + (int64_t)count * (FRAME_HEADER + page);
}

int64_t csqlite_guard_mapped_byte_count(const csqlite_guard *guard) {
    return (int64_t)atomic_load(&guard->region_count) * (int64_t)atomic_load(&guard->region_size);
}
