/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Several processes cut one card at random through NVML, while it is reset, loses its driver, gets VFs and
 * vGPUs, and the host is rebooted. The simulated driver must live, nobody may be left as its user, and after
 * a reboot it looks as on the first day.
 *
 * Usage: host-nvml-storm SECONDS [SEED] */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib.h>

#include "nvml.h"
#include "simctl.h"

#define CARD "0000:19:00.0"

static int64_t end;

static bool goes_on(void) {
        return g_get_monotonic_time() < end;
}

static unsigned below(GRand *random, int n) {
        return (unsigned) g_rand_int_range(random, 0, n);
}

static void destroy_all(nvmlDevice_t device, unsigned profile) {
        nvmlGpuInstance_t list[16];
        unsigned n;

        if (nvml(nvmlDeviceGetGpuInstances, device, profile, list, &n) != NVML_SUCCESS)
                return;
        for (unsigned i = 0; i < n; i++) {
                nvmlComputeInstance_t ci;

                if (nvml(nvmlGpuInstanceGetComputeInstanceById, list[i], 0, &ci) == NVML_SUCCESS)
                        nvml(nvmlComputeInstanceDestroy, ci);
                nvml(nvmlGpuInstanceDestroy, list[i]);
        }
}

/* Whatever it answers: that it answers is the point. */
static void anything(GRand *random, nvmlDevice_t device) {
        static const unsigned profiles[] = { 19, 20, 15, 14, 9, 5, 0 };
        nvmlVgpuHeterogeneousMode_t mixed = { NVML_VERSION_WORD(nvmlVgpuHeterogeneousMode_t, 1),
                                              below(random, 2) };
        unsigned profile = profiles[below(random, G_N_ELEMENTS(profiles))], n = 64, list[64];
        nvmlComputeInstance_t ci;
        nvmlGpuInstance_t gi;
        nvmlReturn_t activation;

        switch (below(random, 7)) {
        case 0:
                nvml(nvmlDeviceSetMigMode, device, below(random, 3) > 0, &activation);
                break;
        case 1:
        case 2:
                if (nvml(nvmlDeviceCreateGpuInstance, device, profile, &gi) == NVML_SUCCESS)
                        nvml(nvmlGpuInstanceCreateComputeInstance, gi, below(random, 5), &ci);
                break;
        case 3:
                destroy_all(device, profile);
                break;
        case 4:
                nvml(nvmlDeviceSetVgpuHeterogeneousMode, device, &mixed);
                break;
        case 5:
                nvml(nvmlDeviceGetCreatableVgpus, device, &n, list);
                break;
        default:
                if (nvml(nvmlDeviceGetActiveVgpus, device, &n, list) == NVML_SUCCESS && n > 0)
                        nvml(nvmlVgpuInstanceGetType, list[0], &n);
        }
}

static void client(GRand *random) {
        while (goes_on()) {
                nvmlDevice_t device;

                if (nvml(nvmlInit_v2) != NVML_SUCCESS)
                        continue;
                for (unsigned i = below(random, 30); i > 0; i--)
                        if (nvml(nvmlDeviceGetHandleByIndex_v2, 0, &device) == NVML_SUCCESS)
                                anything(random, device);
                nvml(nvmlShutdown);
                g_usleep(below(random, 3000));
        }
}

static void run(const char *command) {
        g_autofree char *quiet = g_strdup_printf("(%s) >/dev/null 2>&1", command);

        if (system(quiet) < 0)
                perror(command);
}

/* Types come and go on any VF, and sometimes somebody has one open. */
static void vgpus(GRand *random) {
        while (goes_on()) {
                unsigned vf = below(random, 20);
                g_autofree char *command = g_strdup_printf(
                        "cd /sys/bus/pci/devices/" CARD
                        "/virtfn%u/nvidia || exit; echo %u >current_vgpu_type "
                        "&& carved-simctl hold 0000:19:%02x.%u && carved-simctl release 0000:19:%02x.%u; "
                        "echo 0 >current_vgpu_type",
                        vf, 1130 + below(random, 15), (vf + 4) / 8, (vf + 4) % 8, (vf + 4) / 8, (vf + 4) % 8);

                run(command);
        }
}

static void weather(GRand *random) {
        static const char *const commands[] = {
                "carved-simctl reset " CARD,
                "carved-simctl reload-driver",
                "/usr/lib/nvidia/sriov-manage -e " CARD,
                "/usr/lib/nvidia/sriov-manage -e " CARD,
                "/usr/lib/nvidia/sriov-manage -d " CARD,
                "carved-simctl reboot",
        };

        while (goes_on()) {
                run(commands[below(random, G_N_ELEMENTS(commands))]);
                g_usleep(below(random, 20000));
        }
}

static pid_t start(void (*work)(GRand *random), guint32 seed) {
        pid_t pid = fork();

        if (pid == 0) {
                work(g_rand_new_with_seed(seed));
                _exit(0);
        }
        return pid;
}

static char *ask(const char *verb) {
        char *text = NULL;

        return simctl((const char *const[]){ verb, NULL }, &text) == 0 ? text : NULL;
}

int main(int argc, char *argv[]) {
        guint32 seed = argc > 2 ? (guint32) strtoul(argv[2], NULL, 0) : g_random_int();
        void (*const works[])(GRand *) = { client, client, client, client, vgpus, vgpus, weather };
        pid_t pids[G_N_ELEMENTS(works)];
        char *before, *after, *users;
        bool same, nobody;

        printf("1..2\n# seed 0x%08x\n", seed);
        fflush(stdout);
        before = ask("dump");
        end = g_get_monotonic_time() + atoi(argv[1]) * G_USEC_PER_SEC;
        for (unsigned i = 0; i < G_N_ELEMENTS(works); i++)
                pids[i] = start(works[i], seed + i);
        for (unsigned i = 0; i < G_N_ELEMENTS(works); i++)
                waitpid(pids[i], NULL, 0);

        users = ask("nvml");
        simctl_do("reboot");
        after = ask("dump");
        nobody = g_strcmp0(users, "") == 0;
        same = before && g_strcmp0(before, after) == 0;
        printf("%s 1 - after a storm nobody has the card open\n%s 2 - and after a reboot it is as on the "
               "first "
               "day\n",
               nobody ? "ok" : "not ok", same ? "ok" : "not ok");
        free(before);
        free(after);
        free(users);
        return same && nobody ? EXIT_SUCCESS : EXIT_FAILURE;
}
