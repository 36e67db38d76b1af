"""The core in C++, called from Python and from C: instruction sets, arrays, memory."""
