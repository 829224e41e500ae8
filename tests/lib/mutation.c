/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <stdio.h>
#include <string.h>

#include "../tap.h"
#include "snapshot.h"
#include "sysfs.h"
#include "udev.h"
#include "vgpu-config.h"
#include "vgpu-type.h"

/* A poor man's fuzzer: texts that drivers really write, changed at random, given to every parser. What counts
 * is that the sanitizers stay silent. CARVED_SEED repeats a run. */

#define ROUNDS 20000

static const char *const corpus[] = {
        "num_heads=4, frl_config=60, framebuffer=4096M, max_resolution=7680x4320, max_instance=4\n",
        "low_gm_size: 128MB\nhigh_gm_size: 512MB\nfence: 4\nresolution: 1920x1200\nweight: 4\n",
        "ID    : vGPU Name\n1145  : NVIDIA L40S-1B\n2164  : NVIDIA L40S-3B\n",
        "NVIDIA A40-1Q   557\n",
        "0x10de\n",
        "-1\n",
        "Not Applicable\n",
        "(null)\n",
        "nvidia-746",
        "vfio-pci-575",
        "/devices/pci0000:00/0000:00:08.0/0000:08:00.4/dd6772a8-7db8-4e96-9a73-f94c389d9bc3",
        "<v><vgpuType id=\"5\" name=\"x\"><display width=\"1\" "
        "height=\"2\"/><profileSize>0x100000</profileSize></vgpuType>"
        "<pgpu><devId vendorId=\"0\" deviceId=\"0\"/><supportedVgpu "
        "vgpuId=\"5\"><maxVgpus>3</maxVgpus></supportedVgpu></pgpu></v>",
};

static GString *mutate(GRand *dice) {
        GString *s = g_string_new(corpus[g_rand_int_range(dice, 0, G_N_ELEMENTS(corpus))]);

        for (int i = g_rand_int_range(dice, 0, 8); i > 0; i--) {
                gsize at = (gsize) g_rand_int_range(dice, 0, (int) s->len + 1);
                const char *other = corpus[g_rand_int_range(dice, 0, G_N_ELEMENTS(corpus))];

                switch (g_rand_int_range(dice, 0, 4)) {
                case 0:
                        if (at < s->len)
                                s->str[at] = (char) g_rand_int_range(dice, 1, 256);
                        break;
                case 1:
                        g_string_truncate(s, at);
                        break;
                case 2:
                        g_string_insert(s, (gssize) at, other);
                        break;
                default:
                        g_string_insert_c(s, (gssize) at, "=:,.x-0\n"[g_rand_int_range(dice, 0, 8)]);
                }
        }
        return s;
}

static void feed(const char *text, gsize len) {
        g_autoptr(GArray) creatable = carved_creatable_parse(text);
        g_autoptr(CarvedGpu) gpu = carved_gpu_new(&(CarvedPciAddress){ 0 });
        g_autoptr(GPtrArray) list = carved_vgpu_config_parse(text, len, gpu, NULL);
        g_autofree char *resource = carved_resource_name("nvidia.com", text);
        CarvedType *type = carved_type_new(text);
        CarvedPciAddress address;
        uint32_t number;
        int64_t value;

        carved_type_parse_description(type, text);
        carved_type_id_number(text, &number);
        carved_sysfs_parse_number(text, INT64_MIN, INT64_MAX, &value);
        carved_udev_path_address(text, &address);
        carved_pci_address_parse(text, &address);
        carved_uuid_is_valid(text);
        ck_assert_int_eq(carved_type_id_compare(text, text), 0);
        carved_type_free(type);
}

static uint32_t seed(void) {
        const char *given = g_getenv("CARVED_SEED");
        uint32_t value = given ? (uint32_t) g_ascii_strtoull(given, NULL, 10) : g_random_int();

        printf("# CARVED_SEED=%u\n", value);
        fflush(stdout);
        return value;
}

START_TEST(parsers_survive_any_text) {
        g_autoptr(GRand) dice = g_rand_new_with_seed(seed());

        for (unsigned i = 0; i < ROUNDS; i++) {
                GString *s = mutate(dice);

                feed(s->str, s->len);
                g_string_free(s, TRUE);
        }
}
END_TEST

/* A worker that lost its mind writes bytes. */
START_TEST(snapshots_survive_any_bytes) {
        g_autoptr(GRand) dice = g_rand_new_with_seed(seed());
        g_autoptr(CarvedGpu) gpu = carved_gpu_new(&(CarvedPciAddress){ 0 });
        g_autoptr(GVariant) good = NULL;

        carved_gpu_add_vf(gpu, 0, &gpu->address);
        carved_gpu_add_vgpu(gpu, "dd6772a8-7db8-4e96-9a73-f94c389d9bc3", 0);
        g_ptr_array_add(gpu->types, carved_type_new("nvidia-746"));
        carved_gpu_finish(gpu);
        good = g_variant_ref_sink(carved_snapshot_to_variant(gpu));

        for (unsigned i = 0; i < ROUNDS; i++) {
                gsize size = g_variant_get_size(good);
                guint8 *bytes = g_memdup2(g_variant_get_data(good), size);
                g_autoptr(GVariant) bad = NULL;

                for (int n = g_rand_int_range(dice, 1, 6); n > 0; n--)
                        bytes[g_rand_int_range(dice, 0, (int) size)] =
                                (guint8) g_rand_int_range(dice, 0, 256);
                bad = g_variant_ref_sink(
                        g_variant_new_from_data(g_variant_get_type(good), bytes, size, FALSE, g_free, bytes));
                carved_gpu_free(carved_snapshot_from_variant(bad));
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("mutation");
        TCase *tcase = tcase_create("mutation");

        tcase_set_timeout(tcase, 120);
        tcase_add_test(tcase, parsers_survive_any_text);
        tcase_add_test(tcase, snapshots_survive_any_bytes);
        suite_add_tcase(suite, tcase);
        return tap_run(suite);
}
