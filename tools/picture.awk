# SPDX-License-Identifier: LGPL-2.1-or-later
# A terminal's text, with colours, as SVG. For bytes: LC_ALL=C.
function width(text) {
        gsub(/[\200-\277]/, "", text) # what follows the first byte of a character
        return length(text)
}

function escape(text) {
        gsub(/&/, "\\&amp;", text)
        gsub(/</, "\\&lt;", text)
        gsub(/>/, "\\&gt;", text)
        return text
}

function colour(code) {
        if (code ~ /^(1;)?31$/) return "#f7768e"
        if (code == "32") return "#9ece6a"
        if (code == "33") return "#e0af68"
        if (code == "90") return "#7a82a6"
        if (code == "1") return "#ffffff"
        return "#c0caf5"
}

{
        rest = $0
        code = "0"
        column = 0
        line = ""
        while (rest != "") {
                if (match(rest, /^\033\[[0-9;]*m/)) {
                        code = substr(rest, 3, RLENGTH - 3)
                        rest = substr(rest, RLENGTH + 1)
                        continue
                }
                end = index(rest, "\033[")
                text = end > 0 ? substr(rest, 1, end - 1) : rest
                rest = end > 0 ? substr(rest, end) : ""
                if (text ~ /[^ ]/)
                        line = line sprintf("<tspan x=\"%.1f\" textLength=\"%.1f\" fill=\"%s\"%s>%s</tspan>", 12 + column * 7.8, \
                                width(text) * 7.8, colour(code), code ~ /^1/ ? " font-weight=\"bold\"" : "", escape(text))
                column += width(text)
        }
        if (column > widest)
                widest = column
        lines[++n] = line
}

END {
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"DejaVu Sans Mono,Menlo,Consolas,monospace\" font-size=\"13\">\n", \
                widest * 7.8 + 24, n * 18 + 22
        print "<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#1a1b26\"/>"
        for (i = 1; i <= n; i++)
                printf "<text y=\"%d\" xml:space=\"preserve\">%s</text>\n", i * 18 + 8, lines[i]
        print "</svg>"
}
