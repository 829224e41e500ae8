/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "simctl.h"

static const char help[] =
        "carved-simctl VERB…   speaks to the simulated host it is run on (see carved-sim(1))\n"
        "\n"
        "In use\n"
        "  hold UUID|ADDRESS [vm=UUID]    a virtual machine opens this vGPU or VF, a client this GPU; prints "
        "its pid\n"
        "  release UUID|ADDRESS [linger=TIME]\n"
        "                                 it ends; the driver's plugin process lingers so long\n"
        "Hardware\n"
        "  unplug ADDRESS                 surprise removal of a GPU, VFs and all\n"
        "  plug ADDRESS [from=ADDRESS | BOARD [serial=TEXT]]\n"
        "                                 the host's card there comes back, or one from elsewhere, or a new "
        "one\n"
        "  reset ADDRESS                  resets a GPU, as nvidia-smi --gpu-reset does\n"
        "  lose ADDRESS                   a GPU falls off the bus, until it is reset\n"
        "  reload-driver [away=TIME]      unloads and loads the NVIDIA driver\n"
        "  vgpud                          nvidia-vgpud runs now, on hosts where it had not\n"
        "  reboot                         all that is volatile goes; the daemon is started again\n"
        "Faults\n"
        "  fail PATTERN ERRNO|ignore [op=read|write] [nth=N] [times=N | always]\n"
        "  fail nvml/PATTERN CODE|ignore|crash|crash-after [nth=N] [times=N | always]\n"
        "  delay PATTERN TIME [op=read|write] [nth=N] [times=N | always]\n"
        "  text PATTERN TEXT [nth=N] [times=N | always]\n"
        "                                 what reads of such files say instead\n"
        "  rules                          those there are\n"
        "  forget [ID]                    drops one, or all\n"
        "Looking\n"
        "  log [clear|counts|reads|no-reads]\n"
        "                                 every write with its result, every read if told to, and the "
        "kernel's own lines\n"
        "  nvml [met|clear]               who has NVML open, and which cards: a line for each process; met: "
        "who "
        "had when\n"
        "                                 a card was to be let go\n"
        "  dump [PATH]                    the whole tree as text\n"
        "  settle                         waits until nothing goes on in the background\n"
        "  busy                           how many reads, writes and works are under way\n"
        "The daemon\n"
        "  daemon start|stop|kill|status|pid|watchdogs\n"
        "\n"
        "Exit code: 0 done, 1 it could not be done, 2 not understood, 3 not on a simulated host.\n";

/* The process behind `hold`: has the node open, says so on fd 3, and stays until it is killed. */
static int play_vm(const char *node) {
        int fd = *node ? open(node, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;

        prctl(PR_SET_NAME, "qemu-sim");
        if (*node && fd < 0)
                return 1;
        if (write(3, "1", 1) != 1)
                return 1;
        close(3);
        for (;;)
                pause();
}

int main(int argc, char *argv[]) {
        char *text = NULL;
        int r;

        if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
            strcmp(argv[1], "help") == 0) {
                fputs(help, argc < 2 ? stderr : stdout);
                return argc < 2 ? 2 : 0;
        }
        if (strcmp(argv[1], "--version") == 0) {
                puts("carved-simctl " CARVED_VERSION);
                return 0;
        }
        if (argc == 3 && strcmp(argv[1], "--play-vm") == 0)
                return play_vm(argv[2]);

        r = simctl((const char *const *) argv + 1, &text);
        if (r < 0) {
                fprintf(stderr, "carved-simctl: no simulated host answers (%s); run it inside carved-sim\n",
                        strerror(-r));
                return 3;
        }

        fputs(text, r == 0 ? stdout : stderr);
        free(text);
        return r;
}
