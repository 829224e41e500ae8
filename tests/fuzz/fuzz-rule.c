/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <limits.h>
#include <string.h>

#include "fuzz.h"
#include "ident.h"
#include "rules.h"

/* What people type at the simulated host: a rule, a word on each line. Each word is tried as a time, an
 * address and a UUID too. What is accepted must come back the same from its own printed form. */

static void check_word(const char *word) {
        char text[CARVED_PCI_ADDRESS_MAX];
        CarvedPciAddress address, again;
        unsigned ms;

        if (carved_pci_address_parse(word, &address)) {
                carved_pci_address_format(&address, text);
                g_assert(carved_pci_address_parse(text, &again));
                g_assert(carved_pci_address_compare(&address, &again) == 0);
        }
        if (carved_uuid_is_valid(word))
                g_assert(strlen(word) == CARVED_UUID_LEN);
        if (rule_parse_time(word, &ms))
                g_assert(g_ascii_isdigit(*word) && ms <= 24U * 60 * 60 * 1000);
}

/* The words of a printed rule. Its pattern may hold anything, so it is stepped over by its length. */
static char **words_of(const char *text, const Rule *rule) {
        g_autofree char *kind = g_strndup(text, strcspn(text, " ")), *value = NULL;
        const char *rest = text + strlen(kind) + 1 + strlen(rule->pattern) + 1, *end = rest + strlen(rest);
        g_auto(GStrv) options = NULL;

        for (unsigned i = 0; i < 3; i++)
                end = g_strrstr_len(rest, end - rest, " ");
        options = g_strsplit(end + 1, " ", -1);
        g_assert(g_strv_length(options) == 3);

        value = g_strndup(rest, (size_t) (end - rest));
        if (rule->kind == RULE_TEXT) {
                size_t len = strlen(value);

                g_assert(len >= 2 && value[0] == '"' && value[len - 1] == '"');
                value[len - 1] = '\0';
                memmove(value, value + 1, len - 1);
        }

        return g_strdupv((char *[]){ kind, rule->pattern, value, options[0], options[1], options[2], NULL });
}

static void check_rule(const Rule *rule) {
        g_autofree char *text = rule_format(rule), *again_text = NULL, *why = NULL;
        g_auto(GStrv) words = words_of(text, rule);
        g_autoptr(Rule) again = rule_parse((const char *const *) words, &why);

        g_assert(again && !why);
        again_text = rule_format(again);
        g_assert(g_str_equal(text, again_text));
        g_assert(rule->kind == again->kind && rule->op == again->op && rule->error == again->error);
        g_assert(rule->ms == again->ms && rule->nth == again->nth && rule->times == again->times);
        g_assert(g_strcmp0(rule->text, again->text) == 0 && rule->text_len == again->text_len);
        g_assert(rule->nth > 0 && rule->times > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = g_strndup((const char *) data, size), *why = NULL;
        g_auto(GStrv) words = g_strsplit(text, "\n", -1);
        g_autoptr(Rule) rule = NULL;

        g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);

        for (char **word = words; *word; word++)
                check_word(*word);

        rule = rule_parse((const char *const *) words, &why);
        g_assert(!rule == !!why);
        if (rule)
                check_rule(rule);
        return 0;
}
