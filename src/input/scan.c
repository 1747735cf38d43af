#include "input/follow_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 16
#define FOLDERS_MAX 1024
#define HOST_MARK "{host}"

/* ---- globs ---- */

static int parse_part(const char *p, size_t n, struct glob_part *ret)
{
    char *text = strndup(p, n);
    if (!text)
        return -ENOMEM;
    char *mark = strstr(text, HOST_MARK);
    ret->after = mark ? strdup(mark + strlen(HOST_MARK)) : NULL;
    if (mark && !ret->after) {
        free(text);
        return -ENOMEM;
    }
    if (mark)
        *mark = '\0';
    ret->before = text;
    ret->wild = mark || strpbrk(text, "*?[\\");
    return 0;
}

int glob_parse(const char *text, struct glob_pattern *ret, struct err *e)
{
    struct glob_pattern g = {.absolute = text[0] == '/'};
    const char *mark = strstr(text, HOST_MARK);
    if (mark && strstr(mark + 1, HOST_MARK))
        return err_set(e, -EINVAL, "%s: {host} may stand there once", text);
    int code = (g.text = strdup(text)) ? 0 : -ENOMEM;
    for (const char *p = text; code == 0 && *p;) {
        size_t n = strcspn(p, "/");
        if (n && g.n_parts == GLOB_PARTS_MAX)
            code = -ENAMETOOLONG;
        else if (n && (code = parse_part(p, n, &g.parts[g.n_parts])) == 0)
            g.n_parts++;
        p += n + (p[n] == '/');
    }
    if (code == 0 && (g.n_parts == 0 || text[strlen(text) - 1] == '/'))
        code = -EINVAL;
    if (code < 0) {
        glob_done(&g);
        return err_set(e, code, "%s: no pattern for files: %s", text, err_name(code));
    }
    *ret = g;
    return 0;
}

void glob_done(struct glob_pattern *g)
{
    for (unsigned i = 0; i < g->n_parts; i++) {
        free(g->parts[i].before);
        free(g->parts[i].after);
    }
    free(g->text);
    *g = (struct glob_pattern){0};
}

/* The shortest of all readings: in {host}.log* of a.log.log.1 the host is a. */
bool glob_match(const struct glob_part *part, const char *name, struct slice *ret_host)
{
    *ret_host = (struct slice){"", 0};
    if (!part->after)
        return fnmatch(part->before, name, FNM_PERIOD) == 0;
    size_t n = strlen(name);
    bool plain = !strpbrk(part->before, "*?[\\");
    size_t from = plain ? strlen(part->before) : 0;
    if (n > NAME_MAX || from >= n || (part->before[0] == '\0' && name[0] == '.'))
        return false;
    for (; from < n; from++) {
        char head[NAME_MAX + 1];
        memcpy(head, name, from);
        head[from] = '\0';
        bool starts =
            plain ? strcmp(part->before, head) == 0 : fnmatch(part->before, head, FNM_PERIOD) == 0;
        for (size_t to = from + 1; starts && to <= n; to++)
            if (fnmatch(part->after, name + to, 0) == 0) {
                *ret_host = (struct slice){name + from, to - from};
                return true;
            }
        if (plain)
            break;
    }
    return false;
}

/* ---- links ---- */

/* What is left of a path, and who own the links that were followed. */
struct walk {
    char todo[PATH_MAX];
    int fd; /* the folder where todo starts */
    unsigned n_links;
    bool owned; /* some link belongs to neither root nor us, but to owner */
    uid_t owner;
};

static int walk_start(struct walk *w, const char *path)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return w->fd < 0 ? -errno : 0;
}

/* name in w->fd could not be opened with code: if it is a link, its target is put before the rest.
 */
static int walk_link(struct walk *w, const char *name, const char *rest, int code)
{
    int link = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (link < 0)
        return -errno;
    char target[PATH_MAX], all[PATH_MAX];
    struct stat st;
    ssize_t n = -1;
    if (fstat(link, &st) == 0 && S_ISLNK(st.st_mode))
        n = readlinkat(link, "", target, sizeof(target) - 1);
    close(link);
    if (n < 0)
        return code;
    target[n] = '\0';
    if (++w->n_links > LINKS_MAX)
        return -ELOOP;
    if (st.st_uid != 0 && st.st_uid != geteuid()) {
        if (w->owned && w->owner != st.st_uid)
            return -EPERM;
        w->owned = true;
        w->owner = st.st_uid;
    }
    int m = snprintf(all, sizeof(all), "%s/%s", target, rest);
    if (m < 0 || (size_t) m >= sizeof(all))
        return -ENAMETOOLONG;
    if (!*rest)
        all[m - 1] = '\0';
    memcpy(w->todo, all, sizeof(all));
    return target[0] == '/' ? walk_start(w, target) : 0;
}

