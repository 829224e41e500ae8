/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "unit.h"

/* Host and board files: those we ship are read, bad ones are refused with file, place and reason. */

static char *data_dir; /* of a test's own boards */

static void write_file(const char *name, const char *text, gssize len) {
        g_autofree char *path = g_build_filename(data_dir, name, NULL);

        ck_assert(g_file_set_contents(path, text, len, NULL));
}

static void setup(void) {
        g_autofree char *boards = NULL;

        data_dir = g_dir_make_tmp("carved-unit-XXXXXX", NULL);
        ck_assert_ptr_nonnull(data_dir);
        boards = g_build_filename(data_dir, "boards", NULL);
        ck_assert_int_eq(g_mkdir_with_parents(boards, 0700), 0);
}

static void remove_files(const char *dir) {
        g_autoptr(GDir) d = g_dir_open(dir, 0, NULL);
        const char *name;

        while (d && (name = g_dir_read_name(d))) {
                g_autofree char *path = g_build_filename(dir, name, NULL);

                if (g_file_test(path, G_FILE_TEST_IS_DIR))
                        remove_files(path);
                remove(path);
        }
}

static void teardown(void) {
        remove_files(data_dir);
        rmdir(data_dir);
        g_clear_pointer(&data_dir, g_free);
}

/* @text as the file x.json; quotes in it are written as ' here. */
static HostSpec *parse(const char *text, GError **error) {
        g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');

        return host_spec_parse(SIM_SOURCE_DIR, "x.json", json, strlen(json), error);
}

static GpuSpec *only_gpu(const HostSpec *host) {
        ck_assert_uint_eq(host->gpus->len, 1);
        return host->gpus->pdata[0];
}

START_TEST(every_shipped_host_is_read) {
        static const struct {
                const char *name;
                unsigned gpus;
                const char *first;
        } hosts[] = {
                { "a2", 1, "0000:08:00.0" },    { "l40s", 1, "0000:26:00.0" },
                { "mixed", 7, "0000:05:00.0" }, { "mtty", 0, NULL },
                { "plain", 1, "0000:05:00.0" }, { "t4", 1, "0000:3b:00.0" },
                { "a100", 1, "0000:04:00.0" },  { "dgx-a100", 8, "0000:07:00.0" },
                { "h100", 1, "0000:19:00.0" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(hosts); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(HostSpec) host = host_spec_load(SIM_SOURCE_DIR, hosts[i].name, &error);
                char text[CARVED_PCI_ADDRESS_MAX];

                ck_assert_msg(host, "%s", error ? error->message : "");
                ck_assert_uint_eq(host->gpus->len, hosts[i].gpus);
                ck_assert(host->iommu && !host->vfio_cdev);
                if (hosts[i].first)
                        ck_assert_str_eq(
                                carved_pci_address_format(&((GpuSpec *) host->gpus->pdata[0])->address, text),
                                hosts[i].first);
        }
}
END_TEST

/* Whatever is added later too. */
static void each_shipped(const char *kind, void (*check)(const char *name)) {
        g_autofree char *path = g_build_filename(SIM_SOURCE_DIR, kind, NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *file;
        unsigned n = 0;

        ck_assert_ptr_nonnull(dir);
        while ((file = g_dir_read_name(dir))) {
                g_autofree char *name = g_strdup(file);

                if (!g_str_has_suffix(name, ".json"))
                        continue;
                name[strlen(name) - strlen(".json")] = '\0';
                check(name);
                n++;
        }
        ck_assert_uint_ge(n, 5);
}

static void check_host(const char *name) {
        g_autoptr(GError) error = NULL;
        g_autoptr(HostSpec) host = host_spec_load(SIM_SOURCE_DIR, name, &error);

        ck_assert_msg(host, "%s", error ? error->message : "");
        ck_assert_ptr_nonnull(host->description);
        ck_assert(host->gpus->len > 0 || host->mtty);
}

static void check_board(const char *name) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GpuSpec) gpu = board_load(SIM_SOURCE_DIR, name, &error);

        ck_assert_msg(gpu, "%s", error ? error->message : "");
        ck_assert_str_eq(gpu->board, name);
        ck_assert_ptr_nonnull(gpu->home_driver);
        ck_assert_str_eq(gpu->driver, gpu->home_driver);
}

