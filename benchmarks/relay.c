/* The relay between network namespaces (namespaces.py), for where there is a C compiler.
 *
 *     relay DELAY RATE QUEUE TUNNEL...
 *
 * A packet waits for its sender's uplink of RATE bits a second (0: no limit), and travels DELAY
 * seconds. It is lost if QUEUE bytes wait before it. Tunnel i is host i, whose address ends with
 * i + 1. The program in Python does the same with 2.5 times the processor time.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HOSTS = 256, LARGEST = 1 << 16, BURST = 64 };

struct packet {
    struct packet *next;
    double due;
    int target;
    size_t length;
    unsigned char bytes[];
};

/* Packets of one sender, in the order in which they are due. */
struct queue {
    struct packet *first, *last;
    double free_at; /* when the uplink has sent all that waits for it */
};

static struct queue queues[HOSTS];
static struct pollfd tunnels[HOSTS];
static int hosts;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

/* Pass on what is due, and give the seconds until more is. */
static double deliver(void)
{
    double moment = now(), next = moment + 1;
    for (int host = 0; host < hosts; host++) {
        struct queue *queue = &queues[host];
        while (queue->first && queue->first->due <= moment) {
            struct packet *packet = queue->first;
            if (write(tunnels[packet->target].fd, packet->bytes, packet->length) < 0) {
                /* The host's device is full or down: a network would lose the packet, too. */
            }
            queue->first = packet->next;
            free(packet);
        }
        if (queue->first && queue->first->due < next)
            next = queue->first->due;
    }
    double rest = next - now();
    return rest > 0 ? rest : 0;
}

/* Take packets of one host. */
static void take(int source, double delay, double rate, double most)
{
    static unsigned char buffer[LARGEST];
    struct queue *queue = &queues[source];
    for (int number = 0; number < BURST; number++) {
        ssize_t length = read(tunnels[source].fd, buffer, sizeof buffer);
        if (length <= 0)
            return;
        /* The last byte of an IPv4 destination is the host's number. */
        int target = length >= 20 && buffer[0] >> 4 == 4 ? buffer[19] - 1 : -1;
        if (target < 0 || target >= hosts)
            continue;
        double moment = now();
        double begins = queue->free_at > moment ? queue->free_at : moment;
        if (rate > 0 && (begins - moment) * rate / 8 > most)
            continue;
        queue->free_at = rate > 0 ? begins + 8 * length / rate : moment;
        struct packet *packet = malloc(sizeof *packet + length);
        if (!packet)
            exit(1);
        packet->next = NULL;
        packet->due = queue->free_at + delay;
        packet->target = target;
        packet->length = length;
        memcpy(packet->bytes, buffer, length);
        if (queue->first)
            queue->last->next = packet;
        else
            queue->first = packet;
        queue->last = packet;
    }
}

int main(int count, char **words)
{
    if (count < 5 || count - 4 > HOSTS)
        return 2;
    double delay = atof(words[1]), rate = atof(words[2]), most = atof(words[3]);
    struct sched_param priority = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &priority); /* refused to some: then it is as others are */
    hosts = count - 4;
    for (int host = 0; host < hosts; host++) {
        tunnels[host] = (struct pollfd){.fd = atoi(words[4 + host]), .events = POLLIN};
        fcntl(tunnels[host].fd, F_SETFL, O_NONBLOCK);
    }
    for (;;) {
        double seconds = deliver();
        struct timespec time = {.tv_sec = (time_t)seconds};
        time.tv_nsec = (long)(1e9 * (seconds - time.tv_sec));
        if (ppoll(tunnels, hosts, &time, NULL) <= 0)
            continue;
        for (int host = 0; host < hosts; host++)
            if (tunnels[host].revents & POLLIN)
                take(host, delay, rate, most);
    }
}