/* One name further. 1: *ret_fd is what the path leads to; 0: go on; -errno. */
static int walk_step(struct walk *w, int flags, int *ret_fd)
{
    char name[PATH_MAX];
    const char *p = w->todo + strspn(w->todo, "/");
    size_t n = strcspn(p, "/");
    const char *rest = p + n + strspn(p + n, "/");
    memcpy(name, p, n);
    memcpy(name + n, "", 1);
    if (n == 0)
        memcpy(name, ".", 2);
    bool last = !*rest;
    int how = last ? flags : O_PATH | O_DIRECTORY;
    int fd = openat(w->fd, name, how | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        int code = -errno;
        char left[PATH_MAX];
        memcpy(left, rest, strlen(rest) + 1);
        return code == -ELOOP || code == -ENOTDIR ? walk_link(w, name, left, code) : code;
    }
    if (last) {
        *ret_fd = fd;
        return 1;
    }
    memmove(w->todo, rest, strlen(rest) + 1);
    close(w->fd);
    w->fd = fd;
    return 0;
}

int scan_open(const char *path, int flags)
{
    struct walk w = {.fd = -1};
    struct stat st;
    int fd = -1;
    if (strlen(path) >= sizeof(w.todo))
        return -ENAMETOOLONG;
    memcpy(w.todo, path, strlen(path) + 1);
    int r = walk_start(&w, path);
    while (r == 0)
        r = walk_step(&w, flags, &fd);
    if (w.fd >= 0)
        close(w.fd);
    if (r < 0)
        return r;
    if (w.owned && (fstat(fd, &st) < 0 || st.st_uid != w.owner)) {
        close(fd);
        return -EPERM;
    }
    return fd;
}

/* ---- troubles ---- */

static const char *trouble_text(int code)
{
    switch (code) {
    case -EACCES:
        return "may not be read; put the daemon's user into the group of the file (often adm). "
               "Tried again until it works";
    case -EPERM:
        return "a symbolic link on the way belongs to somebody else than root, the daemon or the "
               "owner of what it leads to; not followed. Name the file itself, or chown -h the "
               "link";
    case -EINVAL:
        return "no regular file; not followed";
    case -EMFILE:
    case -ENFILE:
        return "too many open files; raise the limit (LimitNOFILE=). Tried again until it works";
    default:
        return err_name(code);
    }
}

void scan_trouble(struct follow *f, const char *path, int code)
{
    unsigned i = 0;
    if (code == -EMFILE || code == -ENFILE)
        path = f->input; /* said once for all files */
    while (i < f->n_troubles && strcmp(f->troubles[i].path, path) != 0)
        i++;
    bool known = i < f->n_troubles;
    if (code == 0) {
        if (known) {
            follow_say(f, LOG_LEVEL_INFO, "%s: can be read now", path);
            free(f->troubles[i].path);
            f->troubles[i] = f->troubles[--f->n_troubles];
        }
        return;
    }
    f->unreadable_now += code != -EINVAL;
    if (!known) {
        char *copy = f->n_troubles < TROUBLES_MAX ? strdup(path) : NULL;
        if (!copy)
            return;
        f->troubles[f->n_troubles++] = (struct trouble){.path = copy};
    }
    if (f->troubles[i].code != code)
        follow_say(f, LOG_LEVEL_WARNING, "%s: %s", path, trouble_text(code));
    f->troubles[i].code = code;
    f->troubles[i].scan = f->scan;
}

static void drop_old_troubles(struct follow *f)
{
    for (unsigned i = 0; i < f->n_troubles;) {
        if (f->troubles[i].scan == f->scan) {
            i++;
            continue;
        }
        free(f->troubles[i].path);
        f->troubles[i] = f->troubles[--f->n_troubles];
    }
}

/* ---- folders ---- */

static int64_t mtime_of(const struct stat *st)
{
    return (int64_t) st->st_mtim.tv_sec * NS_PER_S + st->st_mtim.tv_nsec;
}

