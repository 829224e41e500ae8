# SPDX-License-Identifier: LGPL-2.1-or-later
# vGPUs as VFs with a type, on an L40S: NVIDIA's vendor VFIO.

prepare() {
        prepare_host vendor
}

type_of() { # INDEX
        cat "$(pf)/virtfn$1/nvidia/current_vgpu_type"
}

address_of() { # UUID
        get "$(vgpu "$1")" Vgpu Address
}

a_type_is_a_vgpu_with_a_uuid_of_its_own() { # promise
        enable
        is Framework "$(get "$(gpu)" Gpu Framework)" vendor-vfio
        create 1163 $UUID
        is state "$(shown $UUID)" "active carved"
        is type "$(cat "/sys/bus/pci/devices/$(address_of $UUID)/nvidia/current_vgpu_type")" 1163
        destroy $UUID
        is types "$(cat "$(pf)"/virtfn*/nvidia/current_vgpu_type | sort -u)" 0
}

another_size_is_refused_in_words() { # promise
        enable
        create 1155 $UUID
        refused TypeNotAvailable create 1145 $OTHER
        create 1165 $OTHER
        refused NoCapacity create 1155 aaaaaaaa-0000-4000-8000-000000000001
}

a_typed_vf_in_use_keeps_its_type() { # promise
        enable
        create 1163 $UUID
        hold "$(address_of $UUID)"
        refused InUse destroy $UUID
        is type "$(cat "/sys/bus/pci/devices/$(address_of $UUID)/nvidia/current_vgpu_type")" 1163
        refused InUse disable_all
        is sriov_numvfs "$(numvfs)" 32
        let_go
        destroy $UUID
}

an_untyped_vf_can_t_be_opened() { # promise
        local said

        enable
        said=$(/root/vm/hold "$(basename "$(readlink "$(pf)/virtfn0")")" || true)
        [[ $said == ENODEV* ]] || die "$said"
}

a_plugin_that_lingers_is_waited_for() { # promise
        enable
        create 1163 $UUID
        knob linger_ms 2000
        hold "$(address_of $UUID)"
        let_go
        destroy $UUID
        is types "$(cat "$(pf)"/virtfn*/nvidia/current_vgpu_type | sort -u)" 0
}

what_is_kept_comes_back_on_the_same_vf() { # promise
        local address

        enable
        create 1163 $UUID
        call "$(vgpu $UUID)" Vgpu.SetParams 'enable_uvm=1' '{}'
        address=$(address_of $UUID)
        unload_driver
        load_driver mode=vendor
        eventually 60 is_ours
        is address "$(address_of $UUID)" "$address"
        is params "$(cat "/sys/bus/pci/devices/$address/nvidia/vgpu_params")" enable_uvm=1
}

a_type_that_the_kernel_refuses_leaves_nothing() { # promise
        enable
        knob type_errno 5
        refused KernelRefused create 1163 $UUID
        knob type_errno 0
        is types "$(cat "$(pf)"/virtfn*/nvidia/current_vgpu_type | sort -u)" 0
        refused NoSuchVgpu vgpu $UUID
}
