/* SPDX-License-Identifier: LGPL-2.1-or-later */

#define FUSE_USE_VERSION 312

#include <errno.h>
#include <fuse_lowlevel.h>
#include <string.h>

#include "fs.h"
#include "host.h"
#include "rules.h"
#include "trace.h"

/* One write sleeps, the next wants a thread of its own; libfuse's default would be ten in all. */
#define THREADS_MAX      1024
#define THREADS_IDLE_MAX 8

#define SYSFS_SIZE 4096

/* Names and attributes stay cached until fs_flush_names() says otherwise. */
#define FOREVER 1e9

typedef struct Handle {
        Node *node;
        GString *content; /* as of the last read from the start, as a seq_file keeps it */
        GPtrArray *names; /* a directory's, as of opendir */
        bool wrote;
} Handle;

static Kernel *kernel_of(fuse_req_t req) {
        return fuse_req_userdata(req);
}

static Node *node_of(Kernel *kernel, fuse_ino_t ino) {
        return ino == FUSE_ROOT_ID ? kernel->tree->root : (Node *) ino;
}

static fuse_ino_t ino_of(Kernel *kernel, Node *node) {
        return node == kernel->tree->root ? FUSE_ROOT_ID : (fuse_ino_t) node;
}

/* sysfs claims a page for everything; the page cache must know where such a file ends. */
static off_t cached_size(Node *node) {
        g_autoptr(GString) text = g_string_new(NULL);

        return node->removed || node->attr->show(node->owner, node->attr, text) < 0 ? 0 : (off_t) text->len;
}

/* With the lock held. */
static void note_read(fuse_req_t req, const char *how, Node *node, int result) {
        Kernel *kernel = kernel_of(req);
        g_autofree char *path = NULL;

        if (!trace_logs_reads(kernel->trace))
                return;

        path = node_path(node);
        trace_read(kernel->trace, fuse_req_ctx(req)->pid, how, path, result);
}

static struct stat stat_of(Node *node) {
        struct stat st = { .st_ino = node->ino, .st_nlink = 1 };

        st.st_atime = st.st_mtime = st.st_ctime = node->tree->born;
        switch (node->kind) {
        case NODE_DIR:
                st.st_mode = S_IFDIR | 0755;
                st.st_nlink = 2;
                break;
        case NODE_LINK:
                st.st_mode = S_IFLNK | 0777;
                break;
        case NODE_FILE:
                st.st_mode = S_IFREG | node->attr->mode;
                st.st_size = node->attr->cached ? cached_size(node) : SYSFS_SIZE;
                break;
        }

        return st;
}

static void forget(Node *node, uint64_t n) {
        if (node->tree->root == node || node->lookups == 0)
                return;

        node->lookups -= MIN(n, node->lookups);
        if (node->lookups == 0)
                node_unref(node);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name) {
        Kernel *kernel = kernel_of(req);
        struct fuse_entry_param entry = { .attr_timeout = FOREVER, .entry_timeout = FOREVER };
        Node *node;

        kernel_lock(kernel);
        trace_counts(kernel->trace)->lookups++;
        node = node_child(node_of(kernel, parent), name);
        if (node) {
                if (node->lookups++ == 0)
                        node_ref(node);
                entry.ino = ino_of(kernel, node);
                entry.attr = stat_of(node);
        }
        kernel_unlock(kernel);

        /* What is not there may be there in a moment: only what is there may be cached. */
        if (!node) {
                fuse_reply_err(req, ENOENT);
                return;
        }
        if (fuse_reply_entry(req, &entry) == -ENOENT) {
                kernel_lock(kernel);
                forget(node, 1);
                kernel_unlock(kernel);
        }
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n) {
        Kernel *kernel = kernel_of(req);

        kernel_lock(kernel);
        forget(node_of(kernel, ino), n);
        kernel_unlock(kernel);
        fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *list) {
        Kernel *kernel = kernel_of(req);

        kernel_lock(kernel);
        for (size_t i = 0; i < count; i++)
                forget(node_of(kernel, list[i].ino), list[i].nlookup);
        kernel_unlock(kernel);
        fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info) {
        Kernel *kernel = kernel_of(req);
        struct stat st;

        kernel_lock(kernel);
        st = stat_of(node_of(kernel, ino));
        kernel_unlock(kernel);
        fuse_reply_attr(req, &st, FOREVER);
}

/* `echo 1 >` truncates first: sysfs takes no notice. */
static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what,
                       struct fuse_file_info *info) {
        op_getattr(req, ino, info);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino) {
        Kernel *kernel = kernel_of(req);
        g_autofree char *text = NULL;
        Node *node;

        kernel_lock(kernel);
        node = node_of(kernel, ino);
        if (!node->removed && !node->target->removed)
                text = node_link_text(node);
        note_read(req, "link", node, text ? 0 : -ENOENT);
        kernel_unlock(kernel);

        if (text)
                fuse_reply_readlink(req, text);
        else
                fuse_reply_err(req, ENOENT);
}