START_TEST(every_host_and_board_in_the_tree_is_read) {
        each_shipped("hosts", check_host);
        each_shipped("boards", check_board);
}
END_TEST

START_TEST(a_board_is_read_as_it_is_written) {
        g_autoptr(GpuSpec) gpu = board_load(SIM_SOURCE_DIR, "a2", NULL);
        const TypeSpec *type;

        ck_assert_ptr_nonnull(gpu);
        ck_assert_uint_eq(gpu->vendor, 0x10de);
        ck_assert_uint_eq(gpu->device, 0x25b6);
        ck_assert_uint_eq(gpu->subsystem_vendor, 0x10de);
        ck_assert_uint_eq(gpu->subsystem_device, 0x157e);
        ck_assert_uint_eq(gpu->class, 0x030200);
        ck_assert_uint_eq(gpu->revision, 0xa1);
        ck_assert_int_eq(gpu->numa_node, 0);
        ck_assert_uint_eq(gpu->total_vfs, 16);
        ck_assert_uint_eq(gpu->vf_offset, 4);
        ck_assert_uint_eq(gpu->vf_stride, 1);
        ck_assert_uint_eq(gpu->vf_device, 0x25b6);
        ck_assert_int_eq(gpu->framework, FRAMEWORK_MDEV);
        ck_assert_uint_eq(gpu->types->len, 15);

        type = gpu->types->pdata[4];
        ck_assert_uint_eq(type->id, 746);
        ck_assert_str_eq(type->name, "NVIDIA A2-4Q");
        ck_assert_str_eq(type->class, "Quadro");
        ck_assert_uint_eq(type->heads, 4);
        ck_assert_uint_eq(type->frame_rate_limit, 60);
        ck_assert_uint_eq(type->framebuffer_mib, 4096);
        ck_assert_uint_eq(type->width, 7680);
        ck_assert_uint_eq(type->height, 4320);
        ck_assert_uint_eq(type->max, 4);
}
END_TEST

START_TEST(keys_of_the_gpu_stand_over_its_board_wherever_they_are) {
        static const char *const texts[] = {
                "{'format':1,'gpus':[{'board':'a2','address':'8:0.0','numa-node':1,'bound-to':'none','device'"
                ":'1234'}]}",
                "{'format':1,'gpus':[{'device':'1234','bound-to':'none','numa-node':1,'address':'8:0.0','"
                "board':'a2'}]}",
        };
        g_autoptr(GError) error = NULL;
        g_autoptr(HostSpec) host = parse(texts[_i], &error);
        GpuSpec *gpu;

        ck_assert_msg(host, "%s", error ? error->message : "");
        gpu = only_gpu(host);
        ck_assert_int_eq(gpu->numa_node, 1);
        ck_assert_uint_eq(gpu->device, 0x1234);
        ck_assert_uint_eq(gpu->vendor, 0x10de);
        ck_assert_ptr_null(gpu->driver);
        ck_assert_str_eq(gpu->home_driver, "nvidia");
        ck_assert_str_eq(gpu->board, "a2");
}
END_TEST

START_TEST(types_of_the_gpu_replace_all_of_its_board) {
        g_autoptr(HostSpec) host = parse("{'format':1,'gpus':[{'address':'8:0.0','board':'a2','types':["
                                         "{'id':742,'name':'A','fb-mib':1,'max':1}]}]}",
                                         NULL);

        ck_assert_ptr_nonnull(host);
        ck_assert_uint_eq(only_gpu(host)->types->len, 1);
}
END_TEST

START_TEST(what_is_not_said_has_its_default) {
        g_autoptr(HostSpec) host =
                parse("{'format':1,'gpus':[{'address':'8:0.0','vendor':'1b36','device':'0100'}]}", NULL);
        GpuSpec *gpu;

        ck_assert_ptr_nonnull(host);
        ck_assert(host->iommu && !host->mtty && !host->vfio_cdev);
        ck_assert_ptr_null(host->description);
        gpu = only_gpu(host);
        ck_assert_uint_eq(gpu->class, 0x030200);
        ck_assert_int_eq(gpu->numa_node, -1);
        ck_assert_ptr_null(gpu->driver);
        ck_assert_ptr_null(gpu->board);
        ck_assert_uint_eq(gpu->total_vfs, 0);
        ck_assert_uint_eq(gpu->vf_device, 0x0100);
        ck_assert_int_eq(gpu->framework, FRAMEWORK_NONE);
        ck_assert(!gpu->vfs_on && !gpu->strict_errnos && !gpu->remove_refuses && !gpu->no_vgpud &&
                  !gpu->no_vgpu_driver);
}
END_TEST

