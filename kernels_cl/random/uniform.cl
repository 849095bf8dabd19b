// y[i] = a random number in [0, 1) * scale + shift: the initial value of a variable.
//
//   state   key and call number, of tfnb/runtime/resources.py:RandomStates
//   y       n floats
//
// One work-item per group. The numbers are those of the code that is generated for RandomUniform.

#include "lib/types.clh"
#include "lib/index.clh"
#define T float
#define W 16
#include "fused/put.clh"
#define W 16
#include "lib/philox.clh"
#pragma OPENCL FP_CONTRACT OFF // as in generated code

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void uniform_values(
    __global const uint *state, __global float *y, int n, float scale, float shift)
{
    uint key0 = state[0], key1 = state[1], call = state[2];
    RANGE(int, i, n, 16) {
        int live = LIVE(i_end - i, 16);
        uint16 words[4];
        philox_4x32(key0, key1, convert_uint16(lane_index16(i, live)), (uint16)(call), words);
        put(y + i, convert_float16(words[0] >> 8) * 5.9604645e-08f * scale + shift, live);
    }
}
