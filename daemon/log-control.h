/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#define LOG_CONTROL_PATH      "/org/freedesktop/LogControl1"
#define LOG_CONTROL_INTERFACE "org.freedesktop.LogControl1"

/* `systemctl service-log-level carved debug`. Userdata is the Log. */
extern const sd_bus_vtable log_control_vtable[];
