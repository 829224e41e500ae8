/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "bus-error.h"
#include "error.h"
#include "intent.h"
#include "options.h"

int options_read_labels(sd_bus_message *message, GStrv *ret, sd_bus_error *error) {
        g_autoptr(GPtrArray) pairs = g_ptr_array_new();
        g_autoptr(GError) e = NULL;
        const char *key, *value;
        GStrv labels;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "{ss}");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(message, "{ss}", &key, &value)) > 0) {
                g_ptr_array_add(pairs, (char *) key);
                g_ptr_array_add(pairs, (char *) value);
        }
        if (r >= 0)
                r = sd_bus_message_exit_container(message);
        if (r < 0)
                return r;

        g_ptr_array_add(pairs, NULL);
        labels = carved_labels_new((const char *const *) pairs->pdata, &e);
        if (!labels)
                return bus_error_from_gerror(error, e);

        g_strfreev(*ret);
        *ret = labels;
        return 0;
}

static int read_value(sd_bus_message *message, const Option *option, sd_bus_error *error) {
        static const char *const signatures[] = { "b", "s", "a{ss}", "u" };
        const char *contents = NULL;
        uint32_t number = 0;
        int r, truth;
        char type;

        r = sd_bus_message_peek_type(message, &type, &contents);
        if (r < 0)
                return r;
        if (type != 'v' || !g_str_equal(contents, signatures[option->kind]))
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                         "Option '%s' is of type '%s', not '%s'", option->name,
                                         signatures[option->kind], contents ?: "?");

        r = sd_bus_message_enter_container(message, 'v', contents);
        if (r < 0)
                return r;
        switch (option->kind) {
        case OPTION_BOOL:
                r = sd_bus_message_read(message, "b", &truth);
                *(bool *) option->target = r >= 0 && truth;
                break;
        case OPTION_STRING:
                r = sd_bus_message_read(message, "s", option->target);
                break;
        case OPTION_LABELS:
                r = options_read_labels(message, option->target, error);
                break;
        case OPTION_NUMBER:
                r = sd_bus_message_read(message, "u", &number);
                *(int64_t *) option->target = number;
                break;
        }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int read_entry(sd_bus_message *message, const Option *options, uint64_t *seen, sd_bus_error *error) {
        g_autofree char *quoted = NULL;
        const char *key;
        int r;

        r = sd_bus_message_read(message, "s", &key);
        if (r < 0)
                return r;

        for (unsigned i = 0; options[i].name; i++) {
                if (!g_str_equal(options[i].name, key))
                        continue;
                if (*seen & (UINT64_C(1) << i))
                        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                                 "Option '%s' is given twice", options[i].name);
                *seen |= UINT64_C(1) << i;
                return read_value(message, &options[i], error);
        }

        quoted = carved_quote(key);
        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "There is no option %s here", quoted);
}

int options_read(sd_bus_message *message, const Option *options, sd_bus_error *error) {
        uint64_t seen = 0;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "{sv}");
        if (r < 0)
                return r;

        while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                r = read_entry(message, options, &seen, error);
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

int options_read_none(sd_bus_message *message, sd_bus_error *error) {
        return options_read(message, &(Option){ 0 }, error);
}
