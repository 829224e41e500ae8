#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Cards that come and go while the host runs, with VFs and vGPUs alive.
. "$(dirname "$0")/lab.sh"

a_card_that_is_plugged_in_is_there() {
        lab boot --from "$VM_LABEL"
        inside 'load_driver mode=mdev; ! gpu'
        lab plug 0
        inside 'eventually 30 gpu; enable; create nvidia-746 $UUID'
}

a_card_that_is_pulled_with_vgpus_on_it_is_lost_and_what_was_wanted_is_known() {
        lab unplug 0
        inside 'eventually 30 test ! -e $MDEVS/$UUID; is_lost() { [ "$(get "$(gpu)" Gpu State)" = lost ]; }; eventually 30 is_lost
                refused NotReady create nvidia-746 $OTHER || refused NoSuchGpu create nvidia-746 $OTHER
                is state "$(shown $UUID)" "defined carved"'
}

when_it_is_back_all_is_back() {
        lab plug 0
        inside 'is_back() { [ "$(shown $UUID)" = "active carved" ]; }; eventually 90 is_back; is sriov_numvfs "$(numvfs)" 16
                is mdevs "$(mdevs)" "$UUID "'
}

a_second_card_changes_nothing_for_the_first() {
        lab plug 1
        inside 'two() { [ "$(gpus | wc -l)" = 2 ]; }; eventually 30 two; is state "$(shown $UUID)" "active carved"'
        lab unplug 1
        inside 'one() { [ "$(gpus | wc -l)" = 1 ]; }; eventually 30 one; is mdevs "$(mdevs)" "$UUID "'
}

promise a_card_that_is_plugged_in_is_there
promise a_card_that_is_pulled_with_vgpus_on_it_is_lost_and_what_was_wanted_is_known
promise when_it_is_back_all_is_back
promise a_second_card_changes_nothing_for_the_first
