/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "state.h"

Style style_of_state(const char *state) {
        static const struct {
                const char *state;
                Style style;
        } table[] = {
                { "ready", STYLE_GOOD },    { "running", STYLE_GOOD },   { "active", STYLE_GOOD },
                { "synced", STYLE_GOOD },   { "done", STYLE_GOOD },      { "degraded", STYLE_WARN },
                { "starting", STYLE_WARN }, { "restoring", STYLE_WARN }, { "stopping", STYLE_WARN },
                { "busy", STYLE_WARN },     { "unsettled", STYLE_WARN }, { "defined", STYLE_WARN },
                { "waiting", STYLE_WARN },  { "cancelled", STYLE_WARN }, { "out-of-sync", STYLE_WARN },
                { "no-driver", STYLE_BAD }, { "stalled", STYLE_BAD },    { "lost", STYLE_BAD },
                { "mismatch", STYLE_BAD },  { "failed", STYLE_BAD },     { "missing", STYLE_BAD },
                { "contested", STYLE_BAD }, { "unreadable", STYLE_BAD },
        };

        for (unsigned i = 0; i < G_N_ELEMENTS(table); i++)
                if (g_str_equal(table[i].state, state))
                        return table[i].style;

        return STYLE_PLAIN;
}

char *notes_of_vgpu(const Thing *vgpu) {
        bool foreign = g_str_equal(thing_text(vgpu, VGPU, "Origin"), "foreign");
        GString *text = g_string_new(NULL);

        if (thing_flag(vgpu, VGPU, "InUse"))
                g_string_append(text, "in use, ");
        if (foreign)
                g_string_append(text, "foreign, ");
        if (!foreign && !thing_flag(vgpu, VGPU, "Persistent"))
                g_string_append(text, "transient, ");
        if (*thing_text(vgpu, VGPU, "Owner"))
                g_string_append_printf(text, "owner %s, ", thing_text(vgpu, VGPU, "Owner"));
        if (text->len > 0)
                g_string_truncate(text, text->len - 2);
        return g_string_free(text, FALSE);
}
