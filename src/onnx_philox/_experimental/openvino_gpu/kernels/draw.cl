// A layer that draws: (states int32[.., 6], numbers int32[6], like) -> values.
//
// `numbers` are global_seed and op_seed, low words first, and two parameters. `like` has the values' shape where that is not
// known before; nothing reads its elements. The layer's options define VALUE, a function of values.cl, and OUT, its type.
// Where OpenVINO gives the values another type, this must not compile.
typedef char out_is_output[sizeof(OUT) == sizeof(OUTPUT0_TYPE) ? 1 : -1];

__kernel void draw(const __global int *states, const __global int *numbers, const __global void *like, __global OUT *out) {
  const uint element = get_global_id(0);
  const ulong rows = ROWS;
  // With one state it is all one row.
  const uint elements = rows == 1 ? get_global_size(0) : get_global_size(0) / rows;
  const uint row = element / elements;
  State state = state_of(states, row);
  state.key += joined(numbers[0], numbers[1]);
  state.high += joined(numbers[2], numbers[3]);
  out[element] = VALUE(state, element - row * elements, numbers[4], numbers[5]);
}