static void handle_free(Handle *handle) {
        node_unref(handle->node);
        if (handle->content)
                g_string_free(handle->content, TRUE);
        g_clear_pointer(&handle->names, g_ptr_array_unref);
        g_free(handle);
}

static Handle *handle_of(struct fuse_file_info *info) {
        return (Handle *) (uintptr_t) info->fh;
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info) {
        Kernel *kernel = kernel_of(req);
        Handle *handle = g_new0(Handle, 1);
        Node *dir;

        kernel_lock(kernel);
        dir = node_of(kernel, ino);
        handle->node = node_ref(dir);
        handle->names = g_ptr_array_new_with_free_func(g_free);
        for (unsigned i = 0; dir->children && i < dir->children->len; i++)
                g_ptr_array_add(handle->names, g_strdup(((Node *) dir->children->pdata[i])->name));
        kernel_unlock(kernel);

        info->fh = (uintptr_t) handle;
        fuse_reply_open(req, info);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                       struct fuse_file_info *info) {
        Kernel *kernel = kernel_of(req);
        Handle *handle = handle_of(info);
        g_autofree char *buffer = g_malloc(size);
        size_t used = 0;

        kernel_lock(kernel);
        if (offset == 0)
                note_read(req, "list", handle->node, 0);
        for (size_t i = (size_t) offset; i < (size_t) handle->names->len + 2; i++) {
                const char *name = i == 0 ? "." : i == 1 ? ".." : handle->names->pdata[i - 2];
                Node *node = i < 2 ? handle->node : node_child(handle->node, name);
                struct stat st;
                size_t need;

                if (!node)
                        continue; /* gone since opendir */
                st = stat_of(node);
                need = fuse_add_direntry(req, buffer + used, size - used, name, &st, (off_t) i + 1);
                if (need > size - used)
                        break;
                used += need;
        }
        kernel_unlock(kernel);
        fuse_reply_buf(req, buffer, used);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info) {
        Kernel *kernel = kernel_of(req);

        kernel_lock(kernel);
        handle_free(handle_of(info));
        kernel_unlock(kernel);
        fuse_reply_err(req, 0);
}

/* sysfs asks for the mode bits even of root. */
static bool may_open(Node *node, int flags) {
        int access = flags & O_ACCMODE;

        if (access != O_RDONLY && !(node->attr->mode & 0222))
                return false;
        return access == O_WRONLY || (node->attr->mode & 0444);
}

/* What never changes may stay in the page cache, unless a rule wants a say in it, or somebody counts. */
static bool may_cache(Kernel *kernel, Node *node) {
        bool may = node->attr->cached && !trace_logs_reads(kernel->trace);
        g_autofree char *path = may ? node_path(node) : NULL;

        return path && !rules_concern(kernel->rules, path);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info) {
        Kernel *kernel = kernel_of(req);
        Handle *handle = NULL;
        int error = 0;
        Node *node;

        kernel_lock(kernel);
        node = node_of(kernel, ino);
        trace_counts(kernel->trace)->opens++;
        if (node->removed)
                error = ENODEV;
        else if (!may_open(node, info->flags))
                error = EACCES;
        else {
                handle = g_new0(Handle, 1);
                handle->node = node_ref(node);
                info->fh = (uintptr_t) handle;
                info->direct_io = !may_cache(kernel, node);
                info->keep_cache = !info->direct_io;
                info->noflush = !node->attr->flush;
        }
        kernel_unlock(kernel);

        if (error > 0)
                fuse_reply_err(req, error);
        else if (fuse_reply_open(req, info) == -ENOENT) {
                kernel_lock(kernel);
                handle_free(handle);
                kernel_unlock(kernel);
        }
}

/* Fills the handle as a first read does: 0 or -errno. */
static int fetch(Kernel *kernel, Handle *handle) {
        Node *node = handle->node;
        void *owner = object_ref(node->owner);
        g_autofree char *path = node_path(node);
        GString *content = g_string_new(NULL);
        int r;

        kernel->inside++;
        r = rules_apply(kernel, RULE_READ, path, content);
        if (r == 0 && node->removed)
                r = -ENODEV;
        if (r == 0)
                r = node->attr->show ? node->attr->show(owner, node->attr, content) : -EIO;
        kernel->inside--;
        kernel_wake(kernel);
        object_unref(owner);

        if (r < 0) {
                g_string_free(content, TRUE);
                return r;
        }
        if (handle->content)
                g_string_free(handle->content, TRUE);
        handle->content = content;
        return 0;
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info) {
        Kernel *kernel = kernel_of(req);
        Handle *handle = handle_of(info);
        bool root = fuse_req_ctx(req)->uid == 0;
        g_autofree char *reply = NULL;
        size_t len = 0;
        int r = 0;

        kernel_lock(kernel);
        trace_counts(kernel->trace)->reads++;
        if (offset == 0 || !handle->content) {
                r = fetch(kernel, handle);
                note_read(req, "read", handle->node, r);
        }
        if (r == 0) {
                size_t limit = handle->node->attr->unprivileged_max;
                size_t have = handle->content->len;

                if (!root && limit > 0)
                        have = MIN(have, limit);
                if ((size_t) offset < have)
                        len = MIN(size, have - (size_t) offset);
                reply = g_memdup2(handle->content->str + (len > 0 ? offset : 0), len);
        }
        kernel_unlock(kernel);

        if (r < 0)
                fuse_reply_err(req, -r);
        else
                fuse_reply_buf(req, reply, len);
}

