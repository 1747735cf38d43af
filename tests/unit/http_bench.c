#include "http_bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/zone.h"
#include "tap.h"

#define DEADLINE_NS (10 * NS_PER_S)
#define NOON_S INT64_C(1795521600) /* 2026-11-24T12:00:00Z */
#define MONDAY (TODAY - 1)
#define TODAY ((int32_t) (NOON_S / 86400))

static int64_t noon_ns(void *arg)
{
    (void) arg;
    return NOON_S * NS_PER_S;
}

static void add_metrics(struct metrics *m)
{
    static char visitors[] = "visitors", paths[] = "paths", pairs[] = "pairs",
                clients[] = "clients";
    const struct key_def visitor = {{FIELD_CLIENT, FIELD_USER_AGENT}, 2};
    const struct key_def path = {{FIELD_PATH}, 1};
    const struct key_def pair = {{FIELD_USER_AGENT, FIELD_PATH}, 2};
    const struct key_def client = {{FIELD_CLIENT}, 1};
    const struct metric list[] = {
        {.kind = METRIC_UNIQUES,
         .name = visitors,
         .key = visitor,
         .precision = 14,
         .exact_until = 10000},
        {.kind = METRIC_UNIQUES, .name = paths, .key = path, .precision = 14, .exact_until = 10000},
        {.kind = METRIC_TOPK,
         .name = paths,
         .key = path,
         .k = 20,
         .error = 0.001,
         .confidence = 0.99},
        {.kind = METRIC_TOPK,
         .name = pairs,
         .key = pair,
         .k = 5,
         .error = 0.001,
         .confidence = 0.99},
        {.kind = METRIC_SEEN,
         .name = visitors,
         .key = visitor,
         .capacity = 1000,
         .false_positive = 0.01,
         .keep_days = 400,
         .memory_limit_bytes = 1 << 20,
         .journal_limit_bytes = 1 << 20},
        {.kind = METRIC_SEEN,
         .name = clients,
         .key = client,
         .capacity = 1000,
         .false_positive = 0.01,
         .keep_days = 400,
         .memory_limit_bytes = 1 << 20,
         .journal_limit_bytes = 1 << 20},
    };
    m->n = sizeof(list) / sizeof(*list);
    memcpy(m->list, list, sizeof(list));
}

static void add_line(struct bench *b, int32_t day, char visitor, const char *path, int status)
{
    char client[] = "192.0.2.0", agent[] = "agent-?";
    client[sizeof(client) - 2] = (char) ('1' + visitor - 'a');
    agent[sizeof(agent) - 2] = visitor;
    struct record r = {.day = day,
                       .time_s = zone_day_start(day),
                       .status = (int16_t) status,
                       .bytes = 100,
                       .duration_us = DURATION_NONE};
    r.text[FIELD_CLIENT] = slice_of(client);
    r.text[FIELD_USER_AGENT] = slice_of(agent);
    r.text[FIELD_PATH] = slice_of(path);
    const struct day_window window = {0, TODAY + 1};
    CU_ASSERT_EQUAL(plan_record(b->planner, b->batch, &r, &window, &b->books), PLANNED_COUNTED);
    b->books.lines++;
    b->books.bytes += 100;
}

static void add_lines(struct bench *b)
{
    add_line(b, MONDAY, 'a', "/", 200);
    add_line(b, MONDAY, 'a', "/about", 200);
    add_line(b, MONDAY, 'b', "/", 200);
    add_line(b, MONDAY, 'c', "/", 200);
    add_line(b, MONDAY, 'c', "/gone", 404);
    add_line(b, TODAY, 'b', "/", 200);
    add_line(b, TODAY, 'd', "/caf\xe9", 500);
    add_line(b, TODAY, 'd', "=1+1", STATUS_NONE);
    b->books.lines++;
    b->books.rejected[REJECT_BAD_DATE]++;
    const struct store_delta delta = {
        .input = 0, .batch = b->batch, .books = &b->books, .last_line_s = NOON_S - 60};
    CU_ASSERT_EQUAL_FATAL(store_apply(b->store, &delta), 0);
    CU_ASSERT_EQUAL_FATAL(store_commit(b->store), 0);
}