/* A GPU at 8:0.0 that is well, with more keys. */
#define GPU(more)   "{'format':1,'gpus':[{'address':'8:0.0','vendor':'10de','device':'25b6'" more "}]}"
#define TYPE(keys)  GPU(",'types':[{" keys "}]")
#define SRIOV(keys) GPU(",'sriov':{" keys "}")

static const struct {
        const char *text, *message;
} bad_hosts[] = {
        { "{}", "x.json: format: missing; it is 1" },
        { "[]", "x.json: must be a JSON object" },
        { "1", "x.json: must be a JSON object" },
        { "{'format':2}", "x.json: format: must be a number from 1 to 1" },
        { "{'format':'1'}", "x.json: format: must be a number from 1 to 1" },
        { "{'format':1.0}", "x.json: format: must be a number from 1 to 1" },
        { "{'format':null}", "x.json: format: must be a number from 1 to 1" },
        { "{'format':[1]}", "x.json: format: must be a number from 1 to 1" },
        { "{'format':1,'gpu':[]}", "x.json: gpu: no such key" },
        { "{'format':1,'nvml':'gone'}",
          "x.json: nvml: 'gone' is not one of present, not-loaded, mismatch, absent" },
        { "{'format':1,'nvml-lacks':['malloc']}", "x.json: nvml-lacks[0]: 'malloc' is no function of NVML" },
        { "{'format':1,'Gpus':[]}", "x.json: Gpus: no such key" },
        { "{'format':1,'gpus':{}}", "x.json: gpus: must be a list" },
        { "{'format':1,'gpus':[1]}", "x.json: gpus[0]: must be an object" },
        { "{'format':1,'gpus':[{}]}", "x.json: gpus[0]: needs an address" },
        { "{'format':1,'gpus':[{'address':'8:0.0'}]}",
          "x.json: gpus[0]: needs a board, or vendor and device" },
        { "{'format':1,'gpus':[{'address':8}]}", "x.json: gpus[0].address: must be a text in quotes" },
        { "{'format':1,'gpus':[{'address':'8'}]}",
          "x.json: gpus[0].address: '8' is not a PCI address, such as 0000:08:00.0" },
        { "{'format':1,'gpus':[{'address':'8:0.0','board':'a2'},{'address':'0000:08:00.0','board':'t4'}]}",
          "x.json: gpus[1]: two GPUs at 0000:08:00.0" },
        { "{'format':1,'gpus':[{'address':'8:0.0','board':'a2'},{'address':'9:0.0','board':''}]}",
          "x.json: gpus[1].board: '' is not the name of a board" },
        { "{'format':1,'gpus':[{'address':'8:0.0','board':'../hosts/a2'}]}",
          "x.json: gpus[0].board: '../hosts/a2' is not the name of a board" },
        { "{'format':1,'gpus':[{'address':'8:0.0','board':2}]}",
          "x.json: gpus[0].board: must be a text in quotes" },
        { "{'format':1,'gpus':[{'address':'8:0.0','board':'nix'}]}",
          "x.json: gpus[0].board: there is no board 'nix'" },
        { "{'format':1,'mtty':1}", "x.json: mtty: must be true or false" },
        { "{'format':1,'iommu':'yes'}", "x.json: iommu: must be true or false" },
        { "{'format':1,'vfio-cdev':null}", "x.json: vfio-cdev: must be true or false" },
        { "{'format':1,'description':7}", "x.json: description: must be a text in quotes" },
        { "{'format':1,'description':''}", "x.json: description: must be one line" },
        { "{'format':1,'description':'a\\nb'}", "x.json: description: must be one line" },
        { GPU(",'more':1"), "x.json: gpus[0].more: no such key" },
        { GPU(",'vendor':'10DE'"), "x.json: gpus[0].vendor: '10DE' is not 4 lower-case hexadecimal digits" },
        { GPU(",'vendor':'0x10de'"),
          "x.json: gpus[0].vendor: '0x10de' is not 4 lower-case hexadecimal digits" },
        { GPU(",'vendor':'0000'"), "x.json: gpus[0]: needs a board, or vendor and device" },
        { GPU(",'device':''"), "x.json: gpus[0].device: '' is not 4 lower-case hexadecimal digits" },
        { GPU(",'subsystem-vendor':4318"), "x.json: gpus[0].subsystem-vendor: must be a text in quotes" },
        { GPU(",'class':'0302'"), "x.json: gpus[0].class: '0302' is not 6 lower-case hexadecimal digits" },
        { GPU(",'revision':'a'"), "x.json: gpus[0].revision: 'a' is not 2 lower-case hexadecimal digits" },
        { GPU(",'driver':'a/b'"), "x.json: gpus[0].driver: must be one line without a slash" },
        { GPU(",'bound-to':''"), "x.json: gpus[0].bound-to: must be one line without a slash" },
        { GPU(",'bound-to':'vfio-pci'"),
          "x.json: gpus[0]: bound-to needs driver: the one that knows the card" },
        { GPU(",'numa-node':-2"), "x.json: gpus[0].numa-node: must be a number from -1 to 1023" },
        { GPU(",'numa-node':1024"), "x.json: gpus[0].numa-node: must be a number from -1 to 1023" },
        { GPU(",'vfs-on':1"), "x.json: gpus[0].vfs-on: must be true or false" },
        { GPU(",'vfs-on':true"), "x.json: gpus[0]: vfs-on needs sriov" },
        { GPU(",'framework':'mig'"),
          "x.json: gpus[0].framework: 'mig' is not one of none, mdev, vendor-vfio" },
        { GPU(",'framework':1"), "x.json: gpus[0].framework: must be a text in quotes" },
        { GPU(",'framework':'mdev'"), "x.json: gpus[0]: a framework needs types" },
        { GPU(",'framework':'vendor-vfio'"), "x.json: gpus[0]: vendor-vfio needs sriov: only VFs have it" },
        { GPU(",'types':{}"), "x.json: gpus[0].types: must be a list" },
        { GPU(",'types':[[]]"), "x.json: gpus[0].types[0]: must be an object" },
        { GPU(",'sriov':16"), "x.json: gpus[0].sriov: must be an object" },
        { SRIOV(""), "x.json: gpus[0].sriov: total-vfs must be a number from 1 to 255" },
        { SRIOV("'total-vfs':256,'offset':4"),
          "x.json: gpus[0].sriov: total-vfs must be a number from 1 to 255" },
        { SRIOV("'total-vfs':-1"), "x.json: gpus[0].sriov.total-vfs: must be a number from 0 to 16777215" },
        { SRIOV("'total-vfs':16"), "x.json: gpus[0].sriov: offset and stride must be numbers from 1 to 255" },
        { SRIOV("'total-vfs':16,'offset':4,'stride':0"),
          "x.json: gpus[0].sriov: offset and stride must be numbers from 1 to 255" },
        { SRIOV("'total-vfs':16,'offset':256"),
          "x.json: gpus[0].sriov: offset and stride must be numbers from 1 to 255" },
        { SRIOV("'total-vfs':16,'offset':4,'vfs':1"), "x.json: gpus[0].sriov.vfs: no such key" },
        { SRIOV("'total-vfs':16,'offset':241"),
          "x.json: gpus[0]: the last VF would be on bus 09: one bus must do" },
        { SRIOV("'total-vfs':255,'offset':255,'stride':255"),
          "x.json: gpus[0]: the last VF would be on bus 06: one bus must do" },
        { TYPE(""), "x.json: gpus[0].types[0]: a type needs id, name, fb-mib and max" },
        { TYPE("'id':1,'name':'A','fb-mib':1"),
          "x.json: gpus[0].types[0]: a type needs id, name, fb-mib and max" },
        { TYPE("'id':1,'name':'A','max':1"),
          "x.json: gpus[0].types[0]: a type needs id, name, fb-mib and max" },
        { TYPE("'id':1,'max':1,'fb-mib':1"),
          "x.json: gpus[0].types[0]: a type needs id, name, fb-mib and max" },
        { TYPE("'name':'A','max':1,'fb-mib':1"),
          "x.json: gpus[0].types[0]: a type needs id, name, fb-mib and max" },
        { TYPE("'id':1,'name':'A','fb-mib':1,'max':1},{'id':1,'name':'B','fb-mib':1,'max':1"),
          "x.json: gpus[0].types[1]: id 1 is there twice" },
        { TYPE("'id':16777216"), "x.json: gpus[0].types[0].id: must be a number from 0 to 16777215" },
        { TYPE("'heads':1.5"), "x.json: gpus[0].types[0].heads: must be a number from 0 to 16777215" },
        { TYPE("'resolution':'big'"),
          "x.json: gpus[0].types[0].resolution: 'big' is not a resolution, such as 5120x2880" },
        { TYPE("'resolution':'1x'"),
          "x.json: gpus[0].types[0].resolution: '1x' is not a resolution, such as 5120x2880" },
        { TYPE("'resolution':'1x2x'"),
          "x.json: gpus[0].types[0].resolution: '1x2x' is not a resolution, such as 5120x2880" },
        { TYPE("'resolution':'100000x1'"),
          "x.json: gpus[0].types[0].resolution: '100000x1' is not a resolution, such as 5120x2880" },
        { TYPE("'resolution':'-1x-1'"),
          "x.json: gpus[0].types[0].resolution: '-1x-1' is not a resolution, such as 5120x2880" },
        { TYPE("'resolution':' 1x+1'"),
          "x.json: gpus[0].types[0].resolution: ' 1x+1' is not a resolution, such as 5120x2880" },
        { TYPE("'resolution':5120"), "x.json: gpus[0].types[0].resolution: must be a text in quotes" },
        { TYPE("'name':'a/b'"), "x.json: gpus[0].types[0].name: must be one line without a slash" },
        { TYPE("'size':1"), "x.json: gpus[0].types[0].size: no such key" },
        { "[[[[[[[[[[[[[[[[[", "x.json: nested more than 16 deep" },
        { "{'a':[{'a':[{'a':[{'a':[{'a':[{'a':[{'a':[{'a':[{", "x.json: nested more than 16 deep" },
        { "", "x.json: must be a JSON object" },
};

