// SPDX-License-Identifier: BSD-2-Clause
/* Input for the programs under selftests/apps: the same bytes everywhere, as much as is asked for. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 5;

static uint32_t below(uint32_t limit)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(((state >> 32) * limit) >> 32);
}

/* Lines of a web server's access log. */
static void access_log(unsigned int lines)
{
	static const char *const methods[] = {"GET", "GET", "GET", "POST", "HEAD"};
	static const int statuses[] = {200, 200, 200, 304, 301, 404, 500};

	for (unsigned int i = 0; i < lines; i++)
		printf("10.%u.%u.%u - - [%02u/Mar/2024:%02u:%02u:%02u +0000] "
		       "\"%s /section%u/page%u.html?id=%u HTTP/1.1\" %d %u\n",
		       below(4), below(256), below(256), 1 + below(28), i / 3600 % 24, i / 60 % 60,
		       i % 60, methods[below(5)], below(20), below(500), below(100000),
		       statuses[below(7)], below(50000));
}

/* One JSON object per line. */
static void json(unsigned int objects)
{
	static const char *const words[] = {"North", "Ember", "quiet", "Lake", "signal", "Orchid"};

	for (unsigned int i = 0; i < objects; i++) {
		printf("{\"id\":%u,\"name\":\"%s %s %u\",\"tags\":[\"%s\",\"%s\"],\"items\":[", i,
		       words[below(6)], words[below(6)], below(1000), words[below(6)],
		       words[below(6)]);
		for (unsigned int n = 1 + below(6); n > 0; n--)
			printf("{\"price\":%u.%02u,\"count\":%u}%s", below(500), below(100),
			       below(20), n > 1 ? "," : "");
		printf("]}\n");
	}
}

/* Random 3-SAT at the ratio where instances are hardest. */
static void formula(unsigned int variables)
{
	unsigned int clauses = (unsigned int)(variables * 4.26);

	printf("p cnf %u %u\n", variables, clauses);
	for (unsigned int i = 0; i < clauses; i++) {
		for (int literal = 0; literal < 3; literal++)
			printf("%s%u ", below(2) ? "-" : "", 1 + below(variables));
		printf("0\n");
	}
}

static void put_word(uint32_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		putchar(value >> (8 * i) & 255);
}

/* 16-bit stereo sound at 44.1 kHz behind a WAV header of 44 bytes. */
static void sound(unsigned int seconds)
{
	unsigned int frames = seconds * 44100;

	fputs("RIFF", stdout);
	put_word(36 + frames * 4, 4);
	fputs("WAVEfmt ", stdout);
	put_word(16, 4);
	put_word(1, 2);
	put_word(2, 2);
	put_word(44100, 4);
	put_word(44100 * 4, 4);
	put_word(4, 2);
	put_word(16, 2);
	fputs("data", stdout);
	put_word(frames * 4, 4);
	for (unsigned int i = 0; i < frames; i++) {
		double t = i / 44100.0, note = 220 * pow(2, (int)(t * 4) % 13 / 12.0);
		double tone = sin(2 * M_PI * note * t) + 0.4 * sin(6 * M_PI * note * t);
		double noise = (below(2000) - 1000.0) * exp(-8 * fmod(t, 0.5));

		put_word((uint32_t)(int)(7000 * tone + noise), 2);
		put_word((uint32_t)(int)(6000 * tone - noise), 2);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *kind;
		void (*make)(unsigned int size);
	} kinds[] = {{"log", access_log}, {"json", json}, {"formula", formula}, {"sound", sound}};

	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].kind) == 0) {
			kinds[i].make((unsigned int)strtoul(argv[2], NULL, 10));
			return fflush(stdout) ? 1 : 0;
		}
	}
	fprintf(stderr, "Usage: %s log|json|formula|sound SIZE\n", argv[0]);
	return 2;
}
