/* The Dawid-Skene step as a processor would like it: what a step costs at the least.
 *
 *     E   log p[t, k] = log_prior[k] + sum over the answers (w, l) of task t of table[w, l, k], then softmax over k
 *     M   counts[w, l, k] += p[t, k]; then table[w, l, k] = log of the share of l in counts[w, :, k] + smoothing
 *
 * Answers are sorted by task. A tile of tasks goes through E, softmax and M while it is in the nearest cache; the
 * softmax runs over the whole tile, so that its vectors are full whatever the number of classes. Threads take blocks of
 * tasks and keep counts of their own, then each adds up and takes logarithms for a share of the workers.
 * All numbers are doubles. The log-likelihood is part of the step, because the stopping rule of EM needs it.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BLOCK 512   /* tasks a thread takes at a time */
#define TILE 64     /* tasks of a tile; the product of their sums, each in [1, K], must stay below 1e308 */
#define TINY 1e-300
#define INLINE static inline __attribute__((always_inline))

typedef struct {
    const int64_t *start;       /* [T + 1] first answer of each task */
    const int32_t *worker;      /* [N] */
    const uint8_t *label;       /* [N] */
    int64_t tasks, workers;
    int classes, threads, steps;
    double smoothing;
    double *table;              /* [W, K, K] log P(worker w says l | truth is k) */
    double *log_prior;          /* [K] */
    double **counts;            /* [W, K, K] for each thread */
    double **prior;             /* [K + 1] for each thread, the log-likelihood behind the classes */
    double *probs;              /* [T, K] written by the last pass only */
    double *seconds;            /* [steps] */
    double *evidence;           /* [steps] log-likelihood of the parameters that the step began with */
    atomic_llong next;          /* first task that no thread has taken */
    pthread_barrier_t barrier;
} Job;

typedef struct { Job *job; int id; } Thread;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double log_of(double x) { return log(x > TINY ? x : TINY); }

/* exp for x <= 0, to 1e-15. No branch and no call, so that a loop over it becomes vectors without a vector library. */
INLINE double exp_of(double x) {
    static const double c[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                               1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0};
    x = x < -700.0 ? -700.0 : x;
    const double n = __builtin_rint(x * 1.4426950408889634);
    const double r = x - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
    double y = c[0];
#pragma GCC unroll 12
    for (int i = 1; i < 13; i++) y = y * r + c[i];
    const union { int64_t bits; double value; } power = {.bits = ((int64_t)(int32_t)n + 1023) << 52};
    return y * power.value;
}

/* The tasks from `from` to `to`. K is a constant in the copies made for few classes, below. */
INLINE void pass(const Job *job, const int K, int64_t from, int64_t to, double *restrict counts, double *restrict prior,
                 double *restrict probs) {
    const double *restrict table = job->table, *restrict log_prior = job->log_prior;
    const int64_t *restrict start = job->start;
    const int32_t *restrict worker = job->worker;
    const uint8_t *restrict label = job->label;
    double tile[TILE * K], evidence = 0.0;
    for (; from < to; from += TILE) {
        const int n = to - from < TILE ? to - from : TILE;
        for (int i = 0; i < n; i++) {                                           /* E: sums of logarithms */
            double p[K];
            for (int k = 0; k < K; k++) p[k] = log_prior[k];
            for (int64_t a = start[from + i]; a < start[from + i + 1]; a++) {
                const double *restrict row = table + ((int64_t)worker[a] * K + label[a]) * K;
                for (int k = 0; k < K; k++) p[k] += row[k];
            }
            double top = p[0];
            for (int k = 1; k < K; k++) top = p[k] > top ? p[k] : top;
            for (int k = 0; k < K; k++) tile[i * K + k] = p[k] - top;
            evidence += top;
        }
        for (int j = 0; j < n * K; j++) tile[j] = exp_of(tile[j]);              /* softmax of the tile */
        double product = 1.0;
        for (int i = 0; i < n; i++) {
            double *restrict p = tile + i * K, sum = 0.0;
            for (int k = 0; k < K; k++) sum += p[k];
            product *= sum;
            const double share = 1.0 / sum;
            for (int k = 0; k < K; k++) p[k] *= share;
        }
        evidence += log(product);
        if (probs) {
            memcpy(probs + from * K, tile, n * K * sizeof(double));
            continue;
        }
        for (int i = 0; i < n; i++) {                                           /* M: counts */
            double p[K];
            for (int k = 0; k < K; k++) prior[k] += p[k] = tile[i * K + k];
            for (int64_t a = start[from + i]; a < start[from + i + 1]; a++) {
                double *restrict row = counts + ((int64_t)worker[a] * K + label[a]) * K;
                for (int k = 0; k < K; k++) row[k] += p[k];
            }
        }
    }
    prior[K] += evidence;
}

static void blocks(Job *job, int id, double *probs) {
    double *counts = job->counts[id], *prior = job->prior[id];
    int64_t from;
    while ((from = atomic_fetch_add(&job->next, BLOCK)) < job->tasks) {
        const int64_t to = from + BLOCK < job->tasks ? from + BLOCK : job->tasks;
        switch (job->classes) {
#define WITH(K) case K: pass(job, K, from, to, counts, prior, probs); break;
            WITH(2) WITH(3) WITH(4) WITH(5) WITH(6) WITH(7) WITH(8) WITH(10)
            default: pass(job, job->classes, from, to, counts, prior, probs);
        }
    }
}