static void note_folder(struct follow *f, const char *path, int fd)
{
    struct stat st;
    for (unsigned i = 0; i < f->n_folders; i++)
        if (strcmp(f->folders[i].path, path) == 0)
            return;
    if (f->n_folders == FOLDERS_MAX || fstat(fd, &st) < 0)
        return;
    if (f->n_folders == f->room_folders) {
        unsigned room = f->room_folders ? 2 * f->room_folders : 16;
        struct folder *more = realloc(f->folders, room * sizeof(*more));
        if (!more)
            return;
        f->folders = more;
        f->room_folders = room;
    }
    char *copy = strdup(path);
    if (copy)
        f->folders[f->n_folders++] = (struct folder){copy, st.st_dev, st.st_ino, mtime_of(&st)};
}

static void forget_folders(struct follow *f)
{
    for (unsigned i = 0; i < f->n_folders; i++)
        free(f->folders[i].path);
    f->n_folders = 0;
}

/* A folder that was replaced is another one by its inode. */
bool scan_changed(const struct follow *f)
{
    struct stat st;
    if (f->n_folders == 0 || f->n_folders == FOLDERS_MAX)
        return true;
    for (unsigned i = 0; i < f->n_folders; i++) {
        const struct folder *d = &f->folders[i];
        if (stat(d->path, &st) < 0 || st.st_dev != d->dev || st.st_ino != d->ino ||
            mtime_of(&st) != d->mtime_ns)
            return true;
    }
    return false;
}

void scan_done(struct follow *f)
{
    forget_folders(f);
    free(f->folders);
    for (unsigned i = 0; i < f->n_troubles; i++)
        free(f->troubles[i].path);
    f->n_troubles = 0;
}

/* ---- the walk over the globs ---- */

struct place {
    char path[PATH_MAX];
    size_t n;
    struct slice host;
};

static bool enter(struct place *to, const struct place *from, const char *name, struct slice host)
{
    int n = snprintf(to->path, sizeof(to->path), "%s%s%s", from->path,
                     from->n && from->path[from->n - 1] != '/' ? "/" : "", name);
    to->n = n < 0 ? 0 : (size_t) n;
    to->host = host.n ? host : from->host;
    return to->n && to->n < sizeof(to->path);
}

static bool path_matches(const struct glob_pattern *g, const char *path)
{
    char name[NAME_MAX + 1];
    struct slice host;
    if (g->absolute != (*path == '/'))
        return false;
    path += g->absolute;
    for (unsigned i = 0; i < g->n_parts; i++) {
        const struct glob_part *part = &g->parts[i];
        size_t n = strcspn(path, "/");
        if (n == 0 || n > NAME_MAX || (path[n] == '/') != (i + 1 < g->n_parts))
            return false;
        memcpy(name, path, n);
        name[n] = '\0';
        if (part->wild ? !glob_match(part, name, &host) : strcmp(part->before, name) != 0)
            return false;
        path += n + (path[n] == '/');
    }
    return true;
}

bool scan_matches(const struct follow *f, const char *path)
{
    for (unsigned i = 0; i < f->n_globs; i++)
        if (path_matches(&f->globs[i], path))
            return true;
    return false;
}

bool scan_covers(const struct follow *f, const char *path)
{
    char before[PATH_MAX];
    const char *base = family_base(path);
    size_t n = (size_t) (base - path);
    if (scan_matches(f, path))
        return true;
    if (n + NAME_MAX + 1 > sizeof(before))
        return false;
    memcpy(before, path, n);
    family_name(base, before + n);
    return scan_matches(f, before);
}

/* A file that two inputs match belongs to the first. */
static bool belongs_to_earlier(struct follow *f, const char *path)
{
    for (unsigned i = 0; i < f->n_earlier; i++) {
        if (!scan_covers(f->earlier[i], path))
            continue;
        if (!f->said_shared)
            follow_say(f, LOG_LEVEL_WARNING,
                       "%s (and perhaps more): also matched by input %s, which stands first and "
                       "reads it; this input leaves it alone",
                       path, f->earlier[i]->input);
        f->said_shared = true;
        return true;
    }
    return false;
}

static void walk_glob(struct follow *f, struct glob_pattern *g, unsigned i, const struct place *at);

static void take_name(struct follow *f, struct glob_pattern *g, unsigned i, const struct place *at,
                      int fd, const char *name, struct slice host)
{
    struct place *next = malloc(sizeof(*next));
    if (next && enter(next, at, name, host)) {
        if (i + 1 < g->n_parts) {
            walk_glob(f, g, i + 1, next);
        } else {
            g->n_found += belongs_to_earlier(f, next->path) ||
                          follow_found(f, fd, name, next->path, next->host, false);
        }
    }
    free(next);
}

