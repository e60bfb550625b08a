# PoCL shows the processor as two devices, before the page's listings are checked too.
export POCL_DEVICES="pthread pthread"
