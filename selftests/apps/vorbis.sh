# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Vorbis: the encoder of libvorbis' examples, on generated sound.

app_fetch() {
	fetch__source libogg prepare_ogg
	fetch__source libvorbis prepare_vorbis
}

prepare_ogg() {
	CC=clang-19 ./configure
}

# The stream's serial number comes from the clock.
prepare_vorbis() {
	sed -i 's/srand(time(NULL))/srand(1)/' examples/encoder_example.c
}

app_build() {
	local ogg vorbis files
	ogg=$(src libogg)
	vorbis=$(src libvorbis)
	mapfile -t files < <(find "$vorbis/lib" -maxdepth 1 -name '*.c' \
		! -name barkmel.c ! -name psytune.c ! -name tone.c ! -name vorbisfile.c | sort)

	compile "$1" "$3 -I$ogg/include -I$vorbis/include -I$vorbis/lib" "$4" "${files[@]}" \
		"$ogg"/src/{bitwise,framing}.c "$vorbis/examples/encoder_example.c"
	link "$1" "$3" "$4" "$5" -lm
}

app_input() {
	once "$1/sound.wav" generate sound 60
}

app_run() {
	"$1" <"$2/sound.wav"
}

app_loop() {
	exec "$1" < <(endless "$2/sound.wav" 44) >/dev/null
}
