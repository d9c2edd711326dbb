# SPDX-License-Identifier: BSD-2-Clause
# make install [DESTDIR=…] [prefix=/usr/local]; the programs find their parts relative to themselves.
prefix ?= /usr/local
bindir = $(DESTDIR)$(prefix)/bin
libdir = $(DESTDIR)$(prefix)/lib/halo-bpf
sharedir = $(DESTDIR)$(prefix)/share
docdir = $(sharedir)/doc/halo-bpf
zshdir = $(sharedir)/zsh/site-functions

MAN_SRC := $(wildcard docs/man/*.md)
MAN := $(MAN_SRC:docs/man/%.md=$(BUILD)/man/%.1)
COMPLETIONS := $(addprefix $(BUILD)/completion/,bash zsh)

$(BUILD)/man/%.1: docs/man/%.md tools/man.sh $(BUILD)/halo-bpf
	$(call msg,MAN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)tools/man.sh $(BUILD)/halo-bpf $< >$@

$(COMPLETIONS): $(BUILD)/completion/%: $(BUILD)/halo-bpf
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$< completion $* >$@

# Others run the built programs in place; these are what only an installation needs.
.PHONY: man install install-daemon install-cc install-doc
man: $(MAN)

install: install-daemon install-cc install-doc

# What the daemon needs, and its users.
install-daemon: all $(MAN) $(COMPLETIONS)
	$(Q)install -d $(bindir) $(libdir) $(sharedir)/halo-bpf/knobs $(sharedir)/man/man1 \
		$(sharedir)/bash-completion/completions $(zshdir)
	$(Q)install -m 755 $(BUILD)/halo-bpf $(bindir)
	$(Q)install -m 755 $(BUILD)/halo-opt $(libdir)
	$(Q)install -m 644 knobs/*.json $(sharedir)/halo-bpf/knobs
	$(Q)install -m 644 $(filter-out %/halo-cc.1,$(MAN)) $(sharedir)/man/man1
	$(Q)install -m 644 $(BUILD)/completion/bash $(sharedir)/bash-completion/completions/halo-bpf
	$(Q)install -m 644 $(BUILD)/completion/zsh $(zshdir)/_halo-bpf

# What builds programs: no daemon, no root.
install-cc: all $(MAN)
	$(Q)install -d $(bindir) $(libdir) $(sharedir)/man/man1
	$(Q)install -m 755 $(BUILD)/halo-cc $(bindir)
	$(Q)ln -sf halo-cc $(bindir)/halo-c++
	$(Q)for tool in ar ranlib; do \
		ln -sf $(shell $(LLVM_CONFIG) --bindir)/llvm-$$tool $(bindir)/halo-llvm-$$tool; done
	$(Q)install -m 644 $(BUILD)/halo-prepare.so $(STUB_OBJ) $(BUILD)/halo-slots.lds $(libdir)
	$(Q)install -m 644 $(BUILD)/man/halo-cc.1 $(sharedir)/man/man1
	$(Q)ln -sf halo-cc.1 $(sharedir)/man/man1/halo-c++.1

install-doc:
	$(Q)install -d $(docdir)/decisions $(docdir)/formats
	$(Q)install -m 644 README.md docs/*.md $(docdir)
	$(Q)install -m 644 docs/decisions/*.md $(docdir)/decisions
	$(Q)install -m 644 docs/formats/*.md $(docdir)/formats

# Debian packages, in $(BUILD)/deb.
.PHONY: deb
deb: all man
	$(Q)rm -rf $(BUILD)/deb && mkdir -p $(BUILD)/deb/src
	$(Q)cp -r tools/package/debian $(BUILD)/deb/src/
	$(Q)cd $(BUILD)/deb/src && HALO_SOURCE=$(CURDIR) HALO_BUILD=$(abspath $(BUILD)) \
		dpkg-buildpackage -b -us -uc >../build.log 2>&1 || { tail -20 ../build.log; false; }
	$(Q)ls $(BUILD)/deb/*.deb
