/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "killer-plan.h"

/* carved-killer [ARGUMENT…]: runs $CARVED_PROGRAM and ends it, or has a call fail, at a call that is named
 * beforehand. For carved-sim --daemon.
 *
 * This process becomes the program, so that its number, its signals and its end are the program's own. A
 * grandchild watches it and all that it forks, to the last of them: who survives the daemon is watched on,
 * for without a watcher the calls that are watched fail.
 *
 * In /run/carved-killer, or $CARVED_KILLER_DIR: `plan`, put there by rename, is what is to happen next; it is
 * taken away when it has. `log` has what was counted since, a line each, and `fired` in the end. */

#define OPTIONS                                                                                              \
        (PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |               \
         PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL)

typedef struct Tracee {
        pid_t pid;
        Who who;
        Victim at_exit;              /* of the call that it is in */
        unsigned long long full_len; /* what was asked for, if that was made shorter; 0: it was not */
} Tracee;

typedef struct Killer {
        const char *dir;
        pid_t daemon; /* 0: gone */
        bool started; /* the daemon is no more what starts it */
        GHashTable *tracees;

        char *plan_path, *log_path;
        struct stat plan_stat;
        Plan plan;
        bool armed;
        unsigned counted;
        FILE *log;
} Killer;

static void disarm(Killer *k) {
        if (!k->armed)
                return;

        fclose(k->log);
        plan_clear(&k->plan);
        k->armed = false;
}

static void arm(Killer *k) {
        g_autofree char *text = NULL;

        disarm(k);
        if (!g_file_get_contents(k->plan_path, &text, NULL, NULL))
                return;
        if (!plan_parse(text, &k->plan))
                g_error("carved-killer: not a plan: %s", text);
        k->log = fopen(k->log_path, "we");
        if (!k->log)
                g_error("carved-killer: %s: %s", k->log_path, g_strerror(errno));
        k->counted = 0;
        k->armed = true;
}

/* Looked for whenever it would matter. */
static void look_for_plan(Killer *k) {
        struct stat now = { 0 };

        if (stat(k->plan_path, &now) < 0) {
                disarm(k);
                k->plan_stat = (struct stat){ 0 };
                return;
        }
        if (now.st_ino == k->plan_stat.st_ino && now.st_mtim.tv_sec == k->plan_stat.st_mtim.tv_sec &&
            now.st_mtim.tv_nsec == k->plan_stat.st_mtim.tv_nsec)
                return;

        k->plan_stat = now;
        arm(k);
}

static void fired(Killer *k) {
        fputs("fired\n", k->log);
        fflush(k->log);
        if (k->plan.always)
                return;

        unlink(k->plan_path);
        disarm(k);
}

/* Whose child it is says what it is. */
static Who guess_who(Killer *k, pid_t pid) {
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", pid), *text = NULL;
        const Tracee *parent = NULL;
        const char *rest;
        int ppid;

        if (g_file_get_contents(path, &text, NULL, NULL) && (rest = strrchr(text, ')')) &&
            sscanf(rest, ") %*c %d", &ppid) == 1)
                parent = g_hash_table_lookup(k->tracees, GINT_TO_POINTER(ppid));
        return parent && parent->who == WHO_OTHER ? WHO_OTHER : WHO_WORKER;
}

static Tracee *find(Killer *k, pid_t pid) {
        Tracee *t = g_hash_table_lookup(k->tracees, GINT_TO_POINTER(pid));

        if (t)
                return t;

        t = g_new0(Tracee, 1);
        t->pid = pid;
        t->who = pid == k->daemon ? WHO_DAEMON : guess_who(k, pid);
        g_hash_table_insert(k->tracees, GINT_TO_POINTER(pid), t);
        return t;
}

static void forget(Killer *k, pid_t pid) {
        g_hash_table_remove(k->tracees, GINT_TO_POINTER(pid));
        if (pid == k->daemon)
                k->daemon = 0;
}

/* When this returns it is no more: nothing that others do now can reach it. */
static void end(Killer *k, pid_t pid) {
        int status;

        if (pid <= 0)
                return;

        kill(pid, SIGKILL);
        while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
                ;
        forget(k, pid);
}

/* True: @pid itself is gone. */
static bool strike(Killer *k, pid_t pid, Victim victim) {
        g_autofree gpointer *pids = NULL;
        pid_t daemon = k->daemon;
        guint n;

        switch (victim) {
        case VICTIM_SELF:
                end(k, pid);
                return true;
        case VICTIM_DAEMON:
                end(k, daemon);
                return pid == daemon;
        case VICTIM_ALL:
                pids = g_hash_table_get_keys_as_array(k->tracees, &n);
                for (guint i = 0; i < n; i++)
                        kill(GPOINTER_TO_INT(pids[i]), SIGKILL); /* none has time to see another go */
                for (guint i = 0; i < n; i++)
                        end(k, GPOINTER_TO_INT(pids[i]));
                return true;
        default:
                return false;
        }
}

/* The call does not happen, or only in part. */
static void spoil(Tracee *t, struct user_regs_struct *regs, int error) {
        if (error < 0) {
                t->full_len = regs->rdx;
                regs->rdx = MAX(regs->rdx / 2, 1);
        } else {
                regs->orig_rax = (unsigned long long) -1;
                regs->rax = (unsigned long long) -error;
        }
        ptrace(PTRACE_SETREGS, t->pid, NULL, regs);
}

