# SPDX-License-Identifier: LGPL-2.1-or-later
# Whole VFs for guests: a card with ordinary SR-IOV, vfio-pci, and an IOMMU.

prepare() {
        prepare_host plain
}

driver_of() { # VF's INDEX
        basename "$(readlink "$(pf)/virtfn$1/driver")" 2>/dev/null
}

any_number_of_vfs_without_a_host_driver() { # promise
        enable 3
        is sriov_numvfs "$(numvfs)" 3
        is Framework "$(get "$(gpu)" Gpu Framework)" vf-passthrough
        is autoprobe "$(cat "$(pf)/sriov_drivers_autoprobe")" 1
        is driver "$(driver_of 0)" ""
        disable
        is sriov_numvfs "$(numvfs)" 0
}

a_vgpu_is_a_vf_on_vfio_pci() { # promise
        local address

        enable 4
        create vf $UUID
        address=$(get "$(vgpu $UUID)" Vgpu Address)
        is driver "$(basename "$(readlink "/sys/bus/pci/devices/$address/driver")")" vfio-pci
        test -c "$(get "$(vgpu $UUID)" Vgpu DeviceNode)"
        destroy $UUID
        test ! -e "/sys/bus/pci/devices/$address/driver"
        is override "$(cat "/sys/bus/pci/devices/$address/driver_override")" "(null)"
}

a_vf_in_use_is_not_unbound() { # promise
        local address

        enable 4
        create vf $UUID
        address=$(get "$(vgpu $UUID)" Vgpu Address)
        hold "$address"
        refused InUse destroy $UUID
        refused InUse disable_all
        is driver "$(basename "$(readlink "/sys/bus/pci/devices/$address/driver")")" vfio-pci
        is sriov_numvfs "$(numvfs)" 4
        let_go
        disable_all
        is sriov_numvfs "$(numvfs)" 0
}

it_comes_back_with_the_driver() { # promise
        enable 4
        create vf $UUID
        unload_driver
        load_driver mode=plain
        eventually 60 is_ours
        is sriov_numvfs "$(numvfs)" 4
}
