/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "error.h"
#include "libvirt-xml.h"

#define DEFAULT_MODEL "vfio-pci"

static char *mdev_xml(const CarvedVgpu *vgpu, const char *model, const char *attributes) {
        g_autofree char *escaped = g_markup_escape_text(model, -1); /* the driver's word */

        return g_strdup_printf("<hostdev mode='subsystem' type='mdev' model='%s'%s>\n"
                               "  <source>\n"
                               "    <address uuid='%s'/>\n"
                               "  </source>\n"
                               "</hostdev>\n",
                               escaped, attributes, vgpu->uuid);
}

/* Not managed: libvirt would take the VF from the driver that makes it a vGPU. */
static char *pci_xml(const CarvedPciAddress *a, const char *attributes) {
        return g_strdup_printf("<hostdev mode='subsystem' type='pci' managed='no'%s>\n"
                               "  <source>\n"
                               "    <address domain='0x%04x' bus='0x%02x' slot='0x%02x' function='0x%x'/>\n"
                               "  </source>\n"
                               "</hostdev>\n",
                               attributes, a->domain, a->bus, a->device, a->function);
}

char *carved_libvirt_xml(const CarvedVgpu *vgpu, bool display, bool ramfb, GError **error) {
        const CarvedVf *vf =
                vgpu->vf_index < 0 ? NULL : carved_gpu_find_vf(vgpu->gpu, (uint32_t) vgpu->vf_index);
        const CarvedType *type = carved_vgpu_type(vgpu);
        const char *model = type && type->device_api ? type->device_api : DEFAULT_MODEL;
        const char *attributes = !display ? "" : ramfb ? " display='on' ramfb='on'" : " display='on'";

        if (ramfb && !display) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_INVALID_ARGS,
                            "ramfb needs display: libvirt takes it no other way");
                return NULL;
        }
        if (vgpu->framework != CARVED_FRAMEWORK_MDEV)
                return pci_xml(vf ? &vf->address : &vgpu->gpu->address, attributes);
        if (display && !g_str_equal(model, DEFAULT_MODEL)) {
                g_set_error(error, CARVED_ERROR, CARVED_ERROR_NOT_SUPPORTED, "A vGPU of %s has no display",
                            model);
                return NULL;
        }

        return mdev_xml(vgpu, model, attributes);
}