static void publish(struct bench *b)
{
    struct input_status status = {.kind = "files", .n_samples = 1};
    struct input_file_status file = {.offset = 800, .size = 900, .lag_bytes = 100};
    status.lag_bytes = 100;
    snprintf(file.path, sizeof(file.path), "/var/log/nginx/access.log");
    snprintf(status.samples[0].line, sizeof(status.samples[0].line), "half a line");
    status.samples[0].reason = "bad_date";
    status.samples[0].field = "time";
    status.samples[0].column = 7;
    CU_ASSERT_EQUAL(store_publish_input(b->store, 0, &status, &file, 1), 0);
}

static void open_store(struct bench *b)
{
    static const char *const inputs[] = {"web"};
    const struct store_options options = {
        .directory = b->folder,
        .metrics = &b->metrics,
        .definition_suffix = "client=remote v4=32 v6=128 zone=UTC",
        .zone = "UTC",
        .secret = &b->secret,
        .commit_every_ns = NS_PER_S,
        .retention_days = 400,
        .today = TODAY,
        .inputs = inputs,
        .n_inputs = 1,
    };
    struct err note = {""}, e = {""};
    int rc = store_open(&b->store, &options, &note, &e);
    if (rc < 0)
        printf("# store_open: %s\n", e.text);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
}

struct bench *bench_new(void)
{
    static const struct client_rule remote = {.ipv4_prefix = 32, .ipv6_prefix = 128};
    struct bench *b = calloc(1, sizeof(*b));
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    CU_ASSERT_EQUAL_FATAL(zone_set("UTC", NULL), 0);
    for (unsigned i = 0; i < SK_SECRET_BYTES; i++)
        b->secret.bytes[i] = (uint8_t) (i * 167 + 13);
    add_metrics(&b->metrics);
    b->clock = (struct clock){.now_ns = noon_ns};
    const struct plan_options plan = {
        .metrics = &b->metrics, .client = &remote, .secret = &b->secret};
    CU_ASSERT_EQUAL_FATAL(plan_new(&b->plan, &plan), 0);
    CU_ASSERT_EQUAL_FATAL(planner_new(&b->planner, b->plan), 0);
    CU_ASSERT_EQUAL_FATAL(batch_new(&b->batch, b->plan), 0);
    snprintf(b->folder, sizeof(b->folder), "/tmp/test_http.XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(b->folder));
    open_store(b);
    add_lines(b);
    publish(b);
    b->options = (struct http_options){
        .listen = "127.0.0.1:0",
        .clock = &b->clock,
        .store = b->store,
        .plan = b->plan,
        .query_cache_bytes = 1 << 20,
    };
    return b;
}

void bench_start(struct bench *b)
{
    struct err e = {""};
    int rc = http_start(&b->http, &b->options, &e);
    if (rc < 0)
        printf("# http_start: %s\n", e.text);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void) st;
    (void) type;
    (void) ftw;
    return remove(path);
}

void bench_done(struct bench *b)
{
    http_stop(b->http);
    CU_ASSERT_EQUAL(store_close(b->store), 0);
    batch_free(b->batch);
    planner_free(b->planner);
    plan_free(b->plan);
    CU_ASSERT_EQUAL(nftw(b->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(b);
}

/* ---- the client ---- */

int bench_connect(const struct bench *b)
{
    const char *address = http_address(b->http);
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_un un;
    } a = {.v4 = {.sin_family = AF_INET}};
    socklen_t n = sizeof(a.v4);
    if (strncmp(address, "unix:", 5) == 0) {
        a.un = (struct sockaddr_un){.sun_family = AF_UNIX};
        snprintf(a.un.sun_path, sizeof(a.un.sun_path), "%s", address + 5);
        n = sizeof(a.un);
    } else {
        a.v4.sin_port = htons((uint16_t) strtoul(strrchr(address, ':') + 1, NULL, 10));
        a.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, &a.any, n) == 0)
        return fd;
    int rc = -errno;
    close(fd);
    return rc;
}

/* Bytes that the first reply in text has in all; 0: not yet known. */
static size_t whole_bytes(const char *text, size_t n)
{
    const char *end = memmem(text, n, "\r\n\r\n", 4);
    if (!end)
        return 0;
    const char *length = strcasestr(text, "\r\nContent-Length: ");
    size_t head = (size_t) (end - text) + 4;
    return length && length < end ? head + strtoul(length + 18, NULL, 10) : head;
}

