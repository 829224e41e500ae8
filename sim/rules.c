/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <string.h>

#include "nvml.h"
#include "rules.h"

#define RULES_MAX    1024
#define ERRNO_MAX    134
#define DELAY_MAX_MS (24 * 60 * 60 * 1000U)

struct Rules {
        GPtrArray *list; /* of Rule */
        unsigned last_id;
};

Rules *rules_new(void) {
        Rules *rules = g_new0(Rules, 1);

        rules->list = g_ptr_array_new_with_free_func((GDestroyNotify) rule_free);
        return rules;
}

void rule_free(Rule *rule) {
        if (!rule)
                return;

        g_free(rule->pattern);
        g_free(rule->text);
        g_free(rule);
}

int errno_from_name(const char *name) {
        for (int e = 1; e < ERRNO_MAX; e++) {
                const char *known = strerrorname_np(e);

                if (known && g_str_equal(known, name))
                        return e;
        }

        return 0;
}

bool rule_parse_time(const char *text, unsigned *ret_ms) {
        static const struct {
                const char *unit;
                unsigned ms;
        } units[] = { { "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "min", 60 * 1000 } };
        char *end;
        guint64 n;

        if (!g_ascii_isdigit(*text))
                return false;
        n = g_ascii_strtoull(text, &end, 10);
        if (n > DELAY_MAX_MS)
                return false;

        for (size_t i = 0; i < G_N_ELEMENTS(units); i++)
                if (g_str_equal(end, units[i].unit) && n * units[i].ms <= DELAY_MAX_MS) {
                        *ret_ms = (unsigned) (n * units[i].ms);
                        return true;
                }

        return false;
}

static bool parse_count(const char *text, unsigned *ret) {
        guint64 n;

        if (!g_ascii_string_to_unsigned(text, 10, 1, UINT_MAX - 1, &n, NULL))
                return false;

        *ret = (unsigned) n;
        return true;
}

/* An odd number of them: the last one escapes nothing. */
static bool ends_in_backslash(const char *word) {
        size_t n = strlen(word), backslashes = 0;

        while (backslashes < n && word[n - 1 - backslashes] == '\\')
                backslashes++;
        return backslashes % 2 == 1;
}

static bool parse_nvml_value(Rule *rule, const char *word, char **ret_why) {
        nvmlReturn_t code;

        if (g_str_equal(word, "ignore"))
                rule->error = 0;
        else if (g_str_equal(word, "crash"))
                rule->error = RULE_NVML_CRASH;
        else if (g_str_equal(word, "crash-after"))
                rule->error = RULE_NVML_CRASH_AFTER;
        else if (nvml_code_parse(word, &code) && code != NVML_SUCCESS)
                rule->error = (int) code;
        else {
                *ret_why = g_strdup_printf(
                        "'%s' is not an error of NVML, such as IN_USE or 19; or 'ignore', 'crash', "
                        "'crash-after'",
                        word);
                return false;
        }

        return true;
}

static bool parse_value(Rule *rule, const char *word, char **ret_why) {
        switch (rule->kind) {
        case RULE_FAIL:
                if (rule->nvml)
                        return parse_nvml_value(rule, word, ret_why);
                rule->error = g_str_equal(word, "ignore") ? 0 : errno_from_name(word);
                if (rule->error == 0 && !g_str_equal(word, "ignore")) {
                        *ret_why = g_strdup_printf(
                                "'%s' is not the name of an error, such as EIO; or 'ignore'", word);
                        return false;
                }
                return true;
        case RULE_DELAY:
                if (!rule_parse_time(word, &rule->ms)) {
                        *ret_why = g_strdup_printf("'%s' is not a time, such as 200ms, 30s or 2min", word);
                        return false;
                }
                return true;
        case RULE_TEXT:
                if (ends_in_backslash(word)) {
                        *ret_why = g_strdup_printf("'%s' ends in the middle of an escape", word);
                        return false;
                }
                rule->text = g_strcompress(word);
                rule->text_len = strlen(rule->text);
                rule->op = RULE_READ;
                return true;
        }

        g_assert_not_reached();
}

static bool parse_option(Rule *rule, const char *word, char **ret_why) {
        if (g_str_equal(word, "op=read"))
                rule->op = RULE_READ;
        else if (g_str_equal(word, "op=write") && rule->kind != RULE_TEXT)
                rule->op = RULE_WRITE;
        else if (g_str_equal(word, "always"))
                rule->times = UINT_MAX;
        else if (g_str_has_prefix(word, "nth=") && parse_count(word + strlen("nth="), &rule->nth))
                return true;
        else if (g_str_has_prefix(word, "times=") && parse_count(word + strlen("times="), &rule->times))
                return true;
        else {
                *ret_why = g_strdup_printf("'%s' is not one of op=read, %snth=N, times=N, always", word,
                                           rule->kind == RULE_TEXT ? "" : "op=write, ");
                return false;
        }

        return true;
}

Rule *rule_parse(const char *const *words, char **ret_why) {
        static const char *const kinds[] = {
                [RULE_FAIL] = "fail", [RULE_DELAY] = "delay", [RULE_TEXT] = "text"
        };
        g_autoptr(Rule) rule = g_new0(Rule, 1);
        size_t kind = 0;

        while (kind < G_N_ELEMENTS(kinds) && words[0] && !g_str_equal(words[0], kinds[kind]))
                kind++;
        if (!words[0] || kind == G_N_ELEMENTS(kinds)) {
                *ret_why = g_strdup("a rule begins with fail, delay or text");
                return NULL;
        }
        if (!words[1] || !words[2]) {
                *ret_why = g_strdup_printf("'%s' needs a file pattern and a value", words[0]);
                return NULL;
        }

        rule->kind = (RuleKind) kind;
        rule->op = RULE_WRITE;
        rule->pattern = g_strdup(words[1]);
        rule->nvml = g_str_has_prefix(words[1], "nvml/");
        rule->nth = 1;
        rule->times = 1;

        if (!parse_value(rule, words[2], ret_why))
                return NULL;
        for (const char *const *word = words + 3; *word; word++)
                if (!parse_option(rule, *word, ret_why))
                        return NULL;
        if (rule->nvml && rule->op == RULE_READ) {
                *ret_why = g_strdup("calls of NVML are neither texts nor op=read");
                return NULL;
        }

        return g_steal_pointer(&rule);
}

static const char *error_name(const Rule *rule) {
        if (rule->error == 0)
                return "ignore";
        if (!rule->nvml)
                return strerrorname_np(rule->error);
        if (rule->error == RULE_NVML_CRASH)
                return "crash";
        return rule->error == RULE_NVML_CRASH_AFTER ? "crash-after"
                                                    : nvml_code_name((nvmlReturn_t) rule->error);
}

char *rule_format(const Rule *rule) {
        g_autofree char *value = NULL, *times = NULL;

        switch (rule->kind) {
        case RULE_FAIL:
                value = g_strdup_printf("fail %s %s", rule->pattern, error_name(rule));
                break;
        case RULE_DELAY:
                value = g_strdup_printf("delay %s %ums", rule->pattern, rule->ms);
                break;
        case RULE_TEXT: {
                g_autofree char *shown = g_strescape(rule->text, NULL);

                value = g_strdup_printf("text %s \"%s\"", rule->pattern, shown);
                break;
        }
        }

        times = rule->times == UINT_MAX ? g_strdup("always") : g_strdup_printf("times=%u", rule->times);
        return g_strdup_printf("%s op=%s nth=%u %s", value, rule->op == RULE_READ ? "read" : "write",
                               rule->nth, times);
}

unsigned rules_add(Rules *rules, Rule *rule) {
        if (rules->list->len >= RULES_MAX) {
                rule_free(rule);
                return 0;
        }

        rule->id = ++rules->last_id;
        g_ptr_array_add(rules->list, rule);
        return rule->id;
}

bool rules_remove(Rules *rules, unsigned id) {
        for (unsigned i = 0; i < rules->list->len; i++)
                if (((Rule *) rules->list->pdata[i])->id == id) {
                        g_ptr_array_remove_index(rules->list, i);
                        return true;
                }

        return false;
}

void rules_clear(Rules *rules) {
        g_ptr_array_set_size(rules->list, 0);
}

void rules_print(Rules *rules, GString *out) {
        for (unsigned i = 0; i < rules->list->len; i++) {
                Rule *rule = rules->list->pdata[i];
                g_autofree char *text = rule_format(rule);

                g_string_append_printf(out, "%u: %s (matched %u times)\n", rule->id, text, rule->matched);
        }
}

/* It matches once more: does it strike? */
static bool is_its_turn(Rule *rule) {
        rule->matched++;
        return rule->matched >= rule->nth && rule->matched - rule->nth < rule->times;
}

static bool rule_strikes(Rule *rule, RuleOp op, const char *path) {
        return rule->op == op && fnmatch(rule->pattern, path, 0) == 0 && is_its_turn(rule);
}

bool rules_concern(Rules *rules, const char *path) {
        for (unsigned i = 0; i < rules->list->len; i++)
                if (fnmatch(((Rule *) rules->list->pdata[i])->pattern, path, 0) == 0)
                        return true;

        return false;
}

int rules_apply(Kernel *kernel, RuleOp op, const char *path, GString *out) {
        unsigned ms = 0;
        int result = 0;

        if (!kernel->rules)
                return 0;

        for (unsigned i = 0; i < kernel->rules->list->len; i++) {
                Rule *rule = kernel->rules->list->pdata[i];

                if (!rule_strikes(rule, op, path))
                        continue;

                if (rule->kind == RULE_DELAY)
                        ms = MIN(ms + rule->ms, DELAY_MAX_MS);
                else if (rule->kind == RULE_FAIL && result == 0)
                        result = rule->error ? -rule->error : RULE_IGNORE;
                else if (rule->kind == RULE_TEXT && out && result == 0) {
                        result = RULE_IGNORE;
                        g_string_truncate(out, 0);
                        g_string_append_len(out, rule->text, (gssize) rule->text_len);
                }
        }

        /* The list may change while this one sleeps, so the verdict is made before. */
        if (ms > 0)
                kernel_sleep(kernel, ms);
        return result;
}

static bool matches_any(const Rule *rule, const char *const *paths) {
        for (; *paths; paths++)
                if (fnmatch(rule->pattern, *paths, 0) == 0)
                        return true;

        return false;
}

int rules_apply_nvml(Kernel *kernel, const char *function, const char *address, const char *version) {
        g_autofree char *bare = g_strdup_printf("nvml/%s", function);
        g_autofree char *on = address ? g_strdup_printf("%s/%s", bare, address) : NULL;
        g_autofree char *with = version ? g_strdup_printf("%s/%s", on ?: bare, version) : NULL;
        const char *const paths[] = { bare, on ?: bare, with ?: bare, NULL };
        int result = RULE_NVML_NONE;
        unsigned ms = 0;

        for (unsigned i = 0; kernel->rules && i < kernel->rules->list->len; i++) {
                Rule *rule = kernel->rules->list->pdata[i];

                if (!rule->nvml || !matches_any(rule, paths) || !is_its_turn(rule))
                        continue;
                if (rule->kind == RULE_DELAY)
                        ms = MIN(ms + rule->ms, DELAY_MAX_MS);
                else if (result == RULE_NVML_NONE)
                        result = rule->error ? rule->error : RULE_NVML_IGNORE;
        }

        if (ms > 0)
                kernel_sleep(kernel, ms);
        return result;
}