START_TEST(a_bad_file_is_refused_with_file_place_and_reason) {
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(parse(bad_hosts[_i].text, &error));
        ck_assert_ptr_nonnull(error);
        ck_assert(error->domain == SIM_ERROR);
        ck_assert_str_eq(error->message, bad_hosts[_i].message);
}
END_TEST

/* The rest of the sentence is the parser's. */
static const char *const not_json[] = {
        "{",
        "x",
        "{'format':1,}",
        "{'format' 1}",
        "{'format':1}}",
        "\xff\xfe",
        "{'format':1 /* a comment */}",
        "// a comment\n{'format':1}",
};

START_TEST(what_is_not_json_is_said_to_be_so) {
        g_autoptr(GError) error = NULL;

        ck_assert_ptr_null(parse(not_json[_i], &error));
        ck_assert_msg(g_str_has_prefix(error->message, "x.json: not JSON: "), "%s", error->message);
}
END_TEST

/* Each would hide a quote from whoever counts brackets and knows JSON only. */
static const char *const hiding_places[] = { "/* \" */", "// \"\n", "'\"'" };

START_TEST(no_brackets_go_uncounted) {
        g_autoptr(GString) text = g_string_new(hiding_places[_i]);
        g_autofree char *brackets = g_strnfill(1 << 20, '[');
        g_autoptr(GError) error = NULL;

        g_string_append(text, brackets);
        ck_assert_ptr_null(host_spec_parse(SIM_SOURCE_DIR, "x.json", text->str, text->len, &error));
        ck_assert(g_str_has_prefix(error->message, "x.json: "));
}
END_TEST

