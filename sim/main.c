/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "init.h"
#include "sandbox.h"

#define EXIT_USAGE 2

static const char help[] =
        "carved-sim [OPTION…] [-- COMMAND…]   a simulated GPU host, with carved on it\n"
        "\n"
        "Runs COMMAND (or a shell) on a host whose /sys behaves like the kernel and the vendor's driver.\n"
        "\n"
        "  --host NAME|FILE     what is in it: a shipped host, scale:GxVxT, or a JSON file; may be given "
        "again\n"
        "  --list-hosts         which hosts are shipped\n"
        "  --state DIR          keeps what survives a reboot\n"
        "  --daemon PROGRAM     runs this carved\n"
        "  --no-daemon          runs none\n"
        "  --no-wait            does not wait until the daemon is ready\n"
        "  --frozen             a copy of the tree where nothing reacts\n"
        "  --pace fast|real     milliseconds, or the field's seconds\n"
        "  --help, --version\n"
        "\n"
        "Inside, carved-simctl holds vGPUs, pulls cards and injects faults. Exit code: COMMAND's; 125 when "
        "there is no\n"
        "host to run it on, 2 for a wrong call.\n";

static int refuse(const char *why) {
        fprintf(stderr, "carved-sim: %s\n", why);
        return EXIT_USAGE;
}

static void options_clear(Options *options) {
        host_spec_free(options->host);
        g_free(options->data_dir);
        g_free(options->policy);
        g_free(options->daemon);
        g_free(options->simctl);
        g_free(options->nvml);
        g_free(options->state_dir);
}

/* From the build directory everything is beside the program; installed, it is where it belongs. */
static void find_files(Options *options) {
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
        g_autofree char *dir = g_path_get_dirname(self ?: "");
        g_autofree char *hosts = g_strdup_printf("%s/hosts", dir);
        bool built = g_file_test(hosts, G_FILE_TEST_IS_DIR);

        options->data_dir = g_strdup(built ? dir : CARVED_SIM_DATADIR);
        options->policy =
                built ? g_strdup_printf("%s/../dbus/org.carved1.conf", dir) : g_strdup(CARVED_BUS_POLICY);
        options->simctl = g_strdup_printf("%s/carved-simctl", dir);
        options->nvml = g_strdup_printf("%s/libnvidia-ml.so.1", built ? dir : CARVED_SIM_LIBDIR);
        if (!options->daemon)
                options->daemon =
                        built ? g_strdup_printf("%s/../daemon/carved", dir) : g_strdup(CARVED_DAEMON);
}

static int list_hosts(const char *data_dir) {
        g_autofree char *path = g_strdup_printf("%s/hosts", data_dir);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        GSequence *lines = g_sequence_new(g_free);
        const char *file;

        while (dir && (file = g_dir_read_name(dir))) {
                g_autofree char *name = g_strndup(file, strcspn(file, "."));
                g_autoptr(GError) error = NULL;
                g_autoptr(HostSpec) host = host_spec_load(data_dir, name, &error);

                g_sequence_insert_sorted(
                        lines, g_strdup_printf("%-10s %s", name, host ? host->description : error->message),
                        (GCompareDataFunc) (void (*)(void)) g_strcmp0, NULL);
        }
        for (GSequenceIter *i = g_sequence_get_begin_iter(lines); !g_sequence_iter_is_end(i);
             i = g_sequence_iter_next(i))
                puts(g_sequence_get(i));
        g_sequence_free(lines);
        return dir ? 0 : EXIT_NO_HOST;
}

/* -1: go on; else what to exit with. */
static int parse(int argc, char *argv[], Options *options, GPtrArray *hosts, bool *ret_list) {
        enum { HOST = 1, LIST, STATE, DAEMON, NO_DAEMON, NO_WAIT, FROZEN, PACE, HELP, VERSION };
        static const struct option longs[] = {
                { "host", required_argument, NULL, HOST },
                { "list-hosts", no_argument, NULL, LIST },
                { "state", required_argument, NULL, STATE },
                { "daemon", required_argument, NULL, DAEMON },
                { "no-daemon", no_argument, NULL, NO_DAEMON },
                { "no-wait", no_argument, NULL, NO_WAIT },
                { "frozen", no_argument, NULL, FROZEN },
                { "pace", required_argument, NULL, PACE },
                { "help", no_argument, NULL, HELP },
                { "version", no_argument, NULL, VERSION },
                {},
        };
        int c;

        while ((c = getopt_long(argc, argv, "+", longs, NULL)) >= 0) {
                switch (c) {
                case HOST:
                        g_ptr_array_add(hosts, optarg);
                        break;
                case LIST:
                        *ret_list = true;
                        break;
                case STATE:
                        options->state_dir = g_canonicalize_filename(optarg, NULL);
                        break;
                case DAEMON:
                        options->daemon = g_canonicalize_filename(optarg, NULL);
                        break;
                case NO_DAEMON:
                        options->no_daemon = true;
                        break;
                case NO_WAIT:
                        options->no_wait = true;
                        break;
                case FROZEN:
                        options->frozen = true;
                        break;
                case PACE:
                        options->real_pace = g_str_equal(optarg, "real");
                        if (!options->real_pace && !g_str_equal(optarg, "fast"))
                                return refuse("--pace is fast or real");
                        break;
                case HELP:
                        fputs(help, stdout);
                        return 0;
                case VERSION:
                        puts("carved-sim " CARVED_VERSION);
                        return 0;
                default:
                        return EXIT_USAGE;
                }
        }

        if (argv[optind])
                options->command = argv + optind;
        return -1;
}

