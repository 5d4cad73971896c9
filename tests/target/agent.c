/* A stand-in for the agent: understands connect= and listen, greets, and holds start-up until
 * one byte (or the end of the connection) arrives. Needs no headers of the JVM's. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int loads;

static int option(const char *options, const char *key, char *value, size_t size) {
    size_t length = strlen(key), used = 0;
    const char *at = options;
    while (at && *at) {
        if (!strncmp(at, key, length) && (at[length] == '=' || at[length] == ',' || !at[length])) {
            for (at += length + (at[length] == '='); *at && *at != ',' && used + 1 < size; at++) {
                unsigned byte;
                if (*at == '%' && sscanf(at + 1, "%2x", &byte) == 1) {
                    value[used++] = (char)byte;
                    at += 2;
                } else {
                    value[used++] = *at;
                }
            }
            value[used] = 0;
            return 1;
        }
        at = strchr(at, ',');
        at = at ? at + 1 : NULL;
    }
    return 0;
}

static struct sockaddr_un address(const char *path) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    strncpy(a.sun_path, path, sizeof a.sun_path - 1);
    return a;
}

static int greet(const char *path, const char *how) {
    struct sockaddr_un a = address(path);
    char text[64];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a)) {
        close(fd);
        return -1;
    }
    snprintf(text, sizeof text, "%s %d\n", how, ++loads);
    return write(fd, text, strlen(text)) < 0 ? -1 : fd;
}

static void *serve(void *data) {
    int fd, listening = (int)(long)data;
    while ((fd = accept(listening, NULL, NULL)) >= 0)
        if (write(fd, "listening\n", 10) < 0) close(fd);
    return NULL;
}

static void start_listening(const char *path) {
    char directory[64], standard[100];
    pthread_t thread;
    snprintf(directory, sizeof directory, "/tmp/.jvmti-%d", (int)geteuid());
    snprintf(standard, sizeof standard, "%s/%d.sock", directory, (int)getpid());
    if (!*path) {
        mkdir(directory, 0700);
        path = standard;
    }
    struct sockaddr_un a = address(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(path);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) || chmod(path, 0600) || listen(fd, 4)) return;
    pthread_create(&thread, NULL, serve, (void *)(long)fd);
}

int Agent_OnLoad(void *vm, char *options, void *reserved) {
    char path[256], byte;
    (void)vm, (void)reserved;
    if (options && option(options, "listen", path, sizeof path)) start_listening(path);
    if (options && option(options, "connect", path, sizeof path)) {
        int fd = greet(path, "onload");
        if (fd >= 0) (void)!read(fd, &byte, 1);
    }
    return 0;
}

int Agent_OnAttach(void *vm, char *options, void *reserved) {
    char path[256];
    (void)vm, (void)reserved;
    if (options && option(options, "log", path, sizeof path) && !strcmp(path, "refuse")) return 7;
    if (options && option(options, "log", path, sizeof path) && !strcmp(path, "sleep")) sleep(2);
    if (options && option(options, "connect", path, sizeof path)) greet(path, "onattach");
    return 0;
}
