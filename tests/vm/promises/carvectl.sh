# SPDX-License-Identifier: LGPL-2.1-or-later
# carvectl where there is a journal, and systemd to start carved: what the simulated host can't show.

the_log_says_what_was_done_to_an_object() { # promise
        enable
        create nvidia-746 $UUID
        create nvidia-746 $OTHER
        carvectl log $UUID | grep -F $UUID
        is "lines about another" "$(carvectl log $UUID | grep -c $OTHER || true)" 0
        carvectl log "$(get "$(gpu)" Gpu Address)" | grep -F $OTHER
        destroy $UUID
        carvectl log $UUID --json=short | jq -e 'length >= 2 and (map(.Message) | all(contains("'$UUID'")))'
        is "the last line alone" "$(carvectl log -n 1 | wc -l)" 1
        is "of what never was" "$(carvectl log aaaaaaaa-0000-4000-8000-000000000001 --no-legend)" ""
}

a_report_has_the_log_and_not_the_name_of_the_host() { # promise
        hostname very-secret-name
        enable
        create nvidia-746 $UUID
        carvectl report >report.json
        jq -e '.Host.Kernel == "'"$(uname -r)"'" and (.Objects | length) > 16 and (.Log | type == "array")' report.json
        is "the host's name" "$(grep -c very-secret-name report.json || true)" 0
}

who_asks_starts_carved() { # promise
        local address

        address=$(get "$(gpu)" Gpu Address)
        systemctl stop carved
        carvectl list gpus --no-legend | grep -F "$address"
        systemctl is-active carved
}

who_waits_at_boot_finds_everything() { # promise
        enable
        create nvidia-746 $UUID
        systemctl restart --no-block carved
        carvectl wait $UUID --timeout 60
        carvectl wait --timeout 60
        is state "$(shown $UUID)" "active carved"
}
