/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <string.h>

#include "../tap.h"
#include "error.h"
#include "store.h"

/* Stored documents, and an intent with everything, for the tests of both. */

#define A        "dd6772a8-7db8-4e96-9a73-f94c389d9bc3"
#define B        "aaaaaaaa-7db8-4e96-9a73-f94c389d9bc3"
#define B_UPPER  "AAAAAAAA-7DB8-4E96-9A73-F94C389D9BC3"
#define IDENTITY "10de:25b6:10de:157e@0000:08:00.0"
#define STORED_IDENTITY                                                                                      \
        "\"identity\":{\"vendor\":\"10de\",\"device\":\"25b6\",\"subsystem-vendor\":\"10de\","               \
        "\"subsystem-device\":\"157e\",\"address\":\"0000:08:00.0\"}"
#define DOC(generation, intent)                                                                              \
        "{\"format\":1," STORED_IDENTITY ",\"generation\":" #generation ",\"intent\":" intent "}"
#define VGPU(more)  "{\"uuid\":\"" A "\",\"type\":\"nvidia-746\",\"framework\":\"mdev\"" more "}"
#define WITH(more)  DOC(1, "{\"vgpus\":[" VGPU(more) "]}")
#define ENTRY(gpus) "{\"format\":1,\"state\":\"prepared\",\"gpus\":[" gpus "]}"
#define GPU(more)   "{" STORED_IDENTITY ",\"generation\":8,\"intent\":{}" more "}"
#define DEEP4       "[[[["
#define DEEP16      DEEP4 DEEP4 DEEP4 DEEP4
#define DEEP4_END   "]]]]"
#define DEEP16_END  DEEP4_END DEEP4_END DEEP4_END DEEP4_END
#define LABELS(...) g_strdupv((char **) (const char *const[]){ __VA_ARGS__, NULL })
#define LINE64      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

#define TOP_REST   "\"lease\":{\"until\":[1,null,\"x\",1.5,{\"deep\":true}]}"
#define INNER_REST "\"partitions\":true"
#define VGPU_REST  ",\"profile\":{\"a\":[2]}"
#define NEWER                                                                                                \
        "{\"format\":1," STORED_IDENTITY                                                                     \
        ",\"generation\":1,\"intent\":{\"vgpus\":[" VGPU(VGPU_REST) "]," INNER_REST "}," TOP_REST "}"

static inline CarvedWanted *want(CarvedIntent *intent, const char *uuid, int32_t vf,
                                 CarvedFramework framework) {
        CarvedWanted *wanted = carved_wanted_new(uuid, vf, framework, "nvidia-746");

        g_ptr_array_add(intent->vgpus, wanted);
        return wanted;
}

static inline CarvedIntent *everything(void) {
        CarvedIntent *intent = carved_intent_new();
        CarvedWanted *wanted = want(intent, A, 0, CARVED_FRAMEWORK_MDEV);

        intent->identity = g_strdup(IDENTITY);
        intent->generation = 7;
        intent->vfs = 16;
        intent->labels = LABELS("rack", "7");
        wanted->type_name = g_strdup("NVIDIA A2-4Q");
        wanted->params = g_strdup("frame_rate_limiter=0");
        wanted->labels = LABELS("os", "\"a\\b\" é", "vm", "");
        wanted = want(intent, B, 3, CARVED_FRAMEWORK_VF_PASSTHROUGH);
        wanted->old_override = g_strdup("xe");
        wanted->transient = true;
        return intent;
}

static inline void assert_same_labels(const GStrv a, const GStrv b) {
        ck_assert_int_eq(!a, !b);
        ck_assert(!a || g_strv_equal((const char *const *) a, (const char *const *) b));
}

static inline void assert_same_wanted(const CarvedWanted *a, const CarvedWanted *b) {
        ck_assert_str_eq(a->uuid, b->uuid);
        ck_assert_int_eq(a->vf_index, b->vf_index);
        ck_assert_int_eq(a->framework, b->framework);
        ck_assert_pstr_eq(a->type, b->type);
        ck_assert_pstr_eq(a->type_name, b->type_name);
        ck_assert_pstr_eq(a->params, b->params);
        ck_assert_pstr_eq(a->old_override, b->old_override);
        ck_assert_int_eq(a->transient, b->transient);
        ck_assert_int_eq(a->leftover, b->leftover);
        assert_same_labels(a->labels, b->labels);
}

static inline void assert_same(const CarvedIntent *a, const CarvedIntent *b) {
        ck_assert_pstr_eq(a->identity, b->identity);
        ck_assert_uint_eq(a->generation, b->generation);
        ck_assert_int_eq(a->vfs, b->vfs);
        ck_assert_int_eq(a->vfs_transient, b->vfs_transient);
        ck_assert_int_eq(!a->rest, !b->rest);
        assert_same_labels(a->labels, b->labels);
        ck_assert_uint_eq(a->vgpus->len, b->vgpus->len);
        for (unsigned i = 0; i < a->vgpus->len; i++)
                assert_same_wanted(a->vgpus->pdata[i], b->vgpus->pdata[i]);
}

static inline void read_into(CarvedIntent *intent, const char *text, bool transient) {
        g_autoptr(GError) error = NULL;

        ck_assert_msg(carved_store_parse_intent(text, transient, intent, &error), "%s",
                      error ? error->message : "");
        ck_assert_ptr_null(error);
}
