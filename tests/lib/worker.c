/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "../tap.h"
#include "cleanup.h"
#include "worker.h"

#define DEADLINE (20 * G_USEC_PER_SEC)

typedef struct Seen {
        sd_event *event;
        unsigned done, failed, held, late;
        char *text;
} Seen;

static sd_event *event;
static Seen seen;

static void on_worker(Worker *worker, WorkerEvent what, GVariant *value, const char *text, void *userdata) {
        switch (what) {
        case WORKER_DONE:
                seen.done++;
                break;
        case WORKER_FAILED:
                seen.failed++;
                g_free(seen.text);
                seen.text = g_strdup(text);
                break;
        case WORKER_HELD:
                seen.held++;
                break;
        case WORKER_LATE:
                seen.late++;
                break;
        }
}

/* Runs the loop until @count is one, or ten seconds are over. */
static void wait_for(unsigned *count) {
        int64_t end = g_get_monotonic_time() + 10 * G_USEC_PER_SEC;

        while (*count == 0 && g_get_monotonic_time() < end)
                sd_event_run(event, 100 * 1000);
        ck_assert_uint_ge(*count, 1);
}

static void set_up(void) {
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGCHLD);
        sigprocmask(SIG_BLOCK, &set, NULL);
        ck_assert_int_ge(sd_event_new(&event), 0);
        seen = (Seen){ 0 };
}

static void tear_down(void) {
        g_clear_pointer(&seen.text, g_free);
        sd_event_unref(event);
}

/* Waits for a request, then does what the test is about. */
static void take_request(int fd) {
        char buf[4096];

        ck_assert_int_gt(read(fd, buf, sizeof buf), 0);
}

static void answer(int fd, const WorkerContext *context) {
        for (uint64_t sequence = 1;; sequence++) {
                char buf[4096];

                if (read(fd, buf, sizeof buf) <= 0)
                        _exit(0);
                frame_write(fd, FRAME_RESULT, sequence, g_variant_new_string("fine"));
        }
}

static void die(int fd, const WorkerContext *context) {
        signal(SIGSEGV, SIG_DFL);
        take_request(fd);
        raise(SIGKILL);
}

static void babble(int fd, const WorkerContext *context) {
        take_request(fd);
        ck_assert_int_eq(
                write(fd, "\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377hello", 21), 21);
        pause();
}

static void answer_another(int fd, const WorkerContext *context) {
        take_request(fd);
        frame_write(fd, FRAME_RESULT, 4711, g_variant_new_string("fine"));
        pause();
}

static void hang(int fd, const WorkerContext *context) {
        char buf[1];

        take_request(fd);
        while (read(fd, buf, 1) > 0) /* as long as the test lives */
                ;
        _exit(0);
}

static Worker *start(WorkerMain work) {
        Worker *w = worker_new(event, work, &(WorkerContext){ 0 }, on_worker, NULL);

        ck_assert_int_eq(worker_submit(w, FRAME_SCAN, g_variant_new_string(""), DEADLINE), 0);
        return w;
}

START_TEST(an_answer_arrives) {
        Worker *w = start(answer);

        wait_for(&seen.done);
        ck_assert(!worker_is_busy(w));

        /* The same process takes another. */
        seen.done = 0;
        ck_assert_int_eq(worker_submit(w, FRAME_SCAN, g_variant_new_string(""), DEADLINE), 0);
        ck_assert_int_eq(worker_submit(w, FRAME_SCAN, g_variant_new_string(""), DEADLINE), -EBUSY);
        wait_for(&seen.done);
        worker_free(w);
}
END_TEST

START_TEST(a_worker_that_dies_has_failed) {
        Worker *w = start(die);

        wait_for(&seen.failed);
        ck_assert_ptr_nonnull(strstr(seen.text, "signal 9"));

        /* And the next one is a new one. */
        seen.failed = 0;
        ck_assert_int_eq(worker_submit(w, FRAME_SCAN, g_variant_new_string(""), DEADLINE), 0);
        wait_for(&seen.failed);
        worker_free(w);
}
END_TEST