/* Counts of all threads -> logarithms, for the workers from `low` to `high`; leaves the counts empty. */
static void update(Job *job, int64_t low, int64_t high) {
    const int K = job->classes, size = K * K;
    for (int64_t w = low; w < high; w++) {
        double *restrict sum = job->counts[0] + w * size, *restrict out = job->table + w * size, total[K];
        for (int i = 1; i < job->threads; i++) {
            double *restrict more = job->counts[i] + w * size;
            for (int j = 0; j < size; j++) { sum[j] += more[j]; more[j] = 0.0; }
        }
        for (int k = 0; k < K; k++) total[k] = K * job->smoothing + TINY;
        for (int l = 0; l < K; l++) for (int k = 0; k < K; k++) total[k] += sum[l * K + k];
        for (int l = 0; l < K; l++)
            for (int k = 0; k < K; k++) out[l * K + k] = (sum[l * K + k] + job->smoothing) / total[k];
        for (int j = 0; j < size; j++) { out[j] = log_of(out[j]); sum[j] = 0.0; }
    }
}

static void update_prior(Job *job) {
    const int K = job->classes;
    for (int i = 1; i < job->threads; i++) for (int k = 0; k <= K; k++) job->prior[0][k] += job->prior[i][k];
    for (int k = 0; k < K; k++) job->log_prior[k] = log_of(job->prior[0][k] / job->tasks);
}

/* Vote shares instead of posteriors: the start. */
static void votes(Job *job) {
    const int K = job->classes;
    for (int64_t t = 0; t < job->tasks; t++) {
        const int64_t first = job->start[t], last = job->start[t + 1];
        double p[K];
        for (int k = 0; k < K; k++) p[k] = first < last ? 0.0 : 1.0 / K;
        for (int64_t a = first; a < last; a++) p[job->label[a]] += 1.0 / (last - first);
        for (int k = 0; k < K; k++) job->prior[0][k] += p[k];
        for (int64_t a = first; a < last; a++)
            for (int k = 0; k < K; k++) job->counts[0][((int64_t)job->worker[a] * K + job->label[a]) * K + k] += p[k];
    }
    update(job, 0, job->workers);
    update_prior(job);
}

static void *run(void *argument) {
    Job *job = ((Thread *)argument)->job;
    const int id = ((Thread *)argument)->id;
    const int64_t low = job->workers * id / job->threads, high = job->workers * (id + 1) / job->threads;
    for (int step = 0; step < job->steps; step++) {
        const double began = now();             /* before the barrier: nobody can have begun without thread 0 */
        memset(job->prior[id], 0, (job->classes + 1) * sizeof(double));
        pthread_barrier_wait(&job->barrier);
        blocks(job, id, NULL);
        pthread_barrier_wait(&job->barrier);
        update(job, low, high);
        if (id == 0) {
            update_prior(job);
            job->evidence[step] = job->prior[0][job->classes];
            atomic_store(&job->next, 0);
        }
        pthread_barrier_wait(&job->barrier);
        if (id == 0) job->seconds[step] = now() - began;
    }
    blocks(job, id, job->probs);
    return NULL;
}

/* Runs `steps` steps from vote shares, then writes the posteriors. 0 when all is well, 1 when memory is missing. */
int dawid_skene(const int64_t *start, const int32_t *worker, const uint8_t *label, int64_t tasks, int64_t workers,
                int classes, int threads, int steps, double smoothing, double *probs, double *seconds,
                double *evidence) {
    const size_t size = (size_t)workers * classes * classes;
    double *counts[threads], *prior[threads];
    Job job = {.start = start, .worker = worker, .label = label, .tasks = tasks, .workers = workers,
               .classes = classes, .threads = threads, .steps = steps, .smoothing = smoothing,
               .table = calloc(size, sizeof(double)), .log_prior = calloc(classes, sizeof(double)),
               .counts = counts, .prior = prior, .probs = probs, .seconds = seconds, .evidence = evidence};
    int missing = !job.table || !job.log_prior;
    for (int i = 0; i < threads; i++) {
        counts[i] = calloc(size, sizeof(double));
        prior[i] = calloc(classes + 1 + 16, sizeof(double));    /* 16: no cache line shared by two threads */
        missing |= !counts[i] || !prior[i];
    }
    if (!missing) {
        pthread_t handle[threads];
        Thread thread[threads];
        votes(&job);
        pthread_barrier_init(&job.barrier, NULL, threads);
        for (int i = 0; i < threads; i++) thread[i] = (Thread){&job, i};
        for (int i = 1; i < threads; i++) if (pthread_create(&handle[i], NULL, run, &thread[i])) abort();
        run(&thread[0]);
        for (int i = 1; i < threads; i++) pthread_join(handle[i], NULL);
        pthread_barrier_destroy(&job.barrier);
    }
    for (int i = 0; i < threads; i++) { free(counts[i]); free(prior[i]); }
    free(job.table);
    free(job.log_prior);
    return missing;
}
