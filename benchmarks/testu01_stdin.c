/* Runs a battery of TestU01 on 32-bit words from the standard input.
 *
 *   testu01_stdin smallcrush|crush|bigcrush [TEST ...]
 *
 * TEST are the numbers that TestU01's report prints: only those tests run, on further words. After the report comes a
 * line for each statistic, "p-value", its name and its p-value, with tabs between them.
 *
 *   cc -O2 testu01_stdin.c -o testu01_stdin -ltestu01 -lprobdist -lmylib -lm
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bbattery.h>
#include <swrite.h>
#include <unif01.h>

enum { BUFFER = 1 << 16, TESTS = 200 };

static unsigned int next_word(void) {
  static unsigned int words[BUFFER];
  static size_t used = 0, there = 0;
  if (used == there) {
    there = fread(words, sizeof words[0], BUFFER, stdin);
    used = 0;
    if (there == 0) {
      fprintf(stderr, "The standard input ended before the tests did.\n");
      exit(2);
    }
  }
  return words[used++];
}

typedef struct {
  const char* name;
  void (*run)(unif01_Gen*);
  void (*repeat)(unif01_Gen*, int[]);
} Battery;

static const Battery batteries[] = {
    {"smallcrush", bbattery_SmallCrush, bbattery_RepeatSmallCrush},
    {"crush", bbattery_Crush, bbattery_RepeatCrush},
    {"bigcrush", bbattery_BigCrush, bbattery_RepeatBigCrush},
};

int main(int count, char** arguments) {
  const Battery* battery = NULL;
  for (size_t i = 0; i < sizeof batteries / sizeof batteries[0]; ++i)
    if (count > 1 && strcmp(arguments[1], batteries[i].name) == 0) battery = &batteries[i];
  if (battery == NULL) {
    fprintf(stderr, "usage: %s smallcrush|crush|bigcrush [TEST ...]\n", arguments[0]);
    return 2;
  }
  int wanted[TESTS] = {0};
  for (int i = 2; i < count; ++i) {
    int test = atoi(arguments[i]);
    if (test < 1 || test >= TESTS) {
      fprintf(stderr, "'%s' is no number of a test.\n", arguments[i]);
      return 2;
    }
    wanted[test] = 1;
  }

  char name[] = "standard input";
  swrite_Basic = FALSE; /* the summary alone */
  unif01_Gen* generator = unif01_CreateExternGenBits(name, next_word);
  if (count > 2)
    battery->repeat(generator, wanted);
  else
    battery->run(generator);
  /* Tests that were not run have a p-value below 0. */
  for (int i = 0; i < bbattery_NTests; ++i)
    if (bbattery_pVal[i] >= 0) printf("p-value\t%s\t%.17g\n", bbattery_TestNames[i], bbattery_pVal[i]);
  unif01_DeleteExternGenBits(generator);
  return 0;
}
