# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Builds of one small program with all that a build may vary in; behind prepared.sh, in a folder to work in.
#
# A row is "LANGUAGE LEVEL KIND LINKER WAY JOINT SANITIZERS LTO OPTION…", where an OPTION is a flag or "-".
# WAY: from source to object. JOINT: from objects to program.

MATRIX_LANGUAGES="c cxx"
MATRIX_LEVELS="-O0 -O1 -O2 -O3 -Os -Oz"
MATRIX_KINDS="pie no-pie static static-pie shared"
MATRIX_LINKERS="bfd lld"
MATRIX_WAYS="direct response stdin assembly preprocessed"
MATRIX_JOINTS="objects ar llvm-ar relocatable plain-ld plain-gcc"
MATRIX_SANITIZERS="none undefined address,undefined"
MATRIX_LTO="none full thin"
MATRIX_OPTIONS="-g -fcf-protection=full -fvisibility=hidden --gc-sections -fno-plt -pipe"

calls=$SELFTESTS_DIR/e2e/prepare
matrix=$SELFTESTS_DIR/build/matrix

# Sets language, level, kind, linker, way, joint, sanitizers, lto, options. What is not to be had together
# becomes what is.
matrix_row()
{
	local option words
	read -r language level kind linker way joint sanitizers lto words <<<"$1"
	options=()
	for option in $words; do
		[ "$option" = - ] || options+=("$option")
	done
	if [ "$lto" != none ]; then
		linker=lld
		[ "$way" != assembly ] || way=direct   # which -S does not make then
		[ "$joint" != ar ] || joint=llvm-ar    # GNU ar needs a plugin
		[[ $joint != plain-* ]] || joint=objects
	fi
	# The libraries of sanitizers are the driver's to find, and there are none for static programs.
	if [[ $kind = static* || $joint = plain-* ]]; then
		sanitizers=none
	fi
	if [ "$kind" = shared ]; then
		# Libraries and archives: whether a program and its library share hidden things is the source's affair.
		options=("${options[@]/#-fvisibility=hidden/-g}")
		[[ $joint != plain-* && $joint != relocatable ]] || joint=objects
	fi
}

# compile SOURCE OBJECT FLAG…: with $cc, in the way of $way
compile()
{
	local source=$1 object=$2 input=c output=cpp-output # of the compiler's standard input and preprocessor
	shift 2
	[ "$language" = c ] || input=c++ output=c++-cpp-output
	case $way in
	stdin) "$cc" "$@" -MD -MF "$object.d" -I"$matrix" -c -x $input -o "$object" - <"$source" ;;
	assembly)
		"$cc" "$@" -S "$source" -o "$object.asm"
		"$cc" -Wa,--no-warn -x assembler -c "$object.asm" -o "$object"
		;;
	preprocessed)
		"$cc" "$@" -E "$source" -o "$object.pre"
		"$cc" "$@" -x $output -c "$object.pre" -o "$object"
		;;
	response)
		printf '%s ' "$@" -c "'$source'" -o "$object" >"$object.rsp"
		"$cc" "@$object.rsp"
		;;
	*) "$cc" "$@" -c "$source" -o "$object" ;;
	esac
}

# link_by_hand OUTPUT FLAG… FILE…: as the driver would, but by the program that it names
link_by_hand()
{
	local out=$1 line
	shift
	line=$(clang-19 "$@" -o "$out" -### 2>&1 | tail -1)
	[ "$language" = c ] || line=$(clang++-19 "$@" -o "$out" -### 2>&1 | tail -1)
	eval "$line"
}

# matrix_link OUTPUT FLAG… OBJECT…
matrix_link()
{
	local out=$1
	shift
	case $way-$joint in
	*-plain-ld) link_by_hand "$out" "$@" ;;
	*-plain-gcc) gcc "$@" -lstdc++ -o "$out" ;;
	response-*)
		printf '%s\n' "$@" >link.rsp
		"$cc" @link.rsp -o "$out"
		;;
	*) "$cc" "$@" -o "$out" ;;
	esac
}

