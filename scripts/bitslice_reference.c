/* Bit-sliced traversal of a forest in plain C: the yardstick for the XLA kernel.
 *
 * The same method as lrrf_jax/inference/bitsliced.py, without a compiler in between that may or may
 * not fuse: every distinct test of the forest once for a tile of rows, one bit a row; trees as
 * multiplexers over the bit planes; leaves as rows of small integers; ranks by comparison. One
 * thread, depth 8 or less padded to 8, rank sums below 2**16, no missing values that go left.
 * GNU C vectors, no intrinsics; little-endian.
 *
 *     cc -O3 -march=native -shared -fPIC bitslice_reference.c -o bitslice_reference.so
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 8
#define NODES 255
#define LEAVES 256
#ifndef TILE
#define TILE 512                 /* rows; the planes of a tile stay in the second-level cache */
#endif
#define BYTES (TILE / 8)         /* of one plane */
#define WORDS (TILE / 32)
#ifdef __AVX512F__              /* wider vectors than the processor has are taken apart badly */
#define LANES 16
#else
#define LANES 8
#endif
#define COLUMN (TILE + LANES)    /* of features; a power of two would crowd few cache sets */
#define GROUP 4                  /* trees whose leaves are added in one pass */
#define MOST_LABELS 32

typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef uint8_t bytes __attribute__((vector_size(4 * LANES), aligned(1), may_alias));
typedef uint16_t eight __attribute__((vector_size(16), may_alias));
typedef uint16_t many __attribute__((vector_size(4 * LANES), may_alias));

#define BLOCKS (WORDS / LANES)   /* vectors in a plane */

/* Row kk * BYTES + 4 p + b is bit 8 b + kk of word p, so that bit kk of the plane's bytes belongs
 * to BYTES neighbouring rows; one column holds its rows by bit, then by word. */
static void transpose(const float *x, int n, int d, float *columns)
{
    for (int row = 0; row < TILE; row++) {
        int kk = row / BYTES, p = row % BYTES / 4, b = row % 4;
        float *to = columns + (8 * b + kk) * WORDS + p;
        for (int f = 0; f < d; f++)
            to[(size_t)f * COLUMN] = row < n ? x[(size_t)row * d + f] : 0.0f;
    }
}

/* Bit set: the row goes right, as it does unless x >= threshold. */
static void ask(const float *column, float threshold, words *plane)
{
    const floats *x = (const floats *)column;
    for (int block = 0; block < BLOCKS; block++) {
        words left = {0}, bit = (words){0} + 1;
#pragma GCC unroll 8
        for (int k = 0; k < 32; k++, bit += bit)
            left |= (words)(x[k * BLOCKS + block] >= threshold) & bit;
        plane[block] = ~left;
    }
}

/* Nodes in pre-order. Each root picks the left or the right half of the rest, for all rows at
 * once; its plane is one bit of the leaf number. */
static void walk(const words *planes, const int32_t *question, uint8_t *leaf)
{
    words path[DEPTH][BLOCKS];
    for (int block = 0; block < BLOCKS; block++) {
        words rest[NODES / 2];
        const words *at = planes + block;
        words root = at[(size_t)question[0] * BLOCKS];
        path[0][block] = root;
        for (int i = 0; i < NODES / 2; i++) {
            words left = at[(size_t)question[1 + i] * BLOCKS];
            words right = at[(size_t)question[1 + NODES / 2 + i] * BLOCKS];
            rest[i] = left ^ (root & (left ^ right));
        }
        for (int level = 1, half = NODES / 4; level < DEPTH; level++, half /= 2) {
            root = rest[0];
            path[level][block] = root;
            for (int i = 0; i < half; i++)
                rest[i] = rest[1 + i] ^ (root & (rest[1 + i] ^ rest[1 + half + i]));
        }
    }
    for (int kk = 0; kk < 8; kk++)
        for (int j = 0; j < BYTES; j += 4 * LANES) {
            bytes number = {0};
            for (int level = 0; level < DEPTH; level++) {
                bytes part = *(const bytes *)((const uint8_t *)path[level] + j);
                number |= (part >> kk & 1) << (DEPTH - 1 - level);
            }
            *(bytes *)(leaf + kk * BYTES + j) = number;
        }
}