static void read_reply(int fd, struct buf *got, bool bodiless, bool to_end, bool *closed)
{
    int64_t deadline = clock_monotonic_ns() + DEADLINE_NS;
    for (;;) {
        const char *text = buf_cstr(got);
        size_t whole = text ? whole_bytes(text, got->n) : 0;
        if (!to_end && whole && (bodiless || got->n >= whole))
            return;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left_ms = (deadline - clock_monotonic_ns()) / 1000000;
        if (left_ms <= 0 || poll(&p, 1, (int) left_ms) <= 0) {
            CU_FAIL("no whole reply within the deadline");
            return;
        }
        if (!buf_reserve(got, 65536))
            return;
        ssize_t n = recv(fd, got->p + got->n, 65535, 0);
        if (n <= 0) {
            *closed = true;
            return;
        }
        got->n += (size_t) n;
    }
}

static unsigned count_replies(const struct buf *got)
{
    unsigned n = 0;
    const char *p = got->p;
    size_t left = got->n;
    while (left && (p = memmem(p, left, "HTTP/1.", 7))) {
        n++;
        p += 7;
        left = got->n - (size_t) (p - got->p);
    }
    return n;
}

static struct answer take_apart(struct buf *got)
{
    struct answer a = {.replies = count_replies(got)};
    const char *text = buf_cstr(got);
    const char *end = text ? strstr(text, "\r\n\r\n") : NULL;
    if (!end || sscanf(text, "HTTP/1.%*d %d", &a.status) != 1)
        return a;
    a.head = strndup(text, (size_t) (end + 2 - text));
    a.body_bytes = got->n - (size_t) (end + 4 - text);
    a.body = malloc(a.body_bytes + 1);
    CU_ASSERT_FATAL(a.head && a.body);
    memcpy(a.body, end + 4, a.body_bytes);
    a.body[a.body_bytes] = '\0';
    char type[256];
    if (strstr(answer_header(&a, "Content-Type", type), "json") && a.body_bytes) {
        a.json = cJSON_Parse(a.body);
        CU_ASSERT_PTR_NOT_NULL(a.json);
    }
    return a;
}

struct answer bench_send(const struct bench *b, const void *bytes, size_t n, bool to_end)
{
    struct buf got;
    bool closed = false;
    buf_init(&got);
    int fd = bench_connect(b);
    CU_ASSERT_FATAL(fd >= 0);
    /* The server may refuse and close before all is sent. */
    for (size_t sent = 0; sent < n;) {
        ssize_t m = send(fd, (const char *) bytes + sent, n - sent, MSG_NOSIGNAL);
        if (m <= 0)
            break;
        sent += (size_t) m;
    }
    bool bodiless = n > 5 && memcmp(bytes, "HEAD ", 5) == 0;
    read_reply(fd, &got, bodiless, to_end, &closed);
    close(fd);
    struct answer a = take_apart(&got);
    char value[256];
    a.closed = closed || strcasecmp(answer_header(&a, "Connection", value), "close") == 0;
    buf_done(&got);
    return a;
}

struct answer bench_ask_with(const struct bench *b, const char *method, const char *target,
                             const char *headers)
{
    struct buf request;
    buf_init(&request);
    buf_printf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", method, target, headers);
    struct answer a = bench_send(b, request.p, request.n, false);
    buf_done(&request);
    return a;
}

struct answer bench_ask(const struct bench *b, const char *method, const char *target)
{
    return bench_ask_with(b, method, target, "");
}

void answer_done(struct answer *a)
{
    free(a->head);
    free(a->body);
    cJSON_Delete(a->json);
    *a = (struct answer){0};
}

const char *answer_header(const struct answer *a, const char *name, char buffer[256])
{
    char needle[64];
    buffer[0] = '\0';
    snprintf(needle, sizeof(needle), "\r\n%s: ", name);
    const char *at = a->head ? strcasestr(a->head, needle) : NULL;
    if (at)
        snprintf(buffer, 256, "%.*s", (int) strcspn(at + strlen(needle), "\r"),
                 at + strlen(needle));
    return buffer;
}

const char *row_text(const cJSON *row, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, name));
    return text ? text : "(none)";
}

double row_number(const cJSON *row, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

const char *answer_text(const struct answer *a, const char *name)
{
    return row_text(a->json, name);
}

double answer_number(const struct answer *a, const char *name)
{
    return row_number(a->json, name);
}

const cJSON *answer_row(const struct answer *a, const char *array, int i)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(a->json, array), i);
}
