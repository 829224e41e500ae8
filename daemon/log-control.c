/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "log.h"
#include "log-control.h"

static int get_level(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Log *log = userdata;

        return sd_bus_message_append(reply, "s", log_level_to_string(log->level));
}

static int set_level(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *value, void *userdata, sd_bus_error *error) {
        Log *log = userdata;
        const char *text;
        int level, r;

        r = sd_bus_message_read(value, "s", &text);
        if (r < 0)
                return r;

        level = log_level_from_string(text);
        if (level < 0)
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "'%s' is not a log level", text);

        log->level = level;
        return 0;
}

static int get_target(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const Log *log = userdata;

        return sd_bus_message_append(reply, "s", log->journal ? "journal" : "console");
}

static int set_target(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *value, void *userdata, sd_bus_error *error) {
        Log *log = userdata;
        const char *text;
        int r;

        r = sd_bus_message_read(value, "s", &text);
        if (r < 0)
                return r;

        if (g_str_equal(text, "journal"))
                log->journal = true;
        else if (g_str_equal(text, "console"))
                log->journal = false;
        else
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                         "'%s' is neither journal nor console", text);
        return 0;
}

static int get_identifier(sd_bus *bus, const char *path, const char *interface, const char *property,
                          sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return sd_bus_message_append(reply, "s", "carved");
}

const sd_bus_vtable log_control_vtable[] = {
        SD_BUS_VTABLE_START(0), SD_BUS_WRITABLE_PROPERTY("LogLevel", "s", get_level, set_level, 0, 0),
        SD_BUS_WRITABLE_PROPERTY("LogTarget", "s", get_target, set_target, 0, 0),
        SD_BUS_PROPERTY("SyslogIdentifier", "s", get_identifier, 0, 0), SD_BUS_VTABLE_END
};