static bool is_counted(Killer *k, const Tracee *t, const struct user_regs_struct *regs) {
        g_auto(Call) call = { 0 };

        if (k->daemon == 0 || !k->started)
                return false;

        look_for_plan(k);
        if (!k->armed || t->who == WHO_OTHER || !call_read(t->pid, regs, &call) ||
            !plan_counts(&k->plan, t->who, &call))
                return false;

        fprintf(k->log, "%u %s %s %s %s\n", ++k->counted, who_name(t->who), call_class_name(call.class),
                call.name, call.path);
        fflush(k->log);
        return true;
}

static void on_entry(Killer *k, Tracee *t) {
        const Plan *plan = &k->plan;
        struct user_regs_struct regs;
        Victim victim;
        bool late;

        if (ptrace(PTRACE_GETREGS, t->pid, NULL, &regs) < 0)
                return; /* killed by somebody else */

        if (is_counted(k, t, &regs) &&
            (k->counted == plan->nth || (plan->always && k->counted > plan->nth))) {
                victim = plan->victim;
                late = plan->after;
                if (plan->error != 0)
                        spoil(t, &regs, plan->error);
                fired(k);
                if (late)
                        t->at_exit = victim;
                else if (strike(k, t->pid, victim))
                        return;
        }
        ptrace(t->at_exit != VICTIM_NONE || t->full_len > 0 ? PTRACE_SYSCALL : PTRACE_CONT, t->pid, NULL, 0);
}

static void on_exit_of_call(Killer *k, Tracee *t) {
        Victim victim = t->at_exit;
        struct user_regs_struct regs;
        pid_t pid = t->pid;

        t->at_exit = VICTIM_NONE;
        if (t->full_len > 0 && ptrace(PTRACE_GETREGS, pid, NULL, &regs) == 0) {
                regs.rdx = t->full_len; /* whoever called relies on it */
                ptrace(PTRACE_SETREGS, pid, NULL, &regs);
                t->full_len = 0;
        }
        if (!strike(k, pid, victim))
                ptrace(PTRACE_CONT, pid, NULL, 0);
}

static void on_exec(Killer *k, Tracee *t) {
        if (t->pid == k->daemon && !k->started)
                k->started = true;
        else
                t->who = WHO_OTHER;
        ptrace(PTRACE_CONT, t->pid, NULL, 0);
}

static void on_stop(Killer *k, Tracee *t, int status) {
        int sig = WSTOPSIG(status), event = status >> 16;

        if (event == PTRACE_EVENT_SECCOMP)
                on_entry(k, t);
        else if (sig == (SIGTRAP | 0x80))
                on_exit_of_call(k, t);
        else if (event == PTRACE_EVENT_EXEC)
                on_exec(k, t);
        else if (event == PTRACE_EVENT_STOP && sig != SIGTRAP)
                ptrace(PTRACE_LISTEN, t->pid, NULL, 0);
        else
                ptrace(PTRACE_CONT, t->pid, NULL, event == 0 ? sig : 0);
}

static void watch(Killer *k) {
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
                if (pid < 0)
                        continue;
                if (WIFSTOPPED(status))
                        on_stop(k, find(k, pid), status);
                else
                        forget(k, pid);
        }
}

static void run_watcher(const char *dir, pid_t daemon, int ready) {
        Killer k = { .dir = dir, .daemon = daemon };

        k.tracees = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        k.plan_path = g_build_filename(dir, "plan", NULL);
        k.log_path = g_build_filename(dir, "log", NULL);
        prctl(PR_SET_NAME, "carved-killer");
        if (ptrace(PTRACE_SEIZE, daemon, NULL, OPTIONS) < 0)
                g_error("carved-killer: can't trace: %s", g_strerror(errno));
        find(&k, daemon);
        if (write(ready, "", 1) == 1) {
                close(ready);
                watch(&k);
        }
        _exit(EXIT_SUCCESS);
}

/* Twice forked, so that the program has no child that it does not know. */
static bool start_watcher(const char *dir) {
        pid_t pid, daemon = getpid();
        int fds[2];
        char c;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return false;
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        pid = fork();
        if (pid < 0)
                return false;
        if (pid == 0) {
                if (fork() == 0)
                        run_watcher(dir, daemon, fds[1]);
                _exit(EXIT_SUCCESS);
        }

        close(fds[1]);
        waitpid(pid, NULL, 0);
        return read(fds[0], &c, 1) == 1;
}

static bool set_filter(void) {
        g_autoptr(GArray) filter = call_filter_new();
        struct sock_fprog program = { (unsigned short) filter->len, (struct sock_filter *) filter->data };

        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
               prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(int argc, char **argv) {
        const char *dir = g_getenv("CARVED_KILLER_DIR") ?: "/run/carved-killer";
        const char *program = g_getenv("CARVED_PROGRAM"), *options = g_getenv("ASAN_OPTIONS");
        g_autofree char *asan = g_strdup_printf("%s%sdetect_leaks=0", options ?: "", options ? ":" : "");

        if (!program || g_mkdir_with_parents(dir, 0755) < 0 || !start_watcher(dir)) {
                fprintf(stderr, "carved-killer: %s\n", program ? "can't watch" : "CARVED_PROGRAM is not set");
                return EXIT_FAILURE;
        }

        /* Leaks can't be looked for in a process that is traced. */
        g_setenv("ASAN_OPTIONS", asan, TRUE);
        /* A pidfd tells of the end of a process that is traced before its parent can reap it, and sd-event
         * looks but once: it would never learn of it. A signal comes when it can. */
        g_setenv("SYSTEMD_PIDFD", "0", TRUE);
        argv[0] = (char *) program;
        if (set_filter())
                execvp(program, argv);
        fprintf(stderr, "carved-killer: %s: %s\n", program, g_strerror(errno));
        _exit(EXIT_FAILURE);
}