START_TEST(brackets_in_a_text_are_no_nesting) {
        g_autoptr(GError) error = NULL;
        g_autoptr(HostSpec) host =
                parse("{'format':1,'description':'[[[[[[[[[[[[[[[[[{{{{{{{{{{{{{{{{{ \\'[[[[[[[[[[[[[[[[['}",
                      &error);

        ck_assert_msg(host, "%s", error ? error->message : "");
}
END_TEST

/* Two cards of 8 VFs on functions 1 to 8 behind their own. */
static const struct {
        const char *one, *other;
        bool fit;
} neighbours[] = {
        { "8:0.0", "8:1.0", false }, { "8:0.0", "8:1.1", true }, { "8:1.1", "8:0.0", true },
        { "8:0.4", "8:0.0", false }, { "8:0.0", "9:0.4", true }, { "8:0.0", "1:8:0.4", true },
        { "0:1.0", "8:0.0", false }, /* root ports are on bus 0 */
};

START_TEST(cards_whose_vfs_would_meet_are_refused) {
        g_autofree char *text = g_strdup_printf("{'format':1,'gpus':[{'address':'%s','board':'plain'},"
                                                "{'address':'%s','board':'plain'}]}",
                                                neighbours[_i].one, neighbours[_i].other);
        g_autoptr(GError) error = NULL;
        g_autoptr(HostSpec) host = parse(text, &error);

        ck_assert_int_eq(!!host, neighbours[_i].fit);
        ck_assert_int_eq(!error, neighbours[_i].fit);
        ck_assert(!error || g_str_has_prefix(error->message, "x.json: "));
}
END_TEST

