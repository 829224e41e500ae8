/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "boot.h"
#include "hold.h"
#include "inforom.h"
#include "init.h"
#include "process.h"
#include "rules.h"
#include "sandbox.h"
#include "trace.h"
#include "uevent.h"

static bool install_vendor_files(Init *init, GError **error) {
        g_autofree char *config = boot_vgpu_config(init->options->host), *script = NULL;
        g_autofree char *source = g_strdup_printf("%s/sriov-manage", init->options->data_dir);
        size_t len;

        if (!config)
                return true;

        if (g_mkdir_with_parents("/usr/share/nvidia/vgpu", 0755) < 0 ||
            !g_file_set_contents("/usr/share/nvidia/vgpu/vgpuConfig.xml", config, -1, error))
                return false;
        if (!g_file_get_contents(source, &script, &len, error))
                return false;
        return g_file_set_contents_full("/usr/lib/nvidia/sriov-manage", script, (gssize) len,
                                        G_FILE_SET_CONTENTS_NONE, 0755, error);
}

static void set_environment(void) {
        /* libudev looks whether /sys is a sysfs, and believes nothing else unless told so. */
        g_setenv("SYSTEMD_DEVICE_VERIFY_SYSFS", "0", TRUE);
        g_setenv("CARVED_SIM_CONTROL", SIM_CONTROL, TRUE);
}

/* A terminal per VFIO group, an fd each. */
static void raise_limits(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
                limit.rlim_cur = limit.rlim_max;
                setrlimit(RLIMIT_NOFILE, &limit);
        }
}

static bool open_signals(Init *init) {
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGCHLD);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        sigaddset(&set, SIGQUIT);
        sigprocmask(SIG_BLOCK, &set, NULL); /* all threads inherit it */
        signal(SIGPIPE, SIG_IGN);
        init->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        return init->signal_fd >= 0;
}

static Kernel *make_kernel(Init *init) {
        Kernel *kernel = kernel_new(init->options->real_pace ? &pace_real : &pace_fast);

        kernel->trace = trace_new();
        kernel->rules = rules_new();
        return kernel;
}

static bool set_up(Init *init, GError **error) {
        Options *options = init->options;
        Kernel *kernel = init->kernel;
        Sandbox sandbox = { options->state_dir, options->frozen };

        if (options->state_dir && g_mkdir_with_parents(options->state_dir, 0755) == 0 &&
            !inforom_load(kernel, init->host, options->state_dir, error))
                return false;

        /* A frozen host is copied once, so it must exist first; a living one has nodes in the /dev that is
         * made. */
        if (options->frozen)
                boot(kernel, init->host);
        if (!sandbox_build(&sandbox, kernel, error))
                return false;
        if (!options->frozen) {
                kernel->uevents = uevents_new();
                if (!kernel->uevents) {
                        g_set_error(error, SIM_ERROR, 0, "Uevents can't be sent here: %s", g_strerror(errno));
                        return false;
                }
                kernel_lock(kernel);
                kernel->dev_dir = g_strdup("/dev");
                boot(kernel, init->host);
                kernel_unlock(kernel);
        }

        return install_vendor_files(init, error) && dbus_start(init, error) &&
               daemon_open_notify(init, error) && control_open(init, error) && nvml_install(init, error) &&
               nvml_open(init, error);
}

static void reap(Init *init) {
        int status;
        pid_t pid;

        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
                Hold *hold = init->kernel->holds ? hold_find_pid(init->kernel, pid) : NULL;

                if (pid == init->command) {
                        init->command = 0;
                        init->command_status = status;
                } else if (pid == init->daemon) {
                        init->daemon = 0;
                        init->daemon_status = status;
                        g_clear_pointer(&init->daemon_says, g_free);
                } else if (hold) {
                        hold_end(init->kernel, hold);
                }
        }
        kernel_wake(init->kernel);
}

