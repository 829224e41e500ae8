/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "intent.h"

static bool may_be_same(const char *a, const char *b) {
        return !a || !b || strcmp(a, b) == 0;
}

bool carved_intent_is_for(const CarvedIntent *intent, const CarvedGpu *gpu) {
        g_autofree char *identity = carved_gpu_identity(gpu);

        return g_strcmp0(intent->identity, identity) == 0 && may_be_same(intent->serial, gpu->serial) &&
               may_be_same(intent->gpu_uuid, gpu->gpu_uuid);
}

/* Those that are asked for are there, and no others. */
static bool is_cut_so(const CarvedMig *mig, const GArray *layout) {
        for (unsigned i = 0; i < layout->len; i++)
                if (!carved_mig_find_wanted(mig, &g_array_index(layout, CarvedWantedInstance, i)))
                        return false;
        for (unsigned i = 0; i < mig->instances->len; i++)
                if (!carved_mig_is_wanted(mig, layout, mig->instances->pdata[i]))
                        return false;

        return true;
}

static CarvedMigSync sync_of(const CarvedIntent *intent, const CarvedMig *mig) {
        if (!mig)
                return intent->mig > 0 || intent->layout ? CARVED_MIG_OUT_OF_SYNC : CARVED_MIG_DISABLED;
        if ((intent->mig >= 0 && (intent->mig > 0) != mig->enabled) ||
            (intent->layout && !is_cut_so(mig, intent->layout)))
                return CARVED_MIG_OUT_OF_SYNC;

        return mig->enabled ? CARVED_MIG_SYNCED : CARVED_MIG_DISABLED;
}

bool carved_intent_apply_mig(const CarvedIntent *intent, CarvedGpu *gpu) {
        static const char needs_reset[] = "It takes effect when the card is reset, or the host rebooted";

        g_clear_pointer(&gpu->layout, g_array_unref);
        g_clear_pointer(&gpu->mig_trouble, g_free);
        if (gpu->mismatch) {
                gpu->mig_sync = gpu->mig && gpu->mig->enabled ? CARVED_MIG_SYNCED : CARVED_MIG_DISABLED;
                return true;
        }

        gpu->layout = intent->layout ? g_array_copy(intent->layout) : NULL;
        gpu->mig_sync = sync_of(intent, gpu->mig);
        if (gpu->mig_sync != CARVED_MIG_OUT_OF_SYNC)
                return true;

        gpu->mig_trouble = g_strdup(intent->mig_error);
        if (!gpu->mig_trouble && gpu->mig && gpu->mig->enabled != gpu->mig->pending)
                gpu->mig_trouble = g_strdup(needs_reset);
        return false;
}

void carved_intent_note_mig(CarvedIntent *intent, const CarvedGpu *gpu) {
        GArray *left = intent->leftover_instances;

        /* Until now nobody could tell which of the cards of its model it is for. */
        if (intent->identity && !intent->serial)
                intent->serial = g_strdup(gpu->serial);
        if (intent->identity && !intent->gpu_uuid)
                intent->gpu_uuid = g_strdup(gpu->gpu_uuid);
        if (gpu->mig_sync != CARVED_MIG_OUT_OF_SYNC)
                g_clear_pointer(&intent->mig_error, g_free);
        if (intent->leftover_mixed_size == gpu->mixed_size || gpu->num_vfs == 0)
                intent->leftover_mixed_size = -1;
        if (!gpu->mig)
                return;

        for (unsigned i = left ? left->len : 0; i > 0; i--)
                if (!carved_mig_find_wanted(gpu->mig, &g_array_index(left, CarvedWantedInstance, i - 1)))
                        g_array_remove_index(left, i - 1);
        if (left && left->len == 0)
                g_clear_pointer(&intent->leftover_instances, g_array_unref);
        if (intent->leftover_mig == gpu->mig->pending)
                intent->leftover_mig = -1;
}
