/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include "bench.h"
#include "dump.h"
#include "unit.h"

/* Whole hosts: every one comes up, its tree hangs together, and a reboot leaves nothing behind. */

static const char *const hosts[] = { "a100",  "a2",   "dgx-a100", "h100", "l40s",
                                     "mixed", "mtty", "plain",    "t4",   "scale:3x16x4" };

static char *dump(Bench *bench) {
        GString *out = g_string_new(NULL);

        dump_tree(bench->kernel->tree->root, out);
        return g_string_free(out, FALSE);
}

static void each_node(Node *node, void (*check)(Node *node)) {
        check(node);
        for (unsigned i = 0; node->children && i < node->children->len; i++)
                each_node(node->children->pdata[i], check);
}

/* Walks a link's text as a program would that knows nothing but names. */
static void check_link(Node *node) {
        g_autofree char *text = NULL;
        g_auto(GStrv) names = NULL;
        Node *at = node->parent;

        if (node->kind != NODE_LINK)
                return;

        text = node_link_text(node);
        names = g_strsplit(text, "/", -1);
        for (char **name = names; *name; name++) {
                at = g_str_equal(*name, "..") ? at->parent : node_child(at, *name);
                ck_assert_msg(at, "'%s' in '%s' leads nowhere", text, node->parent->name);
        }
        ck_assert_ptr_eq(at, node->target);
        /* What programs take from it: the last name. */
        ck_assert_str_eq(names[g_strv_length(names) - 1], node->target->name);
}

START_TEST(every_link_leads_to_its_target) {
        Bench *bench = bench_new(hosts[_i]);

        each_node(bench->kernel->tree->root, check_link);
        bench_free(bench);
}
END_TEST

static void check_file(Node *node) {
        g_autoptr(GString) out = g_string_new(NULL);

        if (node->kind != NODE_FILE)
                return;

        /* Modes tell what a file can do. */
        ck_assert_msg(!node->attr->store || node->attr->mode & 0200,
                      "'%s' can be written, but its mode is %o", node->name, node->attr->mode);
        ck_assert_msg(!(node->attr->mode & 0444) || node->attr->show,
                      "'%s' can't be read, but its mode is %o", node->name, node->attr->mode);
        ck_assert_msg(node->attr->mode & 0444 || node->attr->store, "'%s' can be neither read nor written",
                      node->name);

        if (node->attr->show && node->attr->show(node->owner, node->attr, out) == 0 &&
            !g_str_equal(node->name, "config") && out->len > 0)
                ck_assert_msg(out->str[out->len - 1] == '\n', "'%s' has no line end", node->name);
}

START_TEST(every_file_can_be_read_as_its_mode_says) {
        Bench *bench = bench_new(hosts[_i]);

        each_node(bench->kernel->tree->root, check_file);
        bench_free(bench);
}
END_TEST

START_TEST(a_host_boots_the_same_each_time) {
        Bench *bench = bench_new(hosts[_i]);
        g_autofree char *before = dump(bench), *after = NULL;

        reboot(bench->kernel, bench->host);
        reboot(bench->kernel, bench->host);
        after = dump(bench);
        ck_assert_str_eq(before, after);
        bench_free(bench);
}
END_TEST

START_TEST(what_was_carved_is_gone_after_a_reboot) {
        Bench *bench = bench_new("mixed");
        g_autofree char *before = dump(bench), *carved = NULL, *after = NULL;

        bench_enable_vfs(bench, "0000:08:00.0", 16);
        bench_enable_vfs(bench, "0000:26:00.0", 32);
        assert_stores(bench, "bus/pci/devices/0000:05:00.0/sriov_numvfs", "8");
        assert_stores(bench, "bus/pci/devices/0000:08:00.4/mdev_supported_types/nvidia-746/create",
                      "12345678-0000-0000-0000-00000000000a");
        assert_stores(bench, "bus/pci/devices/0000:3b:00.0/mdev_supported_types/nvidia-319/create",
                      "12345678-0000-0000-0000-00000000000b");
        assert_stores(bench, "bus/pci/devices/0000:26:00.4/nvidia/current_vgpu_type", "1155");
        assert_stores(bench, "bus/pci/devices/0000:5e:00.0/driver_override", "vfio-pci");
        assert_stores(bench, "bus/pci/devices/0001:c8:00.0/remove", "1");
        carved = dump(bench);
        ck_assert_str_ne(before, carved);

        reboot(bench->kernel, bench->host);
        after = dump(bench);
        ck_assert_str_eq(before, after);
        bench_free(bench);
}
END_TEST

