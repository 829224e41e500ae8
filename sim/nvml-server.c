/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cleanup.h"
#include "init.h"
#include "nvml.h"
#include "sandbox.h"

/* The simulated libnvidia-ml.so.1, put where programs find it, and the socket it speaks to. */

#define LIBRARY_DIR SIM_DIR "/lib"
#define LIBRARY     LIBRARY_DIR "/libnvidia-ml.so.1"
#define BACKLOG     64

G_STATIC_ASSERT(sizeof NVML_SOCKET <= sizeof((struct sockaddr_un *) NULL)->sun_path);

/* An older library has fewer functions: in the table of names of this copy they go by another one. */
static void hide(char *library, size_t len, const char *name) {
        size_t n = strlen(name) + 1; /* with the NUL behind it */
        char *at = library, *end = library + len;

        while ((at = memmem(at, (size_t) (end - at), name, n))) {
                if (at > library && at[-1] == '\0')
                        at[0] = '-';
                at += n;
        }
}

/* Programs look in LD_LIBRARY_PATH first. It is the same on all hosts; whether there is something differs. */
static void set_library_path(void) {
        const char *old = g_getenv("LD_LIBRARY_PATH");
        g_autofree char *path = old && *old ? g_strdup_printf(LIBRARY_DIR ":%s", old) : g_strdup(LIBRARY_DIR);

        g_setenv("LD_LIBRARY_PATH", path, TRUE);
}

bool nvml_install(Init *init, GError **error) {
        const HostSpec *host = init->options->host;
        g_autofree char *library = NULL;
        size_t len;

        set_library_path();
        if (init->options->frozen || !host_spec_has_nvidia(host) || host->nvml == NVML_ABSENT)
                return true;
        if (g_mkdir_with_parents(LIBRARY_DIR, 0755) < 0 ||
            !g_file_get_contents(init->options->nvml, &library, &len, error))
                return false;

        for (unsigned i = 0; i < host->nvml_lacks->len; i++)
                hide(library, len, host->nvml_lacks->pdata[i]);
        return g_file_set_contents_full(LIBRARY, library, (gssize) len, G_FILE_SET_CONTENTS_NONE, 0755,
                                        error);
}

/* Open to all: who may do what is the driver's business. */
bool nvml_open(Init *init, GError **error) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = NVML_SOCKET };

        init->nvml_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (init->nvml_fd < 0 || bind(init->nvml_fd, (struct sockaddr *) &address, sizeof address) < 0 ||
            chmod(NVML_SOCKET, 0666) < 0 || listen(init->nvml_fd, BACKLOG) < 0) {
                g_set_error(error, SIM_ERROR, 0, "Failed to listen on '%s': %s", NVML_SOCKET,
                            g_strerror(errno));
                return false;
        }

        return true;
}

/* A process that dies closes its end before anybody hears of its death. */
static bool has_hung_up(const NvmlSession *session) {
        struct pollfd end = { .fd = session->fd, .events = POLLRDHUP };

        return poll(&end, 1, 0) > 0 && (end.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static void *serve(void *data) {
        NvmlSession *session = data;
        _cleanup_close_ int fd = session->fd;
        Kernel *kernel = session->kernel;
        NvmlRequest request;
        NvmlReply reply;

        while (recv(fd, &request, sizeof request, 0) == (ssize_t) sizeof request) {
                request.text[sizeof request.text - 1] = '\0';
                kernel_lock(kernel);
                nvml_call(session, &request, &reply);
                kernel_flush_names(kernel);
                kernel_unlock(kernel);
                if (send(fd, &reply, offsetof(NvmlReply, data) + reply.len, MSG_NOSIGNAL) < 0)
                        break;
        }

        kernel_lock(kernel);
        nvml_session_free(session);
        kernel_unlock(kernel);
        return NULL;
}

void nvml_accept(Init *init) {
        int fd;

        while ((fd = accept4(init->nvml_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
                struct ucred peer = {};
                socklen_t len = sizeof peer;
                NvmlSession *session;

                getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
                session = nvml_session_new(init->kernel, peer.pid, peer.uid);
                session->fd = fd;
                session->has_died = has_hung_up;
                g_thread_unref(g_thread_new("sim-nvml", serve, session));
        }
}
