# SPDX-License-Identifier: BSD-2-Clause
# halo-cc, halo-c++, the pass plugin and the objects that every prepared program is linked with.
