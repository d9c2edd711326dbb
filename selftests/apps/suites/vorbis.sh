# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034 # suite.sh reads suite_packages
# libvorbis' test: what it encodes it decodes to about the same.

suite_fetch() {
	. "$HERE/vorbis.sh"
	app_fetch
}

suite_build() {
	local ogg vorbis
	ogg=$(src libogg)
	vorbis=$(src libvorbis)
	quiet build.log compile "$1" "-O2 -I$ogg/include -I$vorbis/include -I$vorbis/lib" o \
		"$vorbis"/test/{test,util,write_read}.c "$ogg"/src/{bitwise,framing}.c \
		"$vorbis"/lib/{analysis,bitrate,block,codebook,envelope,floor0,floor1,info,lookup,lpc,lsp,mapping0,mdct,psy,registry,res0,sharedbook,smallft,synthesis,vorbisenc,window}.c
	quiet build.log link "$1" -O2 o "$3/vorbis-test" -lm
}

suite_parts() {
	echo write-read vorbis-test
}

suite_run() {
	./vorbis-test
}
