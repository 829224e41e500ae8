/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <libudev.h>

#include "events.h"

#define BUFFER (64 << 20)

struct Events {
        struct udev *udev;
        struct udev_monitor *monitor;
        GPtrArray *list; /* of Event */
};

static void event_free(Event *event) {
        g_free(event->action);
        g_free(event->subsystem);
        g_free(event->device);
        g_free(event->mdev_state);
        g_free(event);
}

Events *events_new(void) {
        Events *events = g_new0(Events, 1);

        events->udev = udev_new();
        events->monitor = udev_monitor_new_from_netlink(events->udev, "kernel");
        g_assert(events->monitor);
        udev_monitor_set_receive_buffer_size(events->monitor, BUFFER);
        g_assert(udev_monitor_enable_receiving(events->monitor) >= 0);
        events->list = g_ptr_array_new_with_free_func((GDestroyNotify) event_free);
        return events;
}

Events *events_free(Events *events) {
        if (!events)
                return NULL;

        udev_monitor_unref(events->monitor);
        udev_unref(events->udev);
        g_ptr_array_unref(events->list);
        g_free(events);
        return NULL;
}

void events_drain(Events *events) {
        struct udev_device *device;

        while ((device = udev_monitor_receive_device(events->monitor))) {
                Event *event = g_new(Event, 1);

                *event = (Event){
                        .action = g_strdup(udev_device_get_action(device)),
                        .subsystem = g_strdup(udev_device_get_subsystem(device)),
                        .device = g_strdup(udev_device_get_sysname(device)),
                        .mdev_state = g_strdup(udev_device_get_property_value(device, "MDEV_STATE")),
                };
                g_ptr_array_add(events->list, event);
                udev_device_unref(device);
        }
}

void events_forget(Events *events) {
        events_drain(events);
        g_ptr_array_set_size(events->list, 0);
}

char *events_of(Events *events, const char *device) {
        GString *text = g_string_new(NULL);

        for (unsigned i = 0; i < events->list->len; i++) {
                Event *event = events->list->pdata[i];

                if (!g_str_equal(event->device, device))
                        continue;
                g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", event->action);
                if (event->mdev_state)
                        g_string_append_printf(text, " %s", event->mdev_state);
        }

        if (text->len == 0)
                g_string_append(text, "none");
        return g_string_free(text, FALSE);
}

int events_index(Events *events, const char *action, const char *device) {
        for (unsigned i = 0; i < events->list->len; i++) {
                Event *event = events->list->pdata[i];

                if (g_str_equal(event->action, action) && g_str_equal(event->device, device))
                        return (int) i;
        }

        return -1;
}
