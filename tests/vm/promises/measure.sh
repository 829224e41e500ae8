# SPDX-License-Identifier: LGPL-2.1-or-later
# What carved costs on real sysfs.

one_vgpu_costs_little_more_than_its_two_writes() { # promise
        enable
        /root/vm/cycle "$(gpu)" "$(pf)/virtfn0" nvidia-746 7
}
