/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "cleanup.h"
#include "init.h"
#include "process.h"
#include "sandbox.h"

#define BUS_CONFIG   SIM_DIR "/bus.conf"
#define BUS_ADDRESS  "unix:path=/run/dbus/system_bus_socket"
#define BUS_START_MS 30000

/* The system bus as Debian's default policy has it, and ours on top. */
static const char config[] =
        "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\" "
        "\"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
        "<busconfig>\n"
        "  <type>system</type>\n"
        "  <listen>" BUS_ADDRESS "</listen>\n"
        "  <auth>EXTERNAL</auth>\n"
        "  <policy context=\"default\">\n"
        "    <allow user=\"*\"/>\n"
        "    <deny own=\"*\"/>\n"
        "    <deny send_type=\"method_call\"/>\n"
        "    <allow send_type=\"signal\"/>\n"
        "    <allow send_requested_reply=\"true\" send_type=\"method_return\"/>\n"
        "    <allow send_requested_reply=\"true\" send_type=\"error\"/>\n"
        "    <allow receive_type=\"method_call\"/>\n"
        "    <allow receive_type=\"method_return\"/>\n"
        "    <allow receive_type=\"error\"/>\n"
        "    <allow receive_type=\"signal\"/>\n"
        "    <allow send_destination=\"org.freedesktop.DBus\"/>\n"
        "    <deny send_destination=\"org.freedesktop.DBus\" send_interface=\"org.freedesktop.DBus\" "
        "send_member=\"UpdateActivationEnvironment\"/>\n"
        "  </policy>\n"
        "  <policy user=\"root\">\n"
        "    <allow send_destination=\"org.freedesktop.DBus\" "
        "send_interface=\"org.freedesktop.DBus.Monitoring\"/>\n"
        "  </policy>\n"
        "  <includedir>/usr/share/dbus-1/system.d</includedir>\n"
        "  <include>%s</include>\n"
        "</busconfig>\n";

bool dbus_start(Init *init, GError **error) {
        static const char *const argv[] = { "dbus-daemon", "--config-file=" BUS_CONFIG,
                                            "--nofork",    "--nopidfile",
                                            "--nosyslog",  "--print-address=3",
                                            NULL };
        g_autofree char *policy = g_markup_escape_text(init->options->policy, -1);
        g_autofree char *text = g_strdup_printf(config, policy);
        _cleanup_close_ int ready = -1, log = -1;
        struct pollfd wait;
        int pipe_fds[2];
        char c;

        if (!g_file_set_contents(BUS_CONFIG, text, -1, error))
                return false;
        if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
                g_set_error(error, SIM_ERROR, 0, "Failed to make a pipe: %s", g_strerror(errno));
                return false;
        }

        ready = pipe_fds[0];
        log = open(SIM_DIR "/bus.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        init->bus = process_spawn(
                &(Process){ .argv = argv, .output = log, .service = true, .pass = pipe_fds[1] });
        close(pipe_fds[1]);
        if (init->bus < 0) {
                g_set_error(error, SIM_ERROR, 0, "Failed to start dbus-daemon: %s",
                            g_strerror((int) -init->bus));
                return false;
        }

        /* It prints its address when it listens; it closes the pipe when it can't. */
        wait = (struct pollfd){ .fd = ready, .events = POLLIN };
        if (poll(&wait, 1, BUS_START_MS) != 1 || read(ready, &c, 1) != 1) {
                g_autofree char *said = NULL;

                g_file_get_contents(SIM_DIR "/bus.log", &said, NULL, NULL);
                g_set_error(error, SIM_ERROR, 0, "The message bus did not start: %s",
                            said ?: "no word of it");
                return false;
        }

        g_setenv("DBUS_SYSTEM_BUS_ADDRESS", BUS_ADDRESS, TRUE);
        return true;
}
