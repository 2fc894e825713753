#!/bin/sh
# Install what the tests of pages need: playwright into the environment of the Python given, and Chromium.
# What cannot be installed is said in one line; the tests then skip.
python="$1"

"$python" -c 'import playwright' 2>/dev/null ||
    "$python" -m pip install --quiet --disable-pip-version-check 'playwright>=1.45' ||
    echo "playwright cannot be installed; the tests of pages in a browser will be skipped"

for name in "${SOFTVEC_BROWSER:-chromium}" chromium-browser google-chrome chrome; do
    command -v "$name" >/dev/null 2>&1 && exit 0
done
install() { apt-get install -qq -y --no-install-recommends chromium >/dev/null 2>&1; }
echo "Installing chromium, once"
install || { apt-get update -qq >/dev/null 2>&1 && install; } ||
    echo "chromium cannot be installed here; the tests of pages in a browser will be skipped"
exit 0
