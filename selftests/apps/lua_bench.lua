-- SPDX-License-Identifier: BSD-2-Clause
-- lua_bench.lua ROUNDS: that many rounds of work, with a line of results for each.
-- lua_bench.lua loop: rounds for ever, with a line on standard error after each.

local function fib(n)
	if n < 2 then
		return n
	end
	return fib(n - 1) + fib(n - 2)
end

local function primes(limit)
	local composite, count = {}, 0
	for i = 2, limit do
		if not composite[i] then
			count = count + 1
			for j = i * i, limit, i do
				composite[j] = true
			end
		end
	end
	return count
end

local function sorted(n)
	local x, list = 42, {}
	for i = 1, n do
		x = x * 16807 % 2147483647
		list[i] = x
	end
	table.sort(list)
	return list[n // 2]
end

local function words(n)
	local lines, seen, length = {}, {}, 0
	for i = 1, n do
		lines[i] = string.format("%05d word%d of line %x", i, i % 97, i * 31)
	end
	for word in table.concat(lines, "\n"):gmatch("%a+%d*") do
		seen[word] = (seen[word] or 0) + 1
		length = length + #word
	end
	return length + seen.word13
end

local function objects(n)
	local Point, sum = {}, 0
	Point.__index = Point
	function Point:norm()
		return self.x * self.x + self.y * self.y
	end
	for i = 1, n do
		sum = sum + setmetatable({ x = i % 7, y = i % 11 }, Point):norm()
	end
	return sum
end

local function round()
	return fib(24), primes(100000), sorted(20000), words(5000), objects(100000)
end

if arg[1] == "loop" then
	local done = 0
	while true do
		round()
		done = done + 1
		io.stderr:write("work ", done, "\n")
	end
end
for _ = 1, tonumber(arg[1]) do
	print(round())
end
