/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "error.h"
#include "ini.h"

static bool refuse(const char *why, GError **error) {
        g_set_error_literal(error, CARVED_ERROR, CARVED_ERROR_INVALID_ARGS, why);
        return false;
}

static bool refuse_line(const char *text, const char *why, GError **error) {
        g_autofree char *quoted = carved_quote(text);

        g_set_error(error, CARVED_ERROR, CARVED_ERROR_INVALID_ARGS, "%s %s", quoted, why);
        return false;
}

/* "[Name]" → "Name", in place. */
static bool take_section(char *text, char **section, GError **error) {
        size_t len = strlen(text);

        if (text[len - 1] != ']')
                return refuse_line(text, "is a section without its closing bracket", error);
        if (strpbrk(text + 1, "[]") != text + len - 1)
                return refuse_line(text, "has brackets in the name of a section", error);

        g_free(*section);
        *section = g_strstrip(g_strndup(text + 1, len - 2));
        if (**section == '\0')
                return refuse_line(text, "is a section without a name", error);
        return true;
}

/* "Key = value" → both, in place. */
static bool take_key(char *text, CarvedIniItem *item, GError **error) {
        char *equals = strchr(text, '=');

        if (!equals)
                return refuse_line(text, "is neither a section nor KEY=VALUE", error);
        if (equals == text)
                return refuse_line(text, "has no key", error);

        *equals = '\0';
        item->key = g_strchomp(text);
        item->value = g_strchug(equals + 1);
        return true;
}

static bool take_line(char *text, CarvedIniItem *item, char **section, GError **error) {
        item->key = item->value = NULL;
        if (*text == '[') {
                if (!take_section(text, section, error))
                        return false;
                item->section = *section;
                return true;
        }
        if (*section)
                return take_key(text, item, error);

        item->value = text;
        return true;
}

/* In which line @p is. */
static unsigned line_of(const char *text, const char *p) {
        unsigned line = 1;

        for (; text < p; text++)
                line += *text == '\n';
        return line;
}

bool carved_ini_parse(const char *text, size_t len, CarvedIniTake take, void *userdata, unsigned *ret_line,
                      GError **error) {
        g_autofree char *section = NULL;
        CarvedIniItem item = { 0 };
        const char *bad;

        if (len > CARVED_INI_MAX) {
                *ret_line = 1;
                return refuse("The text is too long", error);
        }
        if (!g_utf8_validate_len(text, len, &bad)) {
                *ret_line = line_of(text, bad);
                return refuse("This is not UTF-8 text", error);
        }

        for (const char *p = text, *end = text + len; p < end;) {
                const char *newline = memchr(p, '\n', (size_t) (end - p)) ?: end;
                g_autofree char *line = g_strstrip(g_strndup(p, (size_t) (newline - p)));

                item.line++;
                p = newline + 1;
                if (*line == '\0' || *line == '#' || *line == ';')
                        continue;
                if (!take_line(line, &item, &section, error)) {
                        *ret_line = item.line;
                        return false;
                }
                take(&item, userdata);
        }
        return true;
}