START_TEST(a_reboot_does_not_wait_for_what_is_under_way) {
        Bench *bench = bench_new("a2");
        int64_t start;

        /* Types would come in an hour. */
        assert_stores(bench, "bus/pci/drivers/nvidia/unbind", "0000:08:00.0");
        bench->kernel->pace.types = 60 * 60 * 1000;
        assert_stores(bench, "bus/pci/drivers/nvidia/bind", "0000:08:00.0");
        ck_assert_uint_gt(bench->kernel->inside, 0);

        start = g_get_monotonic_time();
        reboot(bench->kernel, bench->host);
        ck_assert_int_lt(g_get_monotonic_time() - start, 30 * G_USEC_PER_SEC);
        ck_assert_uint_eq(bench->kernel->inside, 0);
        bench_free(bench);
}
END_TEST

START_TEST(another_host_can_be_booted_on_the_same_kernel) {
        Bench *bench = bench_new("mixed");
        g_autoptr(HostSpec) other = host_spec_load(SIM_SOURCE_DIR, "mtty", NULL);
        Bench *fresh = bench_new("mtty");
        g_autofree char *expected = dump(fresh), *actual = NULL;

        reboot(bench->kernel, other);
        actual = dump(bench);
        ck_assert_str_eq(actual, expected);
        bench_free(fresh);
        bench_free(bench);
}
END_TEST

START_TEST(a_card_can_be_put_in_later) {
        Bench *bench = bench_new("mtty");
        g_autoptr(GpuSpec) card = board_load(SIM_SOURCE_DIR, "a2", NULL);

        ck_assert(carved_pci_address_parse("0000:08:00.0", &card->address));
        boot_plug(bench->kernel, card);
        bench_settle(bench);
        bench_enable_vfs(bench, "0000:08:00.0", 4);
        ck_assert(bench_exists(bench, "bus/pci/devices/0000:08:00.4/mdev_supported_types/nvidia-746"));
        bench_free(bench);
        ck_assert_uint_eq(card->refs, 1);
}
END_TEST

#define MTTY "devices/virtual/mtty/mtty/"

START_TEST(mtty_has_24_ports_for_both_its_types) {
        Bench *bench = bench_new("mtty");

        assert_shows(bench, MTTY "mdev_supported_types/mtty-1/available_instances", "24\n");
        assert_shows(bench, MTTY "mdev_supported_types/mtty-2/available_instances", "12\n");
        assert_stores(bench, MTTY "mdev_supported_types/mtty-2/create",
                      "12345678-0000-0000-0000-00000000000a");
        assert_shows(bench, MTTY "mdev_supported_types/mtty-1/available_instances", "22\n");
        assert_shows(bench, MTTY "mdev_supported_types/mtty-2/available_instances", "11\n");
        assert_stores(bench, MTTY "12345678-0000-0000-0000-00000000000a/remove", "1");
        assert_shows(bench, MTTY "mdev_supported_types/mtty-1/available_instances", "24\n");
        bench_free(bench);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("boot");

        add_table_test(tests, every_link_leads_to_its_target, hosts);
        add_table_test(tests, every_file_can_be_read_as_its_mode_says, hosts);
        add_table_test(tests, a_host_boots_the_same_each_time, hosts);
        tcase_add_test(tests, what_was_carved_is_gone_after_a_reboot);
        tcase_add_test(tests, a_reboot_does_not_wait_for_what_is_under_way);
        tcase_add_test(tests, another_host_can_be_booted_on_the_same_kernel);
        tcase_add_test(tests, a_card_can_be_put_in_later);
        tcase_add_test(tests, mtty_has_24_ports_for_both_its_types);
        return unit_run(tests, "boot");
}
