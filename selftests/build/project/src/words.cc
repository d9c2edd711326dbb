// SPDX-License-Identifier: BSD-2-Clause
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "crc.h"

static std::vector<std::string> split(const std::string &line)
{
	std::vector<std::string> words(1);

	for (char c : line) {
		if (c == '!')
			throw std::runtime_error("a shout");
		if (c != ' ')
			words.back() += c;
		else if (!words.back().empty())
			words.emplace_back();
	}
	return words;
}

int main(int argc, char **argv)
{
	std::map<std::string, unsigned> sums;
	unsigned crc = ~0u;

	for (std::string line; std::getline(std::cin, line);) {
		try {
			for (const std::string &word : split(line)) {
				crc = crc_update(crc, word.data(), word.size());
				sums[word] += rotate(int(crc), argc);
			}
		} catch (const std::runtime_error &e) {
			std::cout << e.what() << '\n';
		}
	}
	for (const auto &[word, sum] : sums)
		std::cout << word << ' ' << sum << '\n';
	std::cout << crc_calls() << '\n';
	(void)argv;
	return 0;
}
