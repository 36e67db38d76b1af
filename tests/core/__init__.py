"""The core in C++ as Python and C call it: instruction sets, arrays, memory."""
