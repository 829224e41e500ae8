/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>

#include <glib.h>

#include "nvml.h"

/* NVML's return codes by name, without their common NVML_ERROR_. */

static const struct {
        const char *name;
        nvmlReturn_t code;
} codes[] = {
        { "SUCCESS", NVML_SUCCESS },
        { "UNINITIALIZED", NVML_ERROR_UNINITIALIZED },
        { "INVALID_ARGUMENT", NVML_ERROR_INVALID_ARGUMENT },
        { "NOT_SUPPORTED", NVML_ERROR_NOT_SUPPORTED },
        { "NO_PERMISSION", NVML_ERROR_NO_PERMISSION },
        { "NOT_FOUND", NVML_ERROR_NOT_FOUND },
        { "INSUFFICIENT_SIZE", NVML_ERROR_INSUFFICIENT_SIZE },
        { "DRIVER_NOT_LOADED", NVML_ERROR_DRIVER_NOT_LOADED },
        { "TIMEOUT", NVML_ERROR_TIMEOUT },
        { "LIBRARY_NOT_FOUND", NVML_ERROR_LIBRARY_NOT_FOUND },
        { "FUNCTION_NOT_FOUND", NVML_ERROR_FUNCTION_NOT_FOUND },
        { "GPU_IS_LOST", NVML_ERROR_GPU_IS_LOST },
        { "RESET_REQUIRED", NVML_ERROR_RESET_REQUIRED },
        { "OPERATING_SYSTEM", NVML_ERROR_OPERATING_SYSTEM },
        { "LIB_RM_VERSION_MISMATCH", NVML_ERROR_LIB_RM_VERSION_MISMATCH },
        { "IN_USE", NVML_ERROR_IN_USE },
        { "MEMORY", NVML_ERROR_MEMORY },
        { "NO_DATA", NVML_ERROR_NO_DATA },
        { "VGPU_ECC_NOT_SUPPORTED", NVML_ERROR_VGPU_ECC_NOT_SUPPORTED },
        { "INSUFFICIENT_RESOURCES", NVML_ERROR_INSUFFICIENT_RESOURCES },
        { "ARGUMENT_VERSION_MISMATCH", NVML_ERROR_ARGUMENT_VERSION_MISMATCH },
        { "DEPRECATED", NVML_ERROR_DEPRECATED },
        { "NOT_READY", NVML_ERROR_NOT_READY },
        { "GPU_NOT_FOUND", NVML_ERROR_GPU_NOT_FOUND },
        { "INVALID_STATE", NVML_ERROR_INVALID_STATE },
        { "RESET_TYPE_NOT_SUPPORTED", NVML_ERROR_RESET_TYPE_NOT_SUPPORTED },
        { "UNKNOWN", NVML_ERROR_UNKNOWN },
};

const char *nvml_code_name(nvmlReturn_t code) {
        for (size_t i = 0; i < G_N_ELEMENTS(codes); i++)
                if (codes[i].code == code)
                        return codes[i].name;

        return NULL;
}

bool nvml_code_parse(const char *word, nvmlReturn_t *ret) {
        guint64 n = 0;
        bool number = g_ascii_string_to_unsigned(word, 10, 0, 999, &n, NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(codes); i++)
                if (number ? codes[i].code == n : g_str_equal(codes[i].name, word)) {
                        *ret = codes[i].code;
                        return true;
                }

        return false;
}
