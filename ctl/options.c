/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <getopt.h>
#include <string.h>

#include "fail.h"
#include "ident.h"
#include "options.h"
#include "style.h"

#define NUMBER_MAX  4096
#define TIMEOUT_SEC 120

enum {
        OPTION_HOST,
        OPTION_JSON,
        OPTION_J,
        OPTION_NO_LEGEND,
        OPTION_NO_PAGER,
        OPTION_FULL,
        OPTION_QUIET,
        OPTION_NO_ASK_PASSWORD,
        OPTION_DRY_RUN,
        OPTION_NUMBER,
        OPTION_ON,
        OPTION_UUID,
        OPTION_LABEL,
        OPTION_PARAMS,
        OPTION_TRANSIENT,
        OPTION_DESTROY_VGPUS,
        OPTION_ALL,
        OPTION_XML,
        OPTION_REPLACE,
        OPTION_TIMEOUT,
        OPTION_HELP,
        OPTION_VERSION,
        _OPTION_MAX,
};

const OptionSpec option_specs[] = {
        [OPTION_HOST] = { "host", 'H', "[USER@]HOST", NULL, "speak to carved on that host, over ssh" },
        [OPTION_JSON] = { "json", 0, "pretty|short|off", NULL,
                          "JSON, with the names of D-Bus properties as keys" },
        [OPTION_J] = { "j", 'j', NULL, NULL, "--json=pretty on a terminal, else --json=short" },
        [OPTION_NO_LEGEND] = { "no-legend", 0, NULL, NULL, "tables without head and foot" },
        [OPTION_NO_PAGER] = { "no-pager", 0, NULL, NULL, "never through a pager" },
        [OPTION_FULL] = { "full", 'l', NULL, NULL, "lines as long as they are, on a terminal too" },
        [OPTION_QUIET] = { "quiet", 'q', NULL, NULL, "no progress, only results and errors" },
        [OPTION_NO_ASK_PASSWORD] = { "no-ask-password", 0, NULL, NULL,
                                     "fail rather than ask for a password" },
        [OPTION_DRY_RUN] = { "dry-run", 0, NULL, "enable disable create destroy mig adopt resync",
                             "say what would be done, step by step, and do nothing" },
        [OPTION_NUMBER] = { "number", 'n', "N", "enable create log",
                            "so many: VFs (all), vGPUs (1), last lines of the log (all)" },
        [OPTION_ON] = { "on", 0, "GPU|VF", "create", "there, and nowhere else" },
        [OPTION_UUID] = { "uuid", 0, "UUID", "create adopt",
                          "its UUID, so that the call can be repeated; once for each vGPU" },
        [OPTION_LABEL] = { "label", 0, "KEY=VALUE", "create", "what people call it; may be given again" },
        [OPTION_PARAMS] = { "params", 0, "TEXT", "create", "parameters of the vendor's plugin" },
        [OPTION_TRANSIENT] = { "transient", 0, NULL, "enable create", "only until the next reboot" },
        [OPTION_DESTROY_VGPUS] = { "destroy-vgpus", 0, NULL, "disable", "carved's vGPUs on the VFs may go" },
        [OPTION_ALL] = { "all", 'a', NULL, "resync", "every GPU that is not as it is wanted" },
        [OPTION_XML] = { "xml", 0, NULL, "show", "what gives the vGPU to a libvirt domain" },
        [OPTION_REPLACE] = { "replace", 0, NULL, "mig",
                             "GPU instances that are there, and not in use, may go" },
        [OPTION_TIMEOUT] = { "timeout", 0, "SECONDS", "wait", "so long at most (120); 0: for ever" },
        [OPTION_HELP] = { "help", 'h', NULL, NULL, "this, or about a verb" },
        [OPTION_VERSION] = { "version", 0, NULL, NULL, "versions of carvectl and carved" },
        { NULL },
};

bool option_is_for(const OptionSpec *spec, const char *verb) {
        g_auto(GStrv) verbs = NULL;

        if (!spec->verbs)
                return true;

        verbs = g_strsplit(spec->verbs, " ", -1);
        return verb && g_strv_contains((const char *const *) verbs, verb);
}