static bool hidden(const char *path) {
        static const char *const ours[] = { "/run", "/dev", "/proc", "/sys" };

        for (size_t i = 0; i < G_N_ELEMENTS(ours); i++)
                if (g_str_has_prefix(path, ours[i]) && strchr("/", path[strlen(ours[i])]))
                        return true;
        return false;
}

static bool load_hosts(Options *options, GPtrArray *names, GError **error) {
        options->host = host_spec_new("host");
        for (unsigned i = 0; i < names->len; i++) {
                g_autoptr(HostSpec) one = host_spec_load(options->data_dir, names->pdata[i], error);

                if (!one || !host_spec_merge(options->host, one, error))
                        return false;
        }

        return true;
}

static volatile sig_atomic_t child;

/* Only what somebody sent to us: a Ctrl-C on the terminal reaches the command by itself, and once is enough.
 */
static void pass_on(int signal, siginfo_t *info, void *context) {
        if (child > 0 && info->si_code != SI_KERNEL)
                kill(child, signal);
}

/* The first process of the name spaces dies with us, however we end, and everything with it. */
static int become_init(Options *options, int parent_alive) {
        struct pollfd parent = { .fd = parent_alive, .events = POLLIN };

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (poll(&parent, 1, 0) != 0)
                return EXIT_NO_HOST; /* we came too late: it is gone */
        close(parent_alive);
        return init_run(options);
}

static int wait_for(pid_t pid) {
        static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
        int status;

        child = pid;
        for (size_t i = 0; i < G_N_ELEMENTS(signals); i++)
                sigaction(signals[i], &(struct sigaction){ .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO },
                          NULL);

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return EXIT_NO_HOST;

        return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_NO_HOST;
}

static int launch(Options *options) {
        g_autoptr(GError) error = NULL;
        int alive[2];
        pid_t pid;

        if (!sandbox_enter(&error)) {
                fprintf(stderr, "carved-sim: %s\n", error->message);
                return EXIT_NO_HOST;
        }
        if (pipe2(alive, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
                fprintf(stderr, "carved-sim: Failed to start: %s\n", g_strerror(errno));
                return EXIT_NO_HOST;
        }
        if (pid == 0) {
                close(alive[1]);
                fflush(NULL);
                _exit(become_init(options, alive[0]));
        }

        close(alive[0]);
        return wait_for(pid);
}

int main(int argc, char *argv[]) {
        g_autoptr(GPtrArray) hosts = g_ptr_array_new();
        g_autoptr(GError) error = NULL;
        _cleanup_(options_clear) Options options = {};
        bool list = false;
        int r;

        r = parse(argc, argv, &options, hosts, &list);
        if (r >= 0)
                return r;

        find_files(&options);
        if (list)
                return list_hosts(options.data_dir);
        if (hosts->len == 0)
                g_ptr_array_add(hosts, (void *) "mixed");
        if (options.state_dir && hidden(options.state_dir))
                return refuse(
                        "--state can't be below /run, /dev, /proc or /sys: those are the simulated host's");
        if (!load_hosts(&options, hosts, &error))
                return refuse(error->message);
        if (!options.no_daemon && !g_file_test(options.daemon, G_FILE_TEST_IS_EXECUTABLE)) {
                fprintf(stderr, "carved-sim: There is no daemon '%s'; try --no-daemon\n", options.daemon);
                return EXIT_NO_HOST;
        }

        /* Not by return: a leak checker can't start its helper where the name space has lost its first
         * process. */
        r = launch(&options);
        fflush(NULL);
        _exit(r);
}
