/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus-error.h"
#include "object.h"

static const char *const error_names[_CARVED_ERROR_MAX] = {
        [CARVED_ERROR_FAILED] = CARVED_BUS_NAME ".Error.Failed",
        [CARVED_ERROR_ABSENT] = CARVED_BUS_NAME ".Error.Failed",
        [CARVED_ERROR_NO_SUCH_GPU] = CARVED_BUS_NAME ".Error.NoSuchGpu",
        [CARVED_ERROR_NO_SUCH_VF] = CARVED_BUS_NAME ".Error.NoSuchVf",
        [CARVED_ERROR_NO_SUCH_VGPU] = CARVED_BUS_NAME ".Error.NoSuchVgpu",
        [CARVED_ERROR_NO_SUCH_TYPE] = CARVED_BUS_NAME ".Error.NoSuchType",
        [CARVED_ERROR_TYPE_NOT_AVAILABLE] = CARVED_BUS_NAME ".Error.TypeNotAvailable",
        [CARVED_ERROR_NO_CAPACITY] = CARVED_BUS_NAME ".Error.NoCapacity",
        [CARVED_ERROR_NOT_SUPPORTED] = CARVED_BUS_NAME ".Error.NotSupported",
        [CARVED_ERROR_NOT_READY] = CARVED_BUS_NAME ".Error.NotReady",
        [CARVED_ERROR_NOT_OURS] = CARVED_BUS_NAME ".Error.NotOurs",
        [CARVED_ERROR_IN_USE] = CARVED_BUS_NAME ".Error.InUse",
        [CARVED_ERROR_EXISTS] = CARVED_BUS_NAME ".Error.Exists",
        [CARVED_ERROR_CONFLICT] = CARVED_BUS_NAME ".Error.Conflict",
        [CARVED_ERROR_UNDO_FAILED] = CARVED_BUS_NAME ".Error.UndoFailed",
        [CARVED_ERROR_ACCESS_DENIED] = SD_BUS_ERROR_ACCESS_DENIED,
        [CARVED_ERROR_KERNEL_REFUSED] = CARVED_BUS_NAME ".Error.KernelRefused",
        [CARVED_ERROR_STALLED] = CARVED_BUS_NAME ".Error.Stalled",
        [CARVED_ERROR_MISMATCH] = CARVED_BUS_NAME ".Error.Mismatch",
        [CARVED_ERROR_STATE_UNREADABLE] = CARVED_BUS_NAME ".Error.StateUnreadable",
        [CARVED_ERROR_CANCELLED] = CARVED_BUS_NAME ".Error.Cancelled",
        [CARVED_ERROR_INVALID_ARGS] = SD_BUS_ERROR_INVALID_ARGS,
        [CARVED_ERROR_LIMITS_EXCEEDED] = SD_BUS_ERROR_LIMITS_EXCEEDED,
};

const char *bus_error_name(CarvedError code) {
        return error_names[code];
}

int bus_error_set(sd_bus_error *ret_error, CarvedError code, const char *text) {
        return sd_bus_error_set(ret_error, error_names[code], text);
}

int bus_error_from_gerror(sd_bus_error *ret_error, const GError *error) {
        CarvedError code = CARVED_ERROR_FAILED;

        if (error->domain == CARVED_ERROR && error->code >= 0 && error->code < _CARVED_ERROR_MAX)
                code = (CarvedError) error->code;
        return bus_error_set(ret_error, code, error->message);
}

int bus_error_no_uuid(sd_bus_error *ret_error, const char *text) {
        g_autofree char *quoted = carved_quote(text);

        return sd_bus_error_setf(ret_error, SD_BUS_ERROR_INVALID_ARGS, "%s is not a UUID", quoted);
}
