/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libnvidia-ml.h"

/* One connection per process, from the first nvmlInit to the last nvmlShutdown. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int connection = -1;
static unsigned initialised;

/* As the real library it has each card's node open, for all to see. */
#define NODES_MAX 256
static int nodes[NODES_MAX];
static size_t n_nodes;

void poison(void *out, size_t len) {
        memset(out, 0xa5, len);
}

static int open_connection(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = NVML_SOCKET };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        if (fd >= 0 && connect(fd, (struct sockaddr *) &address, sizeof address) < 0) {
                close(fd);
                return -1;
        }

        return fd;
}

static ssize_t receive(NvmlReply *reply) {
        ssize_t n;

        do
                n = recv(connection, reply, sizeof *reply, 0);
        while (n < 0 && errno == EINTR);
        return n;
}

/* Under the lock. */
static nvmlReturn_t exchange(const NvmlRequest *request, NvmlReply *reply) {
        ssize_t n;

        reply->len = 0;
        if (connection < 0)
                return NVML_ERROR_UNINITIALIZED;
        if (send(connection, request, sizeof *request, MSG_NOSIGNAL) != (ssize_t) sizeof *request)
                return NVML_ERROR_UNKNOWN;

        n = receive(reply);
        if (n < (ssize_t) offsetof(NvmlReply, data) ||
            (size_t) n < offsetof(NvmlReply, data) + (size_t) reply->len) {
                reply->len = 0;
                return NVML_ERROR_UNKNOWN;
        }
        if (reply->code == NVML_REPLY_CRASH)
                raise(SIGSEGV);
        return (nvmlReturn_t) reply->code;
}

nvmlReturn_t ask_reply(const NvmlRequest *request, NvmlReply *reply) {
        nvmlReturn_t r;

        pthread_mutex_lock(&lock);
        r = exchange(request, reply);
        pthread_mutex_unlock(&lock);
        return r;
}

nvmlReturn_t ask(const NvmlRequest *request, void *out, size_t len) {
        NvmlReply reply;
        nvmlReturn_t r;

        if (len > 0 && !out)
                return NVML_ERROR_INVALID_ARGUMENT;

        r = ask_reply(request, &reply);
        poison(out, len);
        memcpy(out, reply.data, reply.len < len ? reply.len : len);
        return r;
}

nvmlReturn_t ask_text(const NvmlRequest *request, char *text, unsigned size) {
        NvmlReply reply;
        nvmlReturn_t r;

        if (!text)
                return NVML_ERROR_INVALID_ARGUMENT;

        r = ask_reply(request, &reply);
        poison(text, size);
        if (r != NVML_SUCCESS)
                return r;
        if (reply.len > size)
                return NVML_ERROR_INSUFFICIENT_SIZE;
        memcpy(text, reply.data, reply.len);
        return NVML_SUCCESS;
}

nvmlReturn_t ask_versioned(NvmlRequest *request, void *info) {
        unsigned version;
        NvmlReply reply;
        nvmlReturn_t r;

        if (!info)
                return NVML_ERROR_INVALID_ARGUMENT;

        memcpy(&version, info, sizeof version);
        request->args[NVML_ARGS_MAX - 1] = version;
        r = ask_reply(request, &reply);
        /* Only a version that is known says how much may be written. */
        if (r == NVML_SUCCESS)
                memcpy(info, reply.data, reply.len);
        else if (reply.len > sizeof version)
                poison((char *) info + sizeof version, reply.len - sizeof version);
        return r;
}

static void open_nodes(const NvmlReply *reply) {
        size_t n = reply->len / sizeof(unsigned);

        for (size_t i = 0; i < n && n_nodes < NODES_MAX; i++) {
                char path[32];
                unsigned number;
                int fd;

                memcpy(&number, reply->data + i * sizeof number, sizeof number);
                snprintf(path, sizeof path, "/dev/nvidia%u", number);
                fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
                if (fd >= 0)
                        nodes[n_nodes++] = fd;
        }
}

static void close_nodes(void) {
        while (n_nodes > 0)
                close(nodes[--n_nodes]);
}

nvmlReturn_t nvmlInit_v2(void) {
        static const NvmlRequest request = { .call = NVML_CALL(nvmlInit_v2) };
        nvmlReturn_t r = NVML_SUCCESS;
        NvmlReply reply;

        pthread_mutex_lock(&lock);
        if (initialised == 0) {
                connection = open_connection();
                r = connection < 0 ? NVML_ERROR_DRIVER_NOT_LOADED : exchange(&request, &reply);
                if (r != NVML_SUCCESS && connection >= 0) {
                        close(connection);
                        connection = -1;
                }
                if (r == NVML_SUCCESS)
                        open_nodes(&reply);
        }
        if (r == NVML_SUCCESS)
                initialised++;
        pthread_mutex_unlock(&lock);
        return r;
}

nvmlReturn_t nvmlShutdown(void) {
        static const NvmlRequest request = { .call = NVML_CALL(nvmlShutdown) };
        nvmlReturn_t r = NVML_SUCCESS;
        NvmlReply reply;

        pthread_mutex_lock(&lock);
        if (initialised == 0)
                r = NVML_ERROR_UNINITIALIZED;
        else if (initialised > 1)
                initialised--;
        else {
                r = exchange(&request, &reply); /* once answered, the cards are free */
                if (r == NVML_SUCCESS) {
                        close_nodes();
                        initialised = 0;
                        close(connection);
                        connection = -1;
                }
        }
        pthread_mutex_unlock(&lock);
        return r;
}

const char *nvmlErrorString(nvmlReturn_t result) {
        switch (result) {
        case NVML_SUCCESS:
                return "Success";
        case NVML_ERROR_UNINITIALIZED:
                return "Uninitialized";
        case NVML_ERROR_INVALID_ARGUMENT:
                return "Invalid Argument";
        case NVML_ERROR_NOT_SUPPORTED:
                return "Not Supported";
        case NVML_ERROR_NO_PERMISSION:
                return "Insufficient Permissions";
        case NVML_ERROR_NOT_FOUND:
                return "Not Found";
        case NVML_ERROR_INSUFFICIENT_SIZE:
                return "Insufficient Size";
        case NVML_ERROR_DRIVER_NOT_LOADED:
                return "Driver Not Loaded";
        case NVML_ERROR_TIMEOUT:
                return "Timeout";
        case NVML_ERROR_GPU_IS_LOST:
                return "GPU is lost";
        case NVML_ERROR_RESET_REQUIRED:
                return "GPU requires reset";
        case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
                return "Driver/library version mismatch";
        case NVML_ERROR_IN_USE:
                return "In use by another client";
        case NVML_ERROR_INSUFFICIENT_RESOURCES:
                return "Insufficient Resources";
        case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
                return "Argument version mismatch";
        default:
                return "Unknown Error";
        }
}
