/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <unistd.h>

/* Workers end by _exit(), for what stands in exit() is the daemon's; gcov's count stands there, too. Linked
 * only where lines are counted, in place of _exit(). */

void __gcov_dump(void);
void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

void __wrap__exit(int status) {
        __gcov_dump();
        __real__exit(status);
}