static const WorkerMain liars[] = { babble, answer_another };

START_TEST(a_worker_that_speaks_nonsense_has_failed) {
        Worker *w = start(liars[_i]);

        wait_for(&seen.failed);
        ck_assert_ptr_nonnull(strstr(seen.text, "nonsense"));
        worker_free(w);
}
END_TEST

START_TEST(a_worker_that_hangs_is_late_and_not_waited_for) {
        Worker *w = worker_new(event, hang, &(WorkerContext){ 0 }, on_worker, NULL);

        ck_assert_int_eq(worker_submit(w, FRAME_SCAN, g_variant_new_string(""), 50 * 1000), 0);
        wait_for(&seen.late);
        ck_assert(worker_is_busy(w));
        worker_free(w);
        ck_assert_uint_eq(seen.failed, 0);
}
END_TEST

/* The real one: what it has of the daemon's, and what it says when another has the lock. */
START_TEST(a_lock_that_is_held_is_told_and_waited_for) {
        g_autofree char *directory = g_dir_make_tmp("carved-worker-XXXXXX", NULL);
        g_autofree char *path = g_build_filename(directory, "gpu.lock", NULL);
        CarvedHost host = { .sysfs = directory, .vgpu_config = "/nonexistent", .nvml = "/nonexistent" };
        int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        Worker *w = worker_new(event, worker_process_run, &(WorkerContext){ &host, path }, on_worker, NULL);

        ck_assert_int_eq(flock(lock, LOCK_EX), 0);
        ck_assert_int_eq(worker_submit(w, FRAME_SNAPSHOT,
                                       g_variant_new(LOOK_REQUEST, 0, 1, 0, 0, 0, NULL), DEADLINE),
                         0);
        wait_for(&seen.held);
        ck_assert_uint_eq(seen.done + seen.failed, 0);

        ck_assert_int_eq(flock(lock, LOCK_UN), 0);
        wait_for(&seen.failed); /* there is no such card, which it can say only now */
        ck_assert_ptr_nonnull(strstr(seen.text, "0000:01:00.0"));

        /* It keeps the lock while it lives, and gives it back when it goes. */
        ck_assert_int_eq(flock(lock, LOCK_EX | LOCK_NB), -1);
        worker_free(w);
        ck_assert_int_eq(flock(lock, LOCK_EX), 0);
        close(lock);
        g_remove(path);
        g_rmdir(directory);
}
END_TEST

START_TEST(frames_come_in_pieces) {
        g_autoptr(GByteArray) buffer = g_byte_array_new();
        int fds[2];
        char byte;
        g_auto(Frame) frame = { 0 };

        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        close(fds[0]);
        close(fds[1]);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        ck_assert_int_eq(frame_write(fds[0], FRAME_RESULT, 7, g_variant_new("(su)", "x", 1)), 0);
        close(fds[0]);
        while (read(fds[1], &byte, 1) == 1) {
                ck_assert_int_eq(frame_take(buffer, &frame), 0);
                g_byte_array_append(buffer, (guint8 *) &byte, 1);
        }
        close(fds[1]);
        ck_assert_int_eq(frame_take(buffer, &frame), 1);
        ck_assert_uint_eq(frame.sequence, 7);
        ck_assert_str_eq(g_variant_get_type_string(frame.value), "(su)");
        ck_assert_uint_eq(buffer->len, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("worker");
        TCase *tcase = tcase_create("worker");

        tcase_set_timeout(tcase, 30);
        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, an_answer_arrives);
        tcase_add_test(tcase, a_worker_that_dies_has_failed);
        tcase_add_loop_test(tcase, a_worker_that_speaks_nonsense_has_failed, 0, G_N_ELEMENTS(liars));
        tcase_add_test(tcase, a_worker_that_hangs_is_late_and_not_waited_for);
        tcase_add_test(tcase, a_lock_that_is_held_is_told_and_waited_for);
        tcase_add_test(tcase, frames_come_in_pieces);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