#define MIG_SLICES "'memory-slices':8,'compute-slices':7,"
#define MIG_PROFILE(more)                                                                                    \
        "'profiles':[{'id':14,'enum':1,'name':'2g','max':1,'slices':2,'size':2,'starts':[0]" more "}]"

static const struct {
        const char *board, *reason;
} bad_boards[] = {
        { "{", "not JSON: " },
        { "{'vendor':'10de'}", "format: missing; it is 1" },
        { "{'format':1,'board':'a2'}", "board: a board can't be made of another one" },
        { "{'format':1,'types':[{'id':0}]}", "types[0]: a type needs id, name, fb-mib and max" },
        { "{'format':1,'sriov':{'total-vfs':'16'}}", "sriov.total-vfs: must be a number from 0 to 16777215" },
        { "{'format':1,'colour':'green'}", "colour: no such key" },
        { "{'format':1,'mig':{}}", "mig: needs memory-slices (1 to 16), compute-slices and profiles" },
        { "{'format':1,'mig':{'memory-slices':17,'compute-slices':7," MIG_PROFILE("") "}}",
          "mig: needs memory-slices (1 to 16), compute-slices and profiles" },
        { "{'format':1,'mig':{'memory-slices':8,'compute-slices':9," MIG_PROFILE("") "}}",
          "mig: needs memory-slices (1 to 16), compute-slices and profiles" },
        { "{'format':1,'mig':{" MIG_PROFILE(",'enum':18") "}}",
          "mig.profiles[0]: enum must be a number from 0 to 17" },
        { "{'format':1,'mig':{'profiles':[{'id':1}]}}",
          "mig.profiles[0]: a profile needs id, enum, name, max, slices, size and starts" },
        { "{'format':1,'mig':{" MIG_SLICES MIG_PROFILE(",'starts':[1]") "}}", "mig: 2g can't start at 1" },
        { "{'format':1,'mig':{" MIG_SLICES MIG_PROFILE(",'starts':[8]") "}}", "mig: 2g can't start at 8" },
        { "{'format':1,'mig':{" MIG_SLICES MIG_PROFILE(",'starts':[0,2,0]") "}}",
          "mig: 2g starts at 0 twice" },
        { "{'format':1,'mig':{" MIG_SLICES MIG_PROFILE(",'starts':[16]") "}}",
          "mig.profiles[0].starts[0]: must be a number from 0 to 15" },
        { "{'format':1,'mig':{" MIG_SLICES MIG_PROFILE(",'size':3") "}}",
          "mig: 2g is too large, or no even part" },
        { "{'format':1,'placements':'odd'}", "placements: 'odd' is not one of halving, even" },
        { "{'format':1,'serial':''}", "serial: must be one line without a slash" },
};

START_TEST(a_bad_board_is_refused_with_its_file_too) {
        g_autofree char *json = g_strdelimit(g_strdup(bad_boards[_i].board), "'", '"'), *alone = NULL,
                        *within = NULL;
        g_autoptr(GError) error = NULL, host_error = NULL;
        static const char host[] = "{\"format\":1,\"gpus\":[{\"address\":\"8:0.0\",\"board\":\"bad\"}]}";

        write_file("boards/bad.json", json, -1);
        alone = g_strdup_printf("%s/boards/bad.json: %s", data_dir, bad_boards[_i].reason);
        within = g_strdup_printf("x.json: gpus[0].board: %s", alone);

        ck_assert_ptr_null(board_load(data_dir, "bad", &error));
        ck_assert_msg(g_str_has_prefix(error->message, alone), "%s", error->message);
        ck_assert_ptr_null(host_spec_parse(data_dir, "x.json", host, strlen(host), &host_error));
        ck_assert_msg(g_str_has_prefix(host_error->message, within), "%s", host_error->message);
}
END_TEST