static void on_signal(Init *init) {
        struct signalfd_siginfo info;

        while (read(init->signal_fd, &info, sizeof info) == sizeof info) {
                if (info.ssi_signo == SIGCHLD)
                        reap(init);
                else if (info.ssi_code == SI_KERNEL)
                        continue; /* from the terminal: the command has it too */
                else if (init->command > 0)
                        kill(init->command, (int) info.ssi_signo);
                else
                        init->stopping = true;
        }
}

/* Serves until @end says so. */
static void loop_until(Init *init, bool (*end)(Init *init)) {
        while (!end(init)) {
                struct pollfd fds[] = {
                        { init->signal_fd, POLLIN, 0 },
                        { init->notify_fd, POLLIN, 0 },
                        { init->control_fd, POLLIN, 0 },
                        { init->nvml_fd, POLLIN, 0 },
                };

                kernel_unlock(init->kernel);
                poll(fds, G_N_ELEMENTS(fds), -1);
                kernel_lock(init->kernel);

                if (fds[0].revents)
                        on_signal(init);
                if (fds[1].revents)
                        daemon_read_notify(init);
                if (fds[2].revents)
                        control_accept(init);
                if (fds[3].revents)
                        nvml_accept(init);
        }
}

static bool daemon_settled(Init *init) {
        return init->daemon_ready || init->daemon <= 0 || init->stopping;
}

static bool command_ended(Init *init) {
        return init->command <= 0;
}

static bool daemon_ended(Init *init) {
        return init->daemon <= 0;
}

static int exit_code(int status) {
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool start_daemon(Init *init) {
        g_autoptr(GString) why = g_string_new(NULL);
        bool ok = daemon_start(init, why);

        if (ok && !init->options->no_wait) {
                loop_until(init, daemon_settled);
                ok = init->daemon_ready && daemon_wait_ready(init, why);
                if (!ok && init->daemon <= 0)
                        daemon_wait_ready(init, why); /* for its last words */
        }
        if (!ok)
                fprintf(stderr, "carved-sim: %s", why->str);
        return ok;
}

static int run_command(Init *init) {
        char *shell[] = { (char *) (g_getenv("SHELL") ?: "/bin/sh"), NULL };
        char **argv = init->options->command ?: shell;
        pid_t pid = process_spawn(&(Process){ .argv = (const char *const *) argv, .output = -1, .pass = -1 });

        if (pid < 0) {
                fprintf(stderr, "carved-sim: Failed to start '%s': %s\n", argv[0], g_strerror((int) -pid));
                return 127;
        }

        init->command = pid;
        loop_until(init, command_ended);
        return exit_code(init->command_status);
}

/* Waits in a thread of its own, for the loop must reap meanwhile. */
static void *stop_daemon(void *data) {
        Init *init = data;

        kernel_lock(init->kernel);
        daemon_kill(init, SIGTERM);
        kernel_unlock(init->kernel);
        return NULL;
}

/* glibc's malloc, out of arenas, asks /sys how many CPUs there are. This process answers what is asked of
 * that /sys, and may hold its lock while it allocates: it would wait for itself. With a limit given, it never
 * asks. */
static void keep_malloc_from_sysfs(void) {
        mallopt(M_ARENA_MAX, 8);
}

int init_run(Options *options) {
        Init *init = g_new0(Init, 1);
        g_autoptr(GError) error = NULL;
        int code = EXIT_NO_HOST;

        init->options = options;
        init->host = host_spec_new(options->host->name);
        host_spec_merge(init->host, options->host, NULL);
        raise_limits();
        keep_malloc_from_sysfs();
        set_environment();
        init->kernel = make_kernel(init);
        if (!open_signals(init) || !set_up(init, &error)) {
                fprintf(stderr, "carved-sim: %s\n", error ? error->message : g_strerror(errno));
                return EXIT_NO_HOST;
        }

        kernel_lock(init->kernel);
        if (options->no_daemon || start_daemon(init))
                code = run_command(init);

        /* A clean end, so that it can say what it leaked. Everything else dies with us. */
        if (init->daemon > 0) {
                g_thread_unref(g_thread_new("sim-stop", stop_daemon, init));
                loop_until(init, daemon_ended);
        }
        kernel_unlock(init->kernel);
        return code;
}
