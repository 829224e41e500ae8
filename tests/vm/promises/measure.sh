# SPDX-License-Identifier: LGPL-2.1-or-later
# What carved costs on real sysfs.

one_vgpu_costs_about_what_it_does_by_mdevctl() { # promise
        enable
        /root/vm/cycle "$(gpu)" "$(pf)/virtfn0" nvidia-746 9
}