static const char *const bad_names[] = { "", "../hosts/a2", "A2", "a2.json", "a2/", "." };

START_TEST(a_board_has_a_name_and_not_a_path) {
        g_autoptr(GError) error = NULL;
        g_autofree char *expected = g_strdup_printf("'%s' is not the name of a board", bad_names[_i]);

        ck_assert_ptr_null(board_load(SIM_SOURCE_DIR, bad_names[_i], &error));
        ck_assert_msg(g_str_has_suffix(error->message, expected), "%s", error->message);
}
END_TEST

START_TEST(a_board_alone_must_be_whole) {
        g_autoptr(GError) error = NULL;

        write_file("boards/half.json", "{\"format\":1,\"vendor\":\"10de\"}", -1);
        ck_assert_ptr_null(board_load(data_dir, "half", &error));
        ck_assert_str_eq(error->message, "board: half: needs a board, or vendor and device");
}
END_TEST

START_TEST(a_host_is_a_file_if_its_name_looks_like_one) {
        g_autofree char *path = g_build_filename(data_dir, "mine.json", NULL),
                        *large = g_strnfill((4 << 20) + 1, ' ');
        g_autofree char *other = g_build_filename(data_dir, "other.json", NULL);
        g_autofree char *missing = g_strdup_printf("%s: no such file", other);
        g_autofree char *too_large = g_strdup_printf("%s: larger than 4194304 bytes", path);
        g_autoptr(GError) e1 = NULL, e2 = NULL, e3 = NULL, e4 = NULL;
        g_autoptr(HostSpec) host = NULL;

        write_file("mine.json", "{\"format\":1}", -1);
        host = host_spec_load(data_dir, path, NULL);
        ck_assert_ptr_nonnull(host);
        ck_assert_str_eq(host->name, path);

        ck_assert_ptr_null(host_spec_load(data_dir, "mine", &e1));
        ck_assert_str_eq(e1->message, "There is no host 'mine'; --list-hosts names those shipped");
        ck_assert_ptr_null(host_spec_load(data_dir, other, &e2));
        ck_assert_str_eq(e2->message, missing);
        ck_assert_ptr_null(host_spec_load(data_dir, "/dev/zero", &e3));
        ck_assert_str_eq(e3->message, "/dev/zero: no such file");
        write_file("mine.json", large, -1);
        ck_assert_ptr_null(host_spec_load(data_dir, path, &e4));
        ck_assert_str_eq(e4->message, too_large);
}
END_TEST

int main(void) {
        TCase *tests = tcase_create("host-file");

        tcase_add_checked_fixture(tests, setup, teardown);
        tcase_add_test(tests, every_shipped_host_is_read);
        tcase_add_test(tests, every_host_and_board_in_the_tree_is_read);
        tcase_add_test(tests, a_board_is_read_as_it_is_written);
        tcase_add_loop_test(tests, keys_of_the_gpu_stand_over_its_board_wherever_they_are, 0, 2);
        tcase_add_test(tests, types_of_the_gpu_replace_all_of_its_board);
        tcase_add_test(tests, what_is_not_said_has_its_default);
        add_table_test(tests, a_bad_file_is_refused_with_file_place_and_reason, bad_hosts);
        add_table_test(tests, what_is_not_json_is_said_to_be_so, not_json);
        add_table_test(tests, no_brackets_go_uncounted, hiding_places);
        tcase_add_test(tests, brackets_in_a_text_are_no_nesting);
        add_table_test(tests, cards_whose_vfs_would_meet_are_refused, neighbours);
        add_table_test(tests, a_bad_board_is_refused_with_its_file_too, bad_boards);
        add_table_test(tests, a_board_has_a_name_and_not_a_path, bad_names);
        tcase_add_test(tests, a_board_alone_must_be_whole);
        tcase_add_test(tests, a_host_is_a_file_if_its_name_looks_like_one);
        return unit_run(tests, "host-file");
}
