// SPDX-License-Identifier: BSD-2-Clause
// Has no bitcode.
#include <stdexcept>

extern "C" long outside_catch(long (*fn)(long), long arg)
{
	try {
		return fn(arg);
	} catch (const std::exception &e) {
		return 100 + e.what()[0];
	} catch (...) {
		return 200;
	}
}

extern "C" long outside_throw(long arg)
{
	if (arg & 1)
		throw std::invalid_argument("outside");
	return arg;
}

extern "C" long outside_pass(long (*fn)(long), long arg)
{
	long got = fn(arg);

	return got + 1;
}
