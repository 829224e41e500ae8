/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "boot.h"

/* vgpuConfig.xml, as the driver package installs it: the only place that tells sizes and maxima of
 * vendor-VFIO types without NVML. */

static void append_type(GString *xml, const GpuSpec *gpu, const TypeSpec *type) {
        g_autofree char *name = g_markup_escape_text(type->name, -1);
        g_autofree char *class = g_markup_escape_text(type->class ?: "Quadro", -1);

        g_string_append_printf(xml, "  <vgpuType id=\"%u\" name=\"%s\" class=\"%s\">\n", type->id, name,
                               class);
        g_string_append_printf(
                xml,
                "    <devId vendorId=\"0x%04x\" deviceId=\"0x%04x\" subsystemVendorId=\"0x%04x\" "
                "subsystemId=\"0x0000\"/>\n",
                gpu->vendor, gpu->device, gpu->subsystem_vendor);
        g_string_append_printf(xml, "    <display width=\"%u\" height=\"%u\"/>\n", type->width, type->height);
        g_string_append_printf(xml, "    <profileSize>0x%" G_GINT64_MODIFIER "x</profileSize>\n",
                               (guint64) type->framebuffer_mib << 20);
        g_string_append_printf(xml, "    <framebuffer>0x%" G_GINT64_MODIFIER "x</framebuffer>\n",
                               type_spec_framebuffer(type));
        g_string_append_printf(xml, "    <numHeads>%u</numHeads>\n", type->heads);
        g_string_append_printf(xml, "    <frlConfig>0x%x</frlConfig>\n", type->frame_rate_limit);
        g_string_append(xml, "  </vgpuType>\n");
}

static void append_card(GString *xml, const GpuSpec *gpu) {
        g_string_append(xml, "  <pgpu>\n");
        g_string_append_printf(
                xml,
                "    <devId vendorId=\"0x%04x\" deviceId=\"0x%04x\" subsystemVendorId=\"0x%04x\" "
                "subsystemId=\"0x0000\"/>\n",
                gpu->vendor, gpu->device, gpu->subsystem_vendor);
        for (unsigned i = 0; i < gpu->types->len; i++) {
                const TypeSpec *type = gpu->types->pdata[i];

                g_string_append_printf(xml,
                                       "    <supportedVgpu vgpuId=\"%u\">\n      <maxVgpus>%u</maxVgpus>\n"
                                       "    </supportedVgpu>\n",
                                       type->id, type->max);
        }
        g_string_append(xml, "  </pgpu>\n");
}

/* Each model once, however many cards of it there are. */
static GPtrArray *models(HostSpec *host) {
        GPtrArray *list = g_ptr_array_new();

        for (unsigned i = 0; i < host->gpus->len; i++) {
                GpuSpec *gpu = host->gpus->pdata[i];
                bool known = g_strcmp0(gpu->home_driver, "nvidia") != 0 || gpu->types->len == 0;

                for (unsigned j = 0; j < list->len; j++)
                        known |= ((GpuSpec *) list->pdata[j])->device == gpu->device;
                if (!known)
                        g_ptr_array_add(list, gpu);
        }

        return list;
}

char *boot_vgpu_config(HostSpec *host) {
        g_autoptr(GPtrArray) list = models(host);
        GString *xml;

        if (list->len == 0)
                return NULL;

        xml = g_string_new(
                "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<vgpuconfig>\n  <version>1.0</version>\n");
        for (unsigned i = 0; i < list->len; i++) {
                GpuSpec *gpu = list->pdata[i];

                for (unsigned j = 0; j < gpu->types->len; j++)
                        append_type(xml, gpu, gpu->types->pdata[j]);
        }
        for (unsigned i = 0; i < list->len; i++)
                append_card(xml, list->pdata[i]);
        g_string_append(xml, "</vgpuconfig>\n");
        return g_string_free(xml, FALSE);
}
