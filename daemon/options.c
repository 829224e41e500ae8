/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "options.h"

int options_read_none(sd_bus_message *message, sd_bus_error *error) {
        const char *key;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        if (r < 0)
                return r;

        r = sd_bus_message_enter_container(message, 'e', "sv");
        if (r < 0)
                return r;
        if (r > 0) {
                r = sd_bus_message_read(message, "s", &key);
                if (r < 0)
                        return r;
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "There is no option '%s' here",
                                         key);
        }

        return sd_bus_message_exit_container(message);
}
