#!/bin/sh
# The report in a browser: it loads without a network, has its structure, and fits a phone.
cd "$(dirname "$0")/../.." || exit 1
echo "TAP version 13"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
program=${BUILD:-build}/tests/viz/test_viz_report
if [ -z "$browser" ] || [ ! -x "$program" ]; then
    echo "1..0 # SKIP no Chromium, or $program is not built"
    exit 0
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
REPORT_FOLDER=$folder "$program" >/dev/null
alone=
unshare -rn true 2>/dev/null && alone="unshare -rn"
chrome() {
    $alone timeout 300 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" "$@" 2>/dev/null
}
count=0
ok() { # status name
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}
for page in single session hostile; do
    chrome --dump-dom "file://$folder/$page.html" >"$folder/$page.dom"
    grep -q '</main>' "$folder/$page.dom"
    ok $? "$page: the browser reads it to its end"
    ! grep -q '<script' "$folder/$page.dom"
    ok $? "$page: the browser finds no script"
    [ "$(grep -c '<h1>' "$folder/$page.dom")" -eq 1 ]
    ok $? "$page: one main heading"
done
[ "$(grep -o 'role="img"' "$folder/single.dom" | wc -l)" -ge 4 ]
ok $? "single: pictures, plots and timeline are in the page"
[ "$(grep -o '<details open="" class="finding"' "$folder/single.dom" | wc -l)" -eq 2 ]
ok $? "single: findings that are errors are open"
grep -q 'href="#run1"' "$folder/session.dom" && grep -q '<details id="run1"' "$folder/session.dom"
ok $? "session: a row leads to its run"
for width in 1200 390; do
    for scheme in 0 1; do # 0 dark, 1 light
        chrome --window-size=$width,1600 --blink-settings=preferredColorScheme=$scheme \
            --screenshot="$folder/shot-$width-$scheme.png" "file://$folder/single.html" >/dev/null
        [ -s "$folder/shot-$width-$scheme.png" ]
        ok $? "single: a picture of it at $width pixels, $( [ $scheme -eq 0 ] && echo dark || echo light)"
    done
done
# A page around it measures how wide it becomes in 390 pixels; only tables and pictures may scroll, in boxes of their own.
for page in single session hostile; do
    cat >"$folder/around.html" <<END
<iframe id="page" src="$page.html" width="390" height="800"></iframe>
<script>onload = () => document.body.append('width=' + document.getElementById('page').contentDocument.documentElement.scrollWidth + ';')</script>
END
    width=$(chrome --allow-file-access-from-files --dump-dom "file://$folder/around.html" | sed -n 's/.*width=\([0-9]*\);.*/\1/p')
    [ "${width:-9999}" -le 390 ]
    ok $? "$page: fits a phone of 390 pixels"
    [ "${width:-9999}" -le 390 ] || echo "# it is ${width:-?} pixels wide"
done
! cmp -s "$folder/shot-1200-0.png" "$folder/shot-1200-1.png"
ok $? "single: dark is not light"
[ -n "$SHOTS" ] && cp "$folder"/*.png "$folder"/*.html "$SHOTS"
echo "1..$count"
