// k0_matmul [200, 100, 64, 0.10000000149011612] x 2

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/product.clh"
#undef ITEM
#undef ITEMS
#define ITEM item
#define ITEMS items
#pragma OPENCL FP_CONTRACT OFF

PART void part_k0_matmul(
    int item, int items, __local float *b_block, __local float *a_panel, __local float *tile,
    __global const float *in_1, __global const float *in_2, __global float *out_1, int m, int n,
    int k, float x0)
{
    int panels = (m + MR - 1) / MR;
    int first = panels * ITEM / ITEMS;
    int last = panels * (ITEM + 1) / ITEMS;
    for (int j0 = 0; j0 < n; j0 += NC) {
        int width = LOWER(NC, n - j0);
        pack_b_kmajor(b_block, in_2 + j0, n, k, (width + NR - 1) / NR);
        for (int panel = first; panel < last; ++panel) {
            int i = panel * MR;
            int rows = LOWER(MR, m - i);
            pack_a_kmajor(a_panel, in_1 + i, m, k);
            for (int j = 0; j < width; j += NR) {
                int columns = LOWER(NR, width - j);
                product_ahead(out_1 + i * n + j0 + j, n, rows, columns);
                product_tile(a_panel, b_block + j / NR * B_PANEL(k), k, columns, tile);
                for (int r = 0; r < rows; ++r)
                    for (int c = 0; c < columns; c += 16) {
                        int done = max(0, c + 16 - columns);
                        int i0 = (i + r) * n + j0 + j + c - done;
                        int live = 16;
                        float16 product = vload16(0, tile + r * NR + c - done);
                        float16 x_1 = LOAD(float, 16, out_1 + i0);
                        put_from(out_1 + i0, (x_1 - (product * x0)), done);
                    }
            }
        }
    }
}

__kernel void k0_matmul(
    __global const float *in_1, __global const float *in_2, __global float *out_1, int m, int n,
    int k, float x0)
{
    PRODUCT_MEMORY;
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_matmul(
        item, items, b_block, a_panel, tile, in_1, in_2, out_1, m, n, k, x0);
}