static bool usage(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

static bool usage(GError **error, const char *format, ...) {
        va_list args;

        va_start(args, format);
        g_propagate_error(error, g_error_new_valist(CTL_ERROR, CTL_USAGE, format, args));
        va_end(args);
        return false;
}

static bool set_json(Ctl *ctl, const char *text, GError **error) {
        static const char *const modes[] = {
                [JSON_OFF] = "off", [JSON_SHORT] = "short", [JSON_PRETTY] = "pretty"
        };

        for (unsigned i = 0; i < G_N_ELEMENTS(modes); i++)
                if (g_str_equal(text, modes[i])) {
                        ctl->json = (JsonMode) i;
                        return true;
                }

        return usage(error, "'%s' is none of --json=pretty, short and off", text);
}

static bool set_number(Ctl *ctl, const char *text, GError **error) {
        guint64 n;

        if (!g_ascii_string_to_unsigned(text, 10, 1, NUMBER_MAX, &n, NULL))
                return usage(error, "'%s' is no number from 1 to %u", text, NUMBER_MAX);

        ctl->number = (uint32_t) n;
        ctl->number_given = true;
        return true;
}

static bool set_timeout(Ctl *ctl, const char *text, GError **error) {
        char *end;
        double seconds = g_ascii_strtod(text, &end);

        if (end == text || *end != '\0' || seconds < 0 || seconds > 1e9)
                return usage(error, "'%s' is no number of seconds", text);

        ctl->timeout_usec = (uint64_t) (seconds * G_USEC_PER_SEC);
        return true;
}

static bool add_uuid(Ctl *ctl, const char *text, GError **error) {
        if (!carved_uuid_is_valid(text))
                return usage(error, "'%s' is no UUID\nIt has 32 hexadecimal digits: uuidgen makes one.",
                             text);

        g_ptr_array_add(ctl->uuids, g_ascii_strdown(text, -1));
        return true;
}

static bool add_label(Ctl *ctl, const char *text, GError **error) {
        const char *equals = strchr(text, '=');

        if (!equals || equals == text)
                return usage(error, "'%s' is no label: KEY=VALUE", text);

        g_ptr_array_add(ctl->labels, g_strdup(text));
        return true;
}

static bool take(Ctl *ctl, int option, const char *value, Asked *asked, GError **error) {
        switch (option) {
        case OPTION_HOST:
                ctl->host = value;
                return true;
        case OPTION_JSON:
                return set_json(ctl, value, error);
        case OPTION_J:
                ctl->json = is_terminal(STDOUT) ? JSON_PRETTY : JSON_SHORT;
                return true;
        case OPTION_NUMBER:
                return set_number(ctl, value, error);
        case OPTION_ON:
                ctl->on = value;
                return true;
        case OPTION_UUID:
                return add_uuid(ctl, value, error);
        case OPTION_LABEL:
                return add_label(ctl, value, error);
        case OPTION_PARAMS:
                ctl->params = value;
                return true;
        case OPTION_TIMEOUT:
                return set_timeout(ctl, value, error);
        case OPTION_HELP:
                *asked = ASKED_HELP;
                return true;
        case OPTION_VERSION:
                *asked = ASKED_VERSION;
                return true;
        default:
                return true;
        }
}

/* Those that are on or off. */
static void turn_on(Ctl *ctl, int option) {
        bool *const flags[_OPTION_MAX] = {
                [OPTION_NO_LEGEND] = &ctl->no_legend,
                [OPTION_NO_PAGER] = &ctl->no_pager,
                [OPTION_FULL] = &ctl->full,
                [OPTION_QUIET] = &ctl->quiet,
                [OPTION_NO_ASK_PASSWORD] = &ctl->no_ask_password,
                [OPTION_DRY_RUN] = &ctl->dry_run,
                [OPTION_TRANSIENT] = &ctl->transient,
                [OPTION_DESTROY_VGPUS] = &ctl->destroy_vgpus,
                [OPTION_ALL] = &ctl->all,
                [OPTION_XML] = &ctl->xml,
                [OPTION_REPLACE] = &ctl->replace,
        };

        if (flags[option])
                *flags[option] = true;
}

static int option_of_letter(int letter) {
        for (int i = 0; i < _OPTION_MAX; i++)
                if (option_specs[i].letter == letter)
                        return i;

        return -1;
}

/* What getopt can't make sense of: it has moved on already. */
static bool not_understood(int c, char *argv[], GError **error) {
        const char *given = optind > 0 ? argv[optind - 1] : "";

        if (optopt > 0 && optopt < 256)
                return usage(error, c == ':' ? "Option -%c needs a value" : "There is no option -%c", optopt);
        if (c == ':' || optopt >= 256)
                return usage(error, c == ':' ? "Option '%s' needs a value" : "Option '%s' takes no value",
                             given);

        return usage(error, "There is no option '%s', or it is short for several", given);
}

static bool read_options(Ctl *ctl, int argc, char *argv[], bool *given, Asked *ret_asked, GError **error) {
        struct option longs[_OPTION_MAX + 1] = {};
        g_autoptr(GString) letters = g_string_new(":");
        unsigned n = 0;
        int c;

        for (int i = 0; i < _OPTION_MAX; i++) {
                const OptionSpec *spec = &option_specs[i];

                if (spec->name[1] != '\0')
                        longs[n++] =
                                (struct option){ spec->name, spec->value ? required_argument : no_argument,
                                                 NULL, 256 + i };
                if (spec->letter)
                        g_string_append_printf(letters, "%c%s", spec->letter, spec->value ? ":" : "");
        }

        opterr = 0;
        while ((c = getopt_long(argc, argv, letters->str, longs, NULL)) >= 0) {
                int option = c >= 256 ? c - 256 : option_of_letter(c);

                if (c == '?' || c == ':' || option < 0)
                        return not_understood(c, argv, error);
                given[option] = true;
                turn_on(ctl, option);
                if (!take(ctl, option, optarg, ret_asked, error))
                        return false;
        }
        return true;
}

static bool check(const Ctl *ctl, const bool *given, char **args, GError **error) {
        const Verb *verb = verb_find(ctl->verb);
        unsigned n = g_strv_length(args);

        if (!verb)
                return usage(error, "There is no verb '%s'", ctl->verb);
        for (int i = 0; i < _OPTION_MAX; i++)
                if (given[i] && !option_is_for(&option_specs[i], ctl->verb))
                        return usage(error, "Option --%s is not for '%s', but for: %s", option_specs[i].name,
                                     ctl->verb, option_specs[i].verbs);
        if (n < verb->min)
                return usage(error, "'%s' needs more: carvectl %s %s", verb->name, verb->name, verb->args);
        if (n > verb->max)
                return usage(error, "'%s' is too much: carvectl %s%s%s", args[verb->max], verb->name,
                             *verb->args ? " " : "", verb->args);
        return true;
}

bool options_parse(Ctl *ctl, int argc, char *argv[], char ***ret_args, Asked *ret_asked, GError **error) {
        bool given[_OPTION_MAX] = {};
        Asked asked = ASKED_VERB;

        ctl->uuids = g_ptr_array_new_with_free_func(g_free);
        ctl->labels = g_ptr_array_new_with_free_func(g_free);
        ctl->number = 1;
        ctl->timeout_usec = TIMEOUT_SEC * G_USEC_PER_SEC;
        if (!read_options(ctl, argc, argv, given, &asked, error))
                return false;

        ctl->verb = optind < argc ? argv[optind] : "tree";
        *ret_args = optind < argc ? argv + optind + 1 : argv + argc;
        *ret_asked = asked;
        return asked != ASKED_VERB || check(ctl, given, *ret_args, error);
}

void options_clear(Ctl *ctl) {
        g_ptr_array_unref(ctl->uuids);
        g_ptr_array_unref(ctl->labels);
}