static int store(Kernel *kernel, Node *node, int pid, const char *text, size_t len) {
        void *owner = object_ref(node->owner);
        g_autofree char *path = node_path(node);
        int64_t start = g_get_monotonic_time();
        int r;

        kernel->inside++;
        r = node->removed ? -ENODEV : rules_apply(kernel, RULE_WRITE, path, NULL);
        if (r == 0 && node->removed)
                r = -ENODEV; /* while a rule had it wait */
        if (r == 0)
                r = node->attr->store ? node->attr->store(owner, node->attr, text, len) : -EIO;
        if (r == RULE_IGNORE)
                r = 0;
        trace_write(kernel->trace, pid, path, text, r, g_get_monotonic_time() - start);
        kernel->inside--;
        kernel_wake(kernel);
        object_unref(owner);
        return r;
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
                     struct fuse_file_info *info) {
        Kernel *kernel = kernel_of(req);
        Handle *handle = handle_of(info);
        size_t len = MIN(size, SYSFS_SIZE);
        g_autofree char *text = g_strndup(data, len);
        int r;

        kernel_lock(kernel);
        trace_counts(kernel->trace)->writes++;
        handle->wrote = true;
        r = store(kernel, handle->node, fuse_req_ctx(req)->pid, text, len);
        kernel_flush_names(kernel);
        kernel_unlock(kernel);

        if (r < 0)
                fuse_reply_err(req, -r);
        else
                fuse_reply_write(req, len);
}

static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info) {
        Kernel *kernel = kernel_of(req);
        Handle *handle = handle_of(info);
        const Attr *attr = handle->node->attr;
        int r = 0;

        kernel_lock(kernel);
        if (attr->flush && handle->wrote)
                r = attr->flush(handle->node->owner, attr);
        kernel_unlock(kernel);
        fuse_reply_err(req, -r);
}

static void op_init(void *userdata, struct fuse_conn_info *connection) {
        /* An open with O_TRUNC shall not shrink the file to nothing in the kernel's eyes. */
        connection->want &= ~(unsigned) FUSE_CAP_ATOMIC_O_TRUNC;
        connection->want &= ~(unsigned) FUSE_CAP_READDIRPLUS;
        /* We say ourselves what is stale. */
        connection->want &= ~(unsigned) FUSE_CAP_AUTO_INVAL_DATA;
}

static const struct fuse_lowlevel_ops operations = {
        .init = op_init,
        .lookup = op_lookup,
        .forget = op_forget,
        .forget_multi = op_forget_multi,
        .getattr = op_getattr,
        .setattr = op_setattr,
        .readlink = op_readlink,
        .opendir = op_opendir,
        .readdir = op_readdir,
        .releasedir = op_release,
        .open = op_open,
        .read = op_read,
        .write = op_write,
        .flush = op_flush,
        .release = op_release,
};

/* Without the lock: the kernel may wait for readers of the same directory, and they for us. */
static void flush_names(Kernel *kernel) {
        g_autoptr(GPtrArray) stale = kernel->tree->stale;

        kernel->tree->stale = g_ptr_array_new_with_free_func((GDestroyNotify) stale_name_free);

        kernel_unlock(kernel);
        for (unsigned i = 0; i < stale->len; i++) {
                StaleName *s = stale->pdata[i];

                fuse_lowlevel_notify_inval_entry(kernel->file_system, ino_of(kernel, s->parent), s->name,
                                                 strlen(s->name));
        }
        kernel_lock(kernel);
}

static void *serve(void *data) {
        struct fuse_session *session = data;
        struct fuse_loop_config *config = fuse_loop_cfg_create();

        fuse_loop_cfg_set_max_threads(config, THREADS_MAX);
        fuse_loop_cfg_set_idle_threads(config, THREADS_IDLE_MAX);
        fuse_session_loop_mt(session, config);
        fuse_loop_cfg_destroy(config);
        return NULL;
}

bool fs_start(Kernel *kernel, const char *mountpoint, GError **error) {
        char *argv[] = { (char *) "carved-sim", (char *) "-o",
                         (char *) "fsname=carved-sim,subtype=sysfs,default_permissions,allow_other", NULL };
        struct fuse_args args = FUSE_ARGS_INIT(3, argv);
        struct fuse_session *session;

        session = fuse_session_new(&args, &operations, sizeof operations, kernel);
        fuse_opt_free_args(&args);
        if (!session || fuse_session_mount(session, mountpoint) < 0) {
                g_set_error(error, SIM_ERROR, 0, "Failed to mount a FUSE file system: %s", g_strerror(errno));
                return false;
        }

        kernel->file_system = session;
        kernel->flush_names = flush_names;
        g_thread_unref(g_thread_new("sim-fuse", serve, session));
        return true;
}
