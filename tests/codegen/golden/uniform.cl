// k0_add [1000] x 1

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"
#define W 16
#include "lib/philox.clh"
#undef ITEM
#undef ITEMS
#define ITEM item
#define ITEMS items
#pragma OPENCL FP_CONTRACT OFF

static PART void part_k0_add(
    int item, int items,
    __global const float *in_1, __global const uint *random_1, __global float *out_1, int n0)
{
    uint word_1 = random_1[0];
    uint word_2 = random_1[1];
    uint word_3 = random_1[2];
    RANGE(int, i0, n0, 16) {
        int live = LIVE(i0_end - i0, 16);
        float16 x_1 = LOAD(float, 16, in_1 + i0);
        int16 lane_1 = lane_index16(i0, live);
        uint16 words_1[4];
        philox_4x32(word_1, word_2, convert_uint16(lane_1), (uint16)(word_3), words_1);
        uint16 word_4 = words_1[0];
        put(out_1 + i0, (x_1 + (convert_float16((word_4 >> 8)) * 5.9604645e-08f)), live);
    }
}

__kernel void k0_add(
    __global const float *in_1, __global const uint *random_1, __global float *out_1, int n0)
{
    int item = get_global_id(0), items = get_global_size(0);
    part_k0_add(
        item, items, in_1, random_1, out_1, n0);
}
