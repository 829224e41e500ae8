/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <glib.h>
#include <systemd/sd-bus.h>

#include "simctl.h"
#include "subject.h"

/* The last lines of ./bench: how long a host takes to have its vGPUs again after a boot. On the host
 * scale:8x32x4, which has its VFs on. Prints milliseconds: the first look alone; from exec to Restored, where
 * each vGPU takes 200 ms in the kernel; and `mdevctl start` in a loop over some of them. */

#define GPUS        8U
#define VGPUS       32U /* on each */
#define TYPE        "nvidia-1000"
#define BY_MDEVCTL  16U
#define DEADLINE_MS 120000
#define SETTINGS    "/etc/carved/carved.conf"

/* The VFs are on again, and no vGPU is there. */
static void boot_again(void) {
        if (simctl_do("forget") != 0 || simctl_do("reboot") != 0 || simctl_do("settle") != 0 ||
            simctl_do("delay", "*/create", "200ms", "always") != 0)
                die("carved-simctl", EIO);
}

static int on_created(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const sd_bus_error *wrong = sd_bus_message_get_error(m);

        if (wrong)
                die(wrong->message, EIO);
        (*(unsigned *) userdata)--;
        return 0;
}

static void wait_for(sd_bus *bus, const unsigned *pending) {
        double end = now_ms() + DEADLINE_MS;

        while (*pending > 0) {
                int r = sd_bus_process(bus, NULL);

                if (r == 0)
                        r = sd_bus_wait(bus, G_USEC_PER_SEC);
                if (r < 0 || now_ms() > end)
                        die("waiting for carved", r < 0 ? -r : ETIMEDOUT);
        }
}

/* One on each GPU, at the same time. */
static void create_row(sd_bus *bus) {
        unsigned pending = GPUS;

        for (unsigned i = 1; i <= GPUS; i++) {
                g_autofree char *path = g_strdup_printf("/org/carved1/gpu/0000_%02x_00_0", i);
                int r = sd_bus_call_method_async(bus, NULL, "org.carved1", path, "org.carved1.VgpuHost",
                                                 "CreateVgpu", on_created, &pending, "sa{sv}", TYPE, 0);

                if (r < 0)
                        die("CreateVgpu", -r);
        }
        wait_for(bus, &pending);
}

static void create_all(sd_bus *bus, const char *carved) {
        double ms;
        pid_t daemon = start_carved(carved, &ms);

        for (unsigned i = 0; i < VGPUS; i++)
                create_row(bus);
        stop_carved(daemon);
}

static int on_restored(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        unsigned *pending = userdata;
        uint32_t ok, failed;

        if (sd_bus_message_read(m, "uu", &ok, &failed) < 0)
                die("Restored", EIO);
        if (ok + failed != GPUS * VGPUS || failed != *pending - 1)
                die("other vGPUs are there than should be", ERANGE);
        *pending = 0;
        return 0;
}

/* The daemon, from exec until it says Restored. */
static double time_restore(sd_bus *bus, const char *carved, bool restore) {
        const char *argv[] = { carved, NULL };
        unsigned pending = 1 + (restore ? 0 : GPUS * VGPUS); /* and so many, less one, are not there */
        sd_bus_slot *slot = NULL;
        double start, ms;
        pid_t daemon;

        if (!g_file_set_contents(SETTINGS, restore ? "" : "[Manager]\nRestore=no\n", -1, NULL))
                die(SETTINGS, EIO);
        if (sd_bus_match_signal(bus, &slot, /* sender= */ NULL, "/org/carved1", "org.carved1.Manager",
                                "Restored", on_restored, &pending) < 0)
                die("listening", EIO);

        start = now_ms();
        daemon = spawn(argv);
        wait_for(bus, &pending);
        ms = now_ms() - start;
        stop_carved(daemon);
        sd_bus_slot_unref(slot);
        return ms;
}

static double time_mdevctl(void) {
        double ms = 0;

        for (unsigned i = 0; i < BY_MDEVCTL; i++) {
                g_autofree char *uuid = g_uuid_string_random();
                g_autofree char *link = g_strdup_printf("/sys/bus/pci/devices/0000:01:00.0/virtfn%u", i);
                g_autofree char *target = g_file_read_link(link, NULL);
                g_autofree char *vf = target ? g_path_get_basename(target) : NULL;
                const char *argv[] = { "mdevctl", "start", "-u", uuid, "-p", vf, "--type", TYPE, NULL };

                if (!vf)
                        die(link, ENOENT);
                ms += time_of(argv);
        }
        return ms;
}

int main(int argc, char **argv) {
        double look, restored;
        sd_bus *bus = NULL;

        if (argc != 2)
                die("Usage: carved-bench-restore CARVED", EINVAL);
        if (sd_bus_open_system(&bus) < 0)
                die("the system bus", ENOTCONN);

        create_all(bus, argv[1]);
        boot_again();
        look = time_restore(bus, argv[1], /* restore= */ false);
        restored = time_restore(bus, argv[1], /* restore= */ true);
        boot_again();
        printf("%.0f %.0f %.0f %u\n", look, restored, time_mdevctl(), BY_MDEVCTL);
        sd_bus_flush_close_unref(bus);
        return EXIT_SUCCESS;
}