# What is linked with main.o, in $objects
join()
{
	case $joint in
	ar)
		ar rc libother.a "${objects[@]}"
		ranlib libother.a
		nm libother.a >names
		objects=(libother.a)
		;;
	llvm-ar)
		llvm-ar-19 rcs libother.a "${objects[@]}"
		objects=(-L. -lother)
		;;
	relocatable)
		"$cc" "${link[@]:0:1}" -r "${objects[@]}" -o all.o
		objects=(all.o)
		;;
	esac
	if [ "$kind" = shared ]; then
		matrix_link libpart.so -shared "${link[@]}" -Wl,--whole-archive "${objects[@]}" -Wl,--no-whole-archive
		objects=(-L. -lpart '-Wl,-rpath,$ORIGIN')
	fi
}

# Sets flags and link.
matrix_flags()
{
	flags=("$level" "${options[@]/#--gc-sections/-ffunction-sections}")
	link=(-fuse-ld="$linker" "$level")
	if [[ " ${options[*]} " == *" --gc-sections "* ]]; then
		flags+=(-fdata-sections)
		link+=(-Wl,--gc-sections)
	fi
	case $kind in
	pie) link+=(-pie) && flags+=(-fPIE) ;;
	no-pie) link+=(-no-pie) && flags+=(-fno-pie) ;;
	static) link+=(-static) && flags+=(-fno-pie) ;;
	static-pie) link+=(-static-pie) && flags+=(-fPIE) ;;
	shared) flags+=(-fPIC) ;;
	esac
	[ "$sanitizers" = none ] || flags+=("-fsanitize=$sanitizers") link+=("-fsanitize=$sanitizers")
	case $lto in
	full) flags+=(-flto) link+=(-flto) ;;
	thin) flags+=(-flto=thin) link+=(-flto=thin) ;;
	esac
}

# matrix_build ROW: "prog" and, of kind shared, "libpart.so"
matrix_build()
{
	local cc=$HALO_CC flags link objects=() source sources=("$matrix/main.c" "$calls"/calls[23].c)
	matrix_row "$1"
	matrix_flags
	if [ "$language" = cxx ]; then
		cc=$HALO_CXX
		sources=("$matrix/main.cc" "$matrix/shape.cc")
	fi
	rm -f ./*.o libother.a libpart.so prog
	if [ "$way-$joint" = direct-objects ] && [ "$kind" != shared ]; then
		"$cc" "${flags[@]}" "${link[@]}" "${sources[@]}" -o prog
		return
	fi
	for source in "${sources[@]}"; do
		objects+=("$(basename "$source").o")
		compile "$source" "${objects[-1]}" "${flags[@]}"
	done
	mv "${objects[0]}" main.o
	objects=("${objects[@]:1}")
	join
	matrix_link prog "${link[@]}" main.o "${objects[@]}"
}

# carries FILE: its tables hold; entries and stub are there as far as the link was ours
carries()
{
	local stub=.stub
	[[ $joint != plain-* ]] || stub='(.stub | not)'
	"$HALO_BPF" inspect -j "$1" >inspected
	jq -e ".build_id != \"\" and $stub and (.units | length) > 0 and (.functions | length) > 0" inspected >answer ||
		{ head -c 2000 inspected && return 1; }
}

# matrix_check ROW: built without a word; prints what a plain build prints; carries what it should
matrix_check()
{
	local expected
	matrix_build "$1" >said 2>&1 || { cat said && return 1; }
	cat said
	[ ! -s said ]
	expected=$language.expected
	# A weak reference takes nothing out of an archive.
	[[ $language-$joint != c-*ar || $kind = shared ]] || expected=c.archive.expected
	./prog >printed
	cmp printed "$expected"
	carries prog
	jq -e '.redirectable > 0' inspected >answer
	[ "$kind" != shared ] || carries libpart.so
}

# matrix_switch: what matrix_check has built prints the same while all its functions are switched
matrix_switch()
{
	./prog 30000 | cksum >expected
	"$HALO_BPF" torture -j --hold --seed 1 --report report ./prog 30000 | cksum >printed
	cmp printed expected
	jq -e '.entered.variant > 0 and (.failed | length) == 0' report >answer || { cat report && return 1; }
}

# matrix_expected: what the programs print
matrix_expected()
{
	local i
	clang-19 -O1 "$matrix/main.c" "$calls"/calls[23].c -o plain
	./plain >c.expected
	for i in 2 3; do
		clang-19 -O1 -c "$calls/calls$i.c" -o "$i.o"
	done
	ar rcs libplain.a 2.o 3.o
	clang-19 -O1 "$matrix/main.c" libplain.a -o plain
	./plain >c.archive.expected
	clang++-19 -O1 "$matrix"/*.cc -o plain
	./plain >cxx.expected
}