static void walk_folder(struct follow *f, struct glob_pattern *g, unsigned i,
                        const struct place *at, DIR *folder)
{
    const struct glob_part *part = &g->parts[i];
    bool last = i + 1 == g->n_parts;
    for (struct dirent *d; (d = readdir(folder));) {
        struct slice host;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (!last && d->d_type != DT_DIR && d->d_type != DT_LNK && d->d_type != DT_UNKNOWN)
            continue;
        if (glob_match(part, d->d_name, &host))
            take_name(f, g, i, at, dirfd(folder), d->d_name, host);
    }
}

static void walk_glob(struct follow *f, struct glob_pattern *g, unsigned i, const struct place *at)
{
    const struct glob_part *part = &g->parts[i];
    struct slice none = {"", 0};
    if (!part->wild && i + 1 < g->n_parts) {
        take_name(f, g, i, at, -1, part->before, none);
        return;
    }
    const char *path = at->n ? at->path : ".";
    int fd = scan_open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (fd < 0) {
        if (fd != -ENOENT && fd != -ENOTDIR)
            scan_trouble(f, path, fd);
        return;
    }
    scan_trouble(f, path, 0);
    note_folder(f, path, fd);
    struct stat st;
    if (part->wild) {
        DIR *folder = fdopendir(fd);
        if (folder) {
            walk_folder(f, g, i, at, folder);
            closedir(folder);
            return;
        }
    } else if (fstatat(fd, part->before, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        take_name(f, g, i, at, fd, part->before, none);
    }
    close(fd);
}

/* At the start, and later only if it lasts: a rotation leaves a name empty for a moment. */
static void say_empty(struct follow *f, struct glob_pattern *g)
{
    if (g->n_found || !g->empty_ns) {
        g->empty_ns = g->n_found ? 0 : f->now;
        g->said_empty = g->said_empty && !g->n_found;
    }
    if (!g->n_found && !g->said_empty && (!f->began || f->now - g->empty_ns >= MISSING_NS)) {
        g->said_empty = true;
        follow_say(f, LOG_LEVEL_WARNING, "%s: matches no file yet", g->text);
    }
}

void scan_globs(struct follow *f)
{
    f->scan++;
    f->unreadable_now = 0;
    forget_folders(f);
    for (unsigned i = 0; i < f->n_globs; i++) {
        struct glob_pattern *g = &f->globs[i];
        struct place *start = calloc(1, sizeof(*start));
        if (!start)
            continue;
        if (g->absolute)
            start->path[start->n++] = '/';
        g->n_found = 0;
        walk_glob(f, g, 0, start);
        free(start);
        say_empty(f, g);
    }
    drop_old_troubles(f);
    f->unreadable = f->unreadable_now;
}

/* ---- the families of what is gone ---- */

static bool wanted(const struct follow *f, const struct file *x)
{
    return x->state == FILE_GONE && (x->restored || x->truncated) &&
           f->now - x->changed_ns < MISSING_NS;
}

static bool family_wanted(const struct follow *f, uint64_t family)
{
    for (unsigned i = 0; i < f->n_files; i++)
        if (f->files[i]->family == family && wanted(f, f->files[i]))
            return true;
    return false;
}

/* The folder of path, with its slash. */
static void scan_family_folder(struct follow *f, const char *path)
{
    char folder_path[PATH_MAX], full[PATH_MAX];
    size_t n = (size_t) (family_base(path) - path);
    if (n >= sizeof(folder_path))
        return;
    memcpy(folder_path, path, n);
    folder_path[n] = '\0';
    int fd = scan_open(n ? folder_path : ".", O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *d; (d = readdir(folder));) {
        int m = snprintf(full, sizeof(full), "%s%s", folder_path, d->d_name);
        if (d->d_name[0] != '.' && m > 0 && (size_t) m < sizeof(full) &&
            family_wanted(f, family_of(full)))
            (void) follow_found(f, fd, d->d_name, full, (struct slice){"", 0}, true);
    }
    closedir(folder);
}

void scan_families(struct follow *f)
{
    for (unsigned i = 0; i < f->n_files; i++) {
        struct file *x = f->files[i];
        bool again = false;
        for (unsigned j = 0; j < i && !again; j++)
            again =
                wanted(f, f->files[j]) &&
                family_base(f->files[j]->path) - f->files[j]->path ==
                    family_base(x->path) - x->path &&
                strncmp(f->files[j]->path, x->path, (size_t) (family_base(x->path) - x->path)) == 0;
        if (!again && wanted(f, x))
            scan_family_folder(f, x->path);
    }
}
