#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Help, manual pages and completion tell the same as the tables that commands are parsed with, and
# the completion scripts work in their shells.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
work_dir
need_built "$HALO_BPF"
MAN_DIR=$SOURCE_DIR/docs/man
TABLES=$("$HALO_BPF" help -j)

table() {
	jq -r "$@" <<<"$TABLES"
}

# The options in a page's synopsis and in the first column of its tables, but for those of all commands.
page_options() {
	sed -nE -e '/^    halo-bpf/p' -e 's/^\| (`-[^|]*) \|.*/\1/p' "$1" | grep -oE -e '--[a-z][a-z-]+' |
		sort -u | grep -vxE -e '--(json|pretty|verbose|help|version)' || true
}

for command in $(table '.commands[].name'); do
	page=$MAN_DIR/halo-bpf-$command.md
	if [ ! -f "$page" ]; then
		tap_not_ok "$command has a manual page" "no $page"
		continue
	fi
	tap_is "$command: the page's title" "# halo-bpf-$command(1)" "$(head -1 "$page")"
	tap_is "$command: the page has its options, and no others" \
		"$(table --arg c "$command" '.commands[] | select(.name == $c).options[] | "--" + .name' | sort)" \
		"$(page_options "$page")"
	missing=
	for word in $(table --arg c "$command" '.commands[] | select(.name == $c) | .values[]?, (.options[] | .values[]?)'); do
		grep -qw -e "$word" "$page" || missing+=" $word"
	done
	tap_is "$command: the page has all words that options take" "" "$missing"
	help=$(table --arg c "$command" '.commands[] | select(.name == $c).help')
	tap_like "$command: the overview has its line" \
		"\[$command\]\(halo-bpf-$command.md\).*\| $help \|" "$(cat "$MAN_DIR/halo-bpf.md")"
	long=$("$HALO_BPF" help "$command")
	missing=
	for option in $(table --arg c "$command" '.commands[] | select(.name == $c).options[].name'); do
		grep -q -e "--$option" <<<"$long" || missing+=" $option"
	done
	tap_is "$command: --help shows all options" "" "$missing"
done
for page in "$MAN_DIR"/halo-bpf-*.md; do
	command=$(basename "$page" .md)
	command=${command#halo-bpf-}
	table --arg c "$command" '.commands[] | select(.name == $c).name' | grep -qx "$command" ||
		tap_not_ok "$(basename "$page") is of a command"
done

# as_man PAGE: as man shows it; what troff warns of, and a page without its sections, is a failure
as_man() {
	local text
	"$SOURCE_DIR/tools/man.sh" "$HALO_BPF" "$1" >"$WORK/page.1"
	text=$(man -l "$WORK/page.1" | col -b)
	grep -q '^NAME$' <<<"$text" && grep -q '^SYNOPSIS$' <<<"$text" && grep -q '^DESCRIPTION$' <<<"$text"
}
for page in "$MAN_DIR"/*.md; do
	tap_run "$(basename "$page" .md): man shows it" as_man "$page"
done

# bash_completes WORD…: what is offered for the last of the words
bash_completes() {
	bash --norc -c '
		compopt() { :; }
		source <("$1" completion bash)
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_halo_bpf
		printf "%s\n" "${COMPREPLY[@]}"' bash "$HALO_BPF" "$@" | xargs
}

tap_is "bash: all commands" "$(table '.commands[].name' | xargs)" "$(bash_completes halo-bpf '')"
tap_is "bash: commands by prefix" "profile" "$(bash_completes halo-bpf -j pro)"
tap_is "bash: words of an option" "pprof perfscript" "$(bash_completes halo-bpf profile --format p)"
tap_is "bash: words behind =" "folded" "$(bash_completes halo-bpf profile --format = fo)"
tap_is "bash: words of a short option" "exact" "$(bash_completes halo-bpf enroll -f e)"
tap_is "bash: options" "--seconds --seed" "$(bash_completes halo-bpf torture --se)"
tap_is "bash: words of arguments" "edges enrolled" "$(bash_completes halo-bpf map e)"
tap_is "bash: help completes commands" "start status stop" "$(bash_completes halo-bpf help st | xargs -n1 | sort | xargs)"
touch "$WORK/program-1"
tap_is "bash: files" "$WORK/program-1" "$(bash_completes halo-bpf enroll "$WORK/prog")"
tap_is "bash: processes" "$$" "$(bash_completes halo-bpf profile --pid $$)"

TMUX_SOCKET=halo-cli-$$
TERMINAL=(tmux -L "$TMUX_SOCKET" -f /dev/null)

# on_screen REGEX: wait until the terminal shows it, half a minute at most
on_screen() {
	local i
	for ((i = 0; i < 300; i++)); do
		grep -Eq -e "$1" <<<"$("${TERMINAL[@]}" capture-pane -p)" && return
		sleep 0.1
	done
	"${TERMINAL[@]}" capture-pane -p
	return 1
}

# zsh_completes TYPED REGEX: what the terminal shows after Tab
zsh_completes() {
	"${TERMINAL[@]}" send-keys C-u
	"${TERMINAL[@]}" send-keys -l "$1"
	"${TERMINAL[@]}" send-keys Tab
	on_screen "$2"
}

if command -v zsh >/dev/null && command -v tmux >/dev/null; then
	"$HALO_BPF" completion zsh >"$WORK/_halo-bpf"
	tap_run "zsh: the script is sound" zsh -n "$WORK/_halo-bpf"
	printf '%s\n' "PS1='zsh> '" "fpath=($WORK \$fpath)" 'autoload -Uz compinit' 'compinit -u -D' \
		>"$WORK/.zshrc"
	env ZDOTDIR="$WORK" "${TERMINAL[@]}" new-session -d -x 100 -y 30 zsh -i
	at_exit "tmux -L $TMUX_SOCKET kill-server"
	on_screen '^zsh>' >/dev/null
	"${TERMINAL[@]}" send-keys "echo re''ady" Enter
	on_screen '^ready' >/dev/null
	tap_run "zsh: commands" zsh_completes "halo-bpf prof" '^zsh> halo-bpf profile'
	tap_run "zsh: options" zsh_completes "halo-bpf profile --form" '^zsh> halo-bpf profile --format='
	tap_run "zsh: words of an option" zsh_completes "halo-bpf profile --format=fol" '--format=folded'
	tap_run "zsh: what commands do" zsh_completes "halo-bpf " 'doctor +-- check what this machine'
	tap_run "zsh: files" zsh_completes "halo-bpf enroll $WORK/prog" 'program-1'
else
	tap_skip "zsh completion" "zsh or tmux is not installed"
fi
tap_done