/* width: labels rounded up to a multiple of 8. */
static inline __attribute__((always_inline)) void add_leaves(
    const uint16_t *leaf_value, uint8_t (*leaf)[TILE], uint16_t *sums, int width)
{
    for (int row = 0; row < TILE; row++)
        for (int part = 0; part < width; part += 8) {
            eight total = *(eight *)(sums + (size_t)row * width + part);
            for (int tree = 0; tree < GROUP; tree++) {
                size_t slot = (size_t)tree * LEAVES + leaf[tree][row];
                total += *(const eight *)(leaf_value + slot * width + part);
            }
            *(eight *)(sums + (size_t)row * width + part) = total;
        }
}

static void rank(const uint16_t *sums, int width, int n, int m, int32_t *ranks)
{
    static _Thread_local uint16_t by_label[MOST_LABELS][TILE] __attribute__((aligned(64)));
    static _Thread_local uint16_t place[MOST_LABELS][TILE] __attribute__((aligned(64)));
    for (int row = 0; row < TILE; row++)
        for (int j = 0; j < m; j++)
            by_label[j][row] = sums[(size_t)row * width + j];
    for (int row = 0; row < TILE; row += 2 * LANES) {
        many rank_of[MOST_LABELS];
        for (int j = 0; j < m; j++)
            rank_of[j] = (many){0} + 1;
        for (int j = 1; j < m; j++) {
            many mine = *(many *)(by_label[j] + row);
            for (int i = 0; i < j; i++) {   /* of equal sums the lower label comes first */
                many behind = (many)(*(many *)(by_label[i] + row) <= mine);
                rank_of[j] -= behind;
                rank_of[i] += 1 + behind;
            }
        }
        for (int j = 0; j < m; j++)
            *(many *)(place[j] + row) = rank_of[j];
    }
    for (int row = 0; row < n; row++)
        for (int j = 0; j < m; j++)
            ranks[(size_t)row * m + j] = place[j][row];
}

/* question_feature, question_threshold: (n_questions,); question_of_node: (n_trees, 255) in
 * pre-order; leaf_value: (n_trees, 256, width); n_trees a multiple of GROUP. Returns 0, 1 without
 * memory, or 2 for a shape that it was not written for. */
int rank_rows(const float *x, int64_t n, int d, int m, int n_questions,
              const int32_t *question_feature, const float *question_threshold, int n_trees,
              const int32_t *question_of_node, const uint16_t *leaf_value, int32_t *ranks)
{
    int width = (m + 7) / 8 * 8;
    if (m > MOST_LABELS || n_trees % GROUP)
        return 2;
    float *columns = aligned_alloc(64, (size_t)d * COLUMN * sizeof(float));
    words *planes = aligned_alloc(64, (size_t)n_questions * BYTES);
    uint16_t *sums = aligned_alloc(64, (size_t)TILE * width * sizeof(uint16_t));
    uint8_t (*leaf)[TILE] = aligned_alloc(64, (size_t)GROUP * TILE);
    int failed = !columns || !planes || !sums || !leaf;
    for (int64_t first = 0; first < n && !failed; first += TILE) {
        int used = n - first < TILE ? (int)(n - first) : TILE;
        transpose(x + first * d, used, d, columns);
        for (int q = 0; q < n_questions; q++)
            ask(columns + (size_t)question_feature[q] * COLUMN, question_threshold[q],
                planes + (size_t)q * BLOCKS);
        memset(sums, 0, (size_t)TILE * width * sizeof(uint16_t));
        for (int tree = 0; tree < n_trees; tree += GROUP) {
            for (int k = 0; k < GROUP; k++)
                walk(planes, question_of_node + (size_t)(tree + k) * NODES, leaf[k]);
            const uint16_t *values = leaf_value + (size_t)tree * LEAVES * width;
            if (width == 8)
                add_leaves(values, leaf, sums, 8);
            else if (width == 16)
                add_leaves(values, leaf, sums, 16);
            else
                add_leaves(values, leaf, sums, width);
        }
        rank(sums, width, used, m, ranks + first * m);
    }
    free(columns), free(planes), free(sums), free(leaf);
    return failed;
}
